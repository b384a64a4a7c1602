// ShmPostbox: an engine's socket, at which peers meet it and wake it: a Unix datagram socket with a
// name that has no file.  The name is made of the engine's secret, so that it tells nobody who does
// not know that already.  The kernel says of every letter which process and user it is from.
#ifndef MADLIKE_DRIVER_SHM_POSTBOX_H_
#define MADLIKE_DRIVER_SHM_POSTBOX_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>

#include "madlike/base/status.h"
#include "madlike/driver/door/secret.h"
#include "madlike/driver/shm/file.h"

namespace mad {

/// The name of an engine's socket.
class ShmSocketName {
 public:
  explicit ShmSocketName(const DoorSecret& secret);
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

class ShmPostbox {
 public:
  static constexpr std::size_t kMostBytes = 128;  // of a letter
  struct Letter {
    std::array<std::byte, kMostBytes> bytes;
    std::size_t size = 0;
    pid_t pid = 0;  // as this process sees it; 0: of a namespace that it does not see
    uid_t uid = 0;
    ShmFile file;
  };

  /// kNotFound, kNoMemory.
  static Result<ShmPostbox> open(const DoorSecret& secret);

  int fd() const { return socket_.fd(); }
  /// Takes a letter; false: there is none.
  bool receive(Letter* letter);
  /// Sends at once, or not; `file`: -1: none.  kAgain: its box is full; kUnreachable: there is no
  /// such socket; kNoMemory.
  Status send(const ShmSocketName& to, const void* bytes, std::size_t size, int file = -1);

 private:
  explicit ShmPostbox(ShmFile socket) : socket_(std::move(socket)) {}
  ShmFile socket_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_POSTBOX_H_
