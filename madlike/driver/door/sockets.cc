#include "madlike/driver/door/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

// Of a silence the first half goes by without a probe, and as many probes get the other half.
constexpr int kProbes = 5;
// There is no congestion inside a host, and what BBR does against it, pacing packets by a timer,
// takes up to three times as long as sending them.  Every system has and allows this one.
constexpr std::string_view kUnpaced = "reno";

const sockaddr* as_sockaddr(const std::vector<std::byte>& address) {
  return reinterpret_cast<const sockaddr*>(address.data());
}

TcpSocket new_socket(const std::vector<std::byte>& address) {
  return TcpSocket(
      ::socket(as_sockaddr(address)->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

epoll_event event_of(TcpWatch::Role role, std::uint32_t id, bool writable) {
  epoll_event event{};
  event.events = EPOLLIN | (writable ? EPOLLOUT : 0u);
  event.data.u64 = (std::uint64_t{static_cast<std::uint32_t>(role)} << 32) | id;
  return event;
}

// Whether both ends of a connected socket have one IP address.
bool stays_on_this_host(int socket) {
  sockaddr_storage own{}, peer{};
  socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
      own.ss_family != peer.ss_family) {
    return false;
  }
  if (own.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(own).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(peer).sin_addr.s_addr;
  }
  return own.ss_family == AF_INET6 &&
         IN6_ARE_ADDR_EQUAL(&reinterpret_cast<const sockaddr_in6&>(own).sin6_addr,
                            &reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr);
}

}  // namespace

// A set that watches a socket would go on to report it as long as a process that was forked
// meanwhile has it open, too.
void TcpSocket::close() {
  if (epoll_ >= 0) (void)epoll_ctl(epoll_, EPOLL_CTL_DEL, fd_, nullptr);
  if (fd_ >= 0) ::close(fd_);
  fd_ = epoll_ = -1;
}

Status tcp_status(StatusCode code, const std::string& what, int error) {
  return {code, what + ": " + std::strerror(error)};
}

bool is_lack(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM ||
         error == ENOSPC;
}

Status tcp_dial_status(const std::string& what, int error) {
  switch (error) {
    case EMFILE: {
      rlimit files{};
      (void)getrlimit(RLIMIT_NOFILE, &files);
      return tcp_status(StatusCode::kNoMemory,
                        what + " (this process may have " + std::to_string(files.rlim_cur) +
                            " files, see ulimit -n)",
                        error);
    }
    case EADDRNOTAVAIL:  // no free port
    case EAGAIN:
      return tcp_status(StatusCode::kNoMemory, what, error);
    case ECONNABORTED:
    case ECONNRESET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH:
    case ETIMEDOUT:
      return tcp_status(StatusCode::kAgain, what, error);
    default:
      return tcp_status(is_lack(error) ? StatusCode::kNoMemory : StatusCode::kUnreachable, what,
                        error);
  }
}

Result<TcpSocket> tcp_listen(std::vector<std::byte>* address) {
  TcpSocket listener = new_socket(*address);
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  const auto length = static_cast<socklen_t>(address->size());
  if (!listener || bind(listener.fd(), as_sockaddr(*address), length) != 0 ||
      listen(listener.fd(), SOMAXCONN) != 0 ||
      getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return tcp_status(StatusCode::kInternal, "listening for peers", errno);
  }
  Result<std::vector<std::byte>> named = to_address(&name, size);
  if (!named.ok()) return named.status();
  *address = std::move(*named);
  return listener;
}

Result<TcpSocket> tcp_dial(const std::vector<std::byte>& address) {
  TcpSocket socket = new_socket(address);
  const auto length = static_cast<socklen_t>(address.size());
  if (!socket) return tcp_dial_status("opening a socket", errno);
  if (connect(socket.fd(), as_sockaddr(address), length) != 0 && errno != EINPROGRESS) {
    return tcp_dial_status("connecting to " + to_text(address), errno);
  }
  return socket;
}

int tcp_dialed(int socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

TcpSocket tcp_spare() { return TcpSocket(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TcpSocket tcp_accept(int listener, int* error) {
  int fd = -1;
  do {
    fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
  *error = fd < 0 ? errno : 0;
  return TcpSocket(fd);
}

void tcp_configure(int socket, std::chrono::milliseconds silence_timeout) {
  const auto set = [socket](int level, int name, int value) {
    (void)setsockopt(socket, level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, -1);  // a host's own may be less than the buffer
  if (const auto seconds = static_cast<int>((silence_timeout.count() + 999) / 1000)) {
    const int idle = std::max(1, seconds / 2);
    const int interval = std::max(1, (seconds - idle) / kProbes);
    set(IPPROTO_TCP, TCP_KEEPIDLE, idle);
    set(IPPROTO_TCP, TCP_KEEPINTVL, interval);
    set(IPPROTO_TCP, TCP_KEEPCNT, std::max(1, (seconds - idle) / interval));
  }
  if (stays_on_this_host(socket)) {
    (void)setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kUnpaced.data(), kUnpaced.size());
  }
}

bool tcp_send(int socket, const std::byte* bytes, std::size_t size) {
  ssize_t sent = 0;
  do {
    sent = ::send(socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

bool tcp_arrived(int socket) {
  int unacknowledged = 0;
  return ioctl(socket, SIOCOUTQ, &unacknowledged) != 0 || unacknowledged == 0;
}

Result<TcpWatch> TcpWatch::open() {
  TcpSocket epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return tcp_status(StatusCode::kNoMemory, "watching sockets", errno);
  return TcpWatch(std::move(epoll));
}

bool TcpWatch::add(TcpSocket& socket, Role role, std::uint32_t id, bool writable) {
  epoll_event event = event_of(role, id, writable);
  if (epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, socket.fd(), &event) != 0) return false;
  socket.epoll_ = epoll_.fd();
  return true;
}

bool TcpWatch::change(int socket, Role role, std::uint32_t id, bool writable) {
  epoll_event event = event_of(role, id, writable);
  return epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, socket, &event) == 0;
}

void TcpWatch::pause(int socket) {
  epoll_event nothing{};
  (void)epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, socket, &nothing);
}

void TcpWatch::look(std::vector<Ready>* out) {
  std::array<epoll_event, 1024> events;
  const int count = epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
    out->push_back({static_cast<Role>(data >> 32), static_cast<std::uint32_t>(data)});
  }
}

}  // namespace mad
