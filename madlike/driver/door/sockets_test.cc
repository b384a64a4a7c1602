#include "madlike/driver/door/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

// Looks until something is ready, for at most two seconds.
std::vector<TcpWatch::Ready> wait_for_something(TcpWatch& watch) {
  std::vector<TcpWatch::Ready> ready;
  for (int i = 0; i < 2000 && ready.empty(); ++i) {
    watch.look(&ready);
    if (ready.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ready;
}

TEST(TcpSockets, ListenDialAcceptAndSee) {
  auto address = listening_address("lo");
  ASSERT_TRUE(address.ok());
  std::vector<std::byte> name = *address;
  auto listener = tcp_listen(&name);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  auto watch = TcpWatch::open();
  ASSERT_TRUE(watch.ok());
  ASSERT_TRUE(watch->add(*listener, TcpWatch::Role::kListener, 0));
  std::vector<TcpWatch::Ready> ready;
  watch->look(&ready);
  EXPECT_TRUE(ready.empty());
  int error = 0;
  EXPECT_FALSE(tcp_accept(listener->fd(), &error));
  EXPECT_FALSE(is_lack(error));

  auto dialed = tcp_dial(name);
  ASSERT_TRUE(dialed.ok()) << dialed.status().message();
  ready = wait_for_something(*watch);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].role, TcpWatch::Role::kListener);
  const TcpSocket accepted = tcp_accept(listener->fd(), &error);
  ASSERT_TRUE(accepted);
  EXPECT_EQ(tcp_dialed(dialed->fd()), 0);
  tcp_configure(accepted.fd(), std::chrono::seconds(20));

  ASSERT_TRUE(watch->add(*dialed, TcpWatch::Role::kConnection, 7));
  const std::byte byte{1};
  ASSERT_TRUE(tcp_send(accepted.fd(), &byte, 1));
  ready = wait_for_something(*watch);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].role, TcpWatch::Role::kConnection);
  EXPECT_EQ(ready[0].id, 7u);
  pollfd sleeper{watch->fd(), POLLIN, 0};
  EXPECT_EQ(poll(&sleeper, 1, 0), 1);
}

