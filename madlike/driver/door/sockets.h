// The system calls around sockets: listening, dialing, and who has something to say.
#ifndef MADLIKE_DRIVER_DOOR_SOCKETS_H_
#define MADLIKE_DRIVER_DOOR_SOCKETS_H_

#include <sys/epoll.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "madlike/base/status.h"

namespace mad {

/// A file descriptor, closed with it.
class TcpSocket {
 public:
  explicit TcpSocket(int fd = -1) : fd_(fd) {}
  ~TcpSocket() { close(); }
  TcpSocket(TcpSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TcpSocket& operator=(TcpSocket&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// `what` failed with errno `error`.
Status tcp_status(StatusCode code, const std::string& what, int error);

/// Listens at a free port of `address` (see listening_address()), which it becomes.
Result<TcpSocket> tcp_listen(std::vector<std::byte>* address);
/// Starts connecting to `address`; the socket is ready to write once that is decided.
Result<TcpSocket> tcp_dial(const std::vector<std::byte>& address);
/// How that was decided: 0, or an errno.
int tcp_dialed(int socket);
/// Somebody who connected; empty: nobody does now.  Who comes when this process may open no more
/// files is closed, with the help of `spare`, rather than left waiting.
TcpSocket tcp_accept(int listener, TcpSocket* spare);
/// A file descriptor for that.
TcpSocket tcp_spare();
/// As a connected socket of ours is to be: packets leave at once, a host that is gone is noticed.
void tcp_configure(int socket);
/// Sends a handshake message, which an empty socket takes whole; false: it is broken.
bool tcp_send(int socket, const std::byte* bytes, std::size_t size);

/// Which sockets have something to say.
class TcpWatch {
 public:
  enum class Role : std::uint32_t { kListener, kStranger, kCall, kConnection };
  struct Ready {
    Role role;
    std::uint32_t id;
  };

  static Result<TcpWatch> open();

  /// Reports when there is something to read, and with `writable` when it can be written, too.
  bool add(int socket, Role role, std::uint32_t id, bool writable = false);
  bool change(int socket, Role role, std::uint32_t id, bool writable = false);

  /// Appends what is ready now; never waits.
  void look(std::vector<Ready>* out);
  /// Readable when something is ready.
  int fd() const { return epoll_.fd(); }

 private:
  explicit TcpWatch(TcpSocket epoll) : epoll_(std::move(epoll)) {}
  TcpSocket epoll_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_DOOR_SOCKETS_H_
