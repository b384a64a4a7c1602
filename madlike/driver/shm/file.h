// ShmFile, ShmMapping: a file descriptor and mapped memory, each with one owner.
#ifndef MADLIKE_DRIVER_SHM_FILE_H_
#define MADLIKE_DRIVER_SHM_FILE_H_

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace mad {

class ShmFile {
 public:
  explicit ShmFile(int fd = -1) : fd_(fd) {}
  ~ShmFile() { reset(); }
  ShmFile(ShmFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ShmFile& operator=(ShmFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

class ShmMapping {
 public:
  ShmMapping() = default;
  /// Shared, to read and write; empty: there is no memory for it (errno).
  ShmMapping(int fd, std::size_t offset, std::size_t bytes) : bytes_(bytes) {
    void* const mapped =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (mapped != MAP_FAILED) begin_ = static_cast<std::byte*>(mapped);
  }
  ~ShmMapping() {
    if (begin_ != nullptr) munmap(begin_, bytes_);
  }
  ShmMapping(ShmMapping&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), bytes_(other.bytes_) {}
  ShmMapping& operator=(ShmMapping&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  std::byte* begin() const { return begin_; }
  explicit operator bool() const { return begin_ != nullptr; }

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_FILE_H_