std::string congestion_control(const TcpSocket& socket) {
  std::array<char, 16> name{};
  socklen_t size = name.size();
  EXPECT_EQ(getsockopt(socket.fd(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &size), 0);
  return name.data();
}

// A connection between addresses of the loopback network, dialled from `own`.
std::string congestion_control_from(const char* own) {
  const TcpSocket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const TcpSocket dialer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  inet_pton(AF_INET, own, &address.sin_addr);
  EXPECT_EQ(bind(dialer.fd(), reinterpret_cast<sockaddr*>(&address), size), 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = 0;
  EXPECT_EQ(bind(listener.fd(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener.fd(), 1), 0);
  EXPECT_EQ(getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(connect(dialer.fd(), reinterpret_cast<sockaddr*>(&address), size), 0);
  tcp_configure(dialer.fd(), std::chrono::seconds(20));
  return congestion_control(dialer);
}

TEST(TcpSockets, OnlyInsideAHostPacketsAreNotPaced) {
  const TcpSocket fresh(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(congestion_control_from("127.0.0.1"), "reno");
  EXPECT_EQ(congestion_control_from("127.0.0.2"), congestion_control(fresh));
}

TEST(TcpSockets, NobodyListensThere) {
  auto address = listening_address("lo");
  ASSERT_TRUE(address.ok());
  std::vector<std::byte> name = *address;
  ASSERT_TRUE(tcp_listen(&name).ok());  // and closed again
  auto dialed = tcp_dial(name);
  if (!dialed.ok()) {
    EXPECT_EQ(dialed.status().code(), StatusCode::kUnreachable);
    return;
  }
  auto watch = TcpWatch::open();
  ASSERT_TRUE(watch.ok());
  ASSERT_TRUE(watch->add(*dialed, TcpWatch::Role::kConnection, 1, true));
  ASSERT_FALSE(wait_for_something(*watch).empty());
  EXPECT_EQ(tcp_dialed(dialed->fd()), ECONNREFUSED);
}

// As of a multicast group, which no connection leads to.
TEST(TcpSockets, WhatTheKernelRefusesIsToldAtOnce) {
  sockaddr_in group{};
  group.sin_family = AF_INET;
  group.sin_port = htons(4711);
  group.sin_addr.s_addr = htonl(INADDR_ALLHOSTS_GROUP);
  const auto dialed = tcp_dial(*to_address(&group, sizeof(group)));
  ASSERT_FALSE(dialed.ok());
  EXPECT_NE(dialed.status().message().find("224.0.0.1:4711"), std::string_view::npos);
}

// A process without a standard input may be given its number.
TEST(TcpSockets, ASocketMayHaveTheNumberZero) {
  auto address = listening_address("lo");
  ASSERT_TRUE(address.ok());
  auto listener = tcp_listen(&*address);
  ASSERT_TRUE(listener.ok());
  auto dialed = tcp_dial(*address);
  ASSERT_TRUE(dialed.ok());
  pollfd coming{listener->fd(), POLLIN, 0};
  ASSERT_EQ(poll(&coming, 1, 10000), 1);
  const TcpSocket input(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  close(STDIN_FILENO);
  int error = EINTR;
  errno = EINTR;  // as an earlier call left it
  {
    const TcpSocket accepted = tcp_accept(listener->fd(), &error);
    EXPECT_EQ(accepted.fd(), STDIN_FILENO);
    EXPECT_TRUE(accepted);
    EXPECT_EQ(error, 0);
  }
  if (input) dup2(input.fd(), STDIN_FILENO);
}

TEST(TcpSockets, WhatCannotBeSentIsTold) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const TcpSocket ours(ends[0]);
  close(ends[1]);
  const std::byte byte{1};
  EXPECT_FALSE(tcp_send(ours.fd(), &byte, 1));
}

TEST(TcpSockets, WhatTheOtherHostHasHasArrived) {
  auto address = listening_address("lo");
  ASSERT_TRUE(address.ok());
  auto listener = tcp_listen(&*address);
  ASSERT_TRUE(listener.ok());
  auto dialed = tcp_dial(*address);
  ASSERT_TRUE(dialed.ok());
  auto watch = TcpWatch::open();
  ASSERT_TRUE(watch.ok());
  ASSERT_TRUE(watch->add(*dialed, TcpWatch::Role::kConnection, 1, true));
  ASSERT_FALSE(wait_for_something(*watch).empty());
  const std::byte byte{1};
  ASSERT_TRUE(tcp_send(dialed->fd(), &byte, 1));
  for (int i = 0; i < 10000 && !tcp_arrived(dialed->fd()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(tcp_arrived(dialed->fd()));
  const std::vector<std::byte> much(1024 * 1024);
  while (tcp_send(dialed->fd(), much.data(), much.size())) {
  }
  EXPECT_FALSE(tcp_arrived(dialed->fd())) << "nobody reads";
}

TEST(TcpSockets, WhatIsWatchedOnceCannotBeWatchedAgain) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  TcpSocket ours(ends[0]);
  const TcpSocket peers(ends[1]);
  auto watch = TcpWatch::open();
  ASSERT_TRUE(watch.ok());
  EXPECT_TRUE(watch->add(ours, TcpWatch::Role::kConnection, 1));
  EXPECT_FALSE(watch->add(ours, TcpWatch::Role::kConnection, 2));
}

TEST(TcpSockets, NothingIsWatchedWithoutFiles) {
  ASSERT_TRUE(TcpWatch::open().ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto watch = TcpWatch::open();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(watch.ok());
  EXPECT_EQ(watch.status().code(), StatusCode::kNoMemory);
}

// A child of fork() has the socket open, too, and its peer has something to say.
TEST(TcpSockets, AClosedSocketIsWatchedNoMore) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  TcpSocket ours(ends[0]);
  const TcpSocket peers(ends[1]), childs(dup(ends[0]));
  auto watch = TcpWatch::open();
  ASSERT_TRUE(watch.ok());
  ASSERT_TRUE(watch->add(ours, TcpWatch::Role::kConnection, 1));
  const std::byte byte{1};
  ASSERT_TRUE(tcp_send(peers.fd(), &byte, 1));
  ASSERT_FALSE(wait_for_something(*watch).empty());
  TcpSocket moved(std::move(ours));
  moved.close();
  std::vector<TcpWatch::Ready> ready;
  watch->look(&ready);
  EXPECT_TRUE(ready.empty());
}

TEST(TcpSockets, ASocketIsClosedOnce) {
  TcpSocket a(dup(0));
  const int fd = a.fd();
  TcpSocket b(std::move(a));
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): that is what is asked
  EXPECT_EQ(b.fd(), fd);
  b = TcpSocket(dup(0));
  EXPECT_TRUE(b);
  b.close();
  EXPECT_FALSE(b);
}

}  // namespace
}  // namespace mad
