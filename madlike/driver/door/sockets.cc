#include "madlike/driver/door/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <string_view>

#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

// A host that is gone without a word is noticed after about 40 seconds of silence; while it owes us
// an acknowledgement, only when the system has sent that often enough (tcp_retries2: minutes).
constexpr int kIdleSeconds = 20;
constexpr int kProbeSeconds = 5;
constexpr int kProbes = 4;
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

Status tcp_status(StatusCode code, const std::string& what, int error) {
  return {code, what + ": " + std::strerror(error)};
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
  if (socket && connect(socket.fd(), as_sockaddr(address), length) != 0 && errno != EINPROGRESS) {
    return tcp_status(StatusCode::kUnreachable, "connecting to " + to_text(address), errno);
  }
  if (!socket) return tcp_status(StatusCode::kNoMemory, "opening a socket", errno);
  return socket;
}

int tcp_dialed(int socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

TcpSocket tcp_spare() { return TcpSocket(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TcpSocket tcp_accept(int listener, TcpSocket* spare) {
  int fd = -1;
  do {
    fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
    spare->close();
    (void)TcpSocket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    *spare = tcp_spare();
  }
  return TcpSocket(fd);
}

void tcp_configure(int socket) {
  const auto set = [socket](int level, int name, int value) {
    (void)setsockopt(socket, level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
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

Result<TcpWatch> TcpWatch::open() {
  TcpSocket epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return tcp_status(StatusCode::kNoMemory, "watching sockets", errno);
  return TcpWatch(std::move(epoll));
}

bool TcpWatch::add(int socket, Role role, std::uint32_t id, bool writable) {
  epoll_event event = event_of(role, id, writable);
  return epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, socket, &event) == 0;
}

bool TcpWatch::change(int socket, Role role, std::uint32_t id, bool writable) {
  epoll_event event = event_of(role, id, writable);
  return epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, socket, &event) == 0;
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
