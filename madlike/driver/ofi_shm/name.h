// Objects of shared memory, and their names.
#ifndef MADLIKE_DRIVER_OFI_SHM_NAME_H_
#define MADLIKE_DRIVER_OFI_SHM_NAME_H_

#include <sys/mman.h>

#include <cstddef>
#include <string>
#include <utility>

#include "madlike/driver/door/sockets.h"

namespace mad {

/// Opens the object of this name, to read and write.  Empty: there is none, or others than this
/// user may write to it.
TcpSocket open_shared(const std::string& name);
/// Why the object of this name could not be opened.  kNoMemory: this process lacks a file now;
/// kUnreachable: it is not to be found here.
Status not_opened(const std::string& name, int error);
/// Takes the memory of an object's first bytes from the system.  0, or an errno.
int reserve_shared(int object, std::size_t bytes);

/// The name of an object, removed with it or before.
class OfiShmName {
 public:
  explicit OfiShmName(std::string name) : name_(std::move(name)) {}
  ~OfiShmName() { remove(); }
  OfiShmName(OfiShmName&& other) noexcept : name_(std::exchange(other.name_, {})) {}
  OfiShmName& operator=(OfiShmName&&) = delete;

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

#endif  // MADLIKE_DRIVER_OFI_SHM_NAME_H_
