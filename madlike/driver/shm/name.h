// ShmName: the name of an object of shared memory, removed with it or before.
#ifndef MADLIKE_DRIVER_SHM_NAME_H_
#define MADLIKE_DRIVER_SHM_NAME_H_

#include <sys/mman.h>

#include <string>
#include <utility>

namespace mad {

class ShmName {
 public:
  explicit ShmName(std::string name) : name_(std::move(name)) {}
  ~ShmName() { remove(); }
  ShmName(ShmName&& other) noexcept : name_(std::exchange(other.name_, {})) {}
  ShmName& operator=(ShmName&&) = delete;

  const std::string& text() const { return name_; }
  /// Who has opened the memory keeps it, and nobody else can open it.
  void remove() {
    if (!name_.empty()) shm_unlink(name_.c_str());
    name_.clear();
  }

 private:
  std::string name_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_NAME_H_
