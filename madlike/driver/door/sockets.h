// The system calls around sockets: listening, dialing, and who has something to say.
#ifndef MADLIKE_DRIVER_DOOR_SOCKETS_H_
#define MADLIKE_DRIVER_DOOR_SOCKETS_H_

#include <sys/epoll.h>

#include <chrono>
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
  TcpSocket(TcpSocket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), epoll_(std::exchange(other.epoll_, -1)) {}
  TcpSocket& operator=(TcpSocket&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
      epoll_ = std::exchange(other.epoll_, -1);
    }
    return *this;
  }
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  friend class TcpWatch;
  int fd_;
  int epoll_ = -1;  // that of its TcpWatch
};

/// `what` failed with errno `error`.
Status tcp_status(StatusCode code, const std::string& what, int error);
/// The same of a connection that was not made yet.  kNoMemory: this process or host lacks something
/// now (the sentence says what); kAgain: the network does, or the other host; kUnreachable: that
/// host says that nobody listens there, or this one that it does not go there.
Status tcp_dial_status(const std::string& what, int error);
/// Whether this process or host lacks something, as files, that it may have later.
bool is_lack(int error);

/// Listens at a free port of `address` (see listening_address()), which it becomes.
Result<TcpSocket> tcp_listen(std::vector<std::byte>* address);
/// Starts connecting to `address`; the socket is ready to write once that is decided.  Errors are
/// those of tcp_dial_status().
Result<TcpSocket> tcp_dial(const std::vector<std::byte>& address);
/// How that was decided: 0, or an errno.
int tcp_dialed(int socket);
/// Somebody who connected; empty: nobody does now, or is_lack(*error), and who comes waits.
TcpSocket tcp_accept(int listener, int* error);
/// A file descriptor, of nothing; empty: this process may have no more files.
TcpSocket tcp_spare();
/// As a connected socket of ours is to be: packets leave at once, and while nothing is underway a
/// host that answers nothing for `silence_timeout` (to the second; 0: for the system's time, hours)
/// ends the connection.  While something is underway, see Silence.
void tcp_configure(int socket, std::chrono::milliseconds silence_timeout);
/// Sends a handshake message, which an empty socket takes whole; false: it is broken.
bool tcp_send(int socket, const std::byte* bytes, std::size_t size);

/// Whether the other host has all that was sent; also where the connection is over.
bool tcp_arrived(int socket);

/// Which sockets have something to say, until they are closed.
class TcpWatch {
 public:
  enum class Role : std::uint32_t { kListener, kStranger, kCall, kConnection };
  struct Ready {
    Role role;
    std::uint32_t id;
  };

  static Result<TcpWatch> open();

  /// Reports when there is something to read, and with `writable` when it can be written, too.
  bool add(TcpSocket& socket, Role role, std::uint32_t id, bool writable = false);
  bool change(int socket, Role role, std::uint32_t id, bool writable = false);
  /// Reports nothing of it any more, until change().
  void pause(int socket);

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
