// Strangers on the listening port, and processes that are killed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/ip/raw_socket.h"

namespace mad {
namespace {

TEST_P(IpDriverTest, ForeignBytesDisturbNobody) {
  Engine a(options());
  Engine b(options());
  const std::vector<Engine*> both{&a, &b};
  const ConnectionId to_b = a.connect(b);
  Bytes bytes = number_of(1);
  ASSERT_FALSE(send(a, to_b, bytes, both).error());
  const std::string http = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::vector<int> sockets;
  // A request, a few bytes, nothing at all; some are closed by the foreigner, some stay open.
  for (const std::size_t size : {http.size(), std::size_t{3}, std::size_t{0}}) {
    for (const bool close_it : {true, false}) {
      const int fd = raw_connection(b.driver->address());
      EXPECT_EQ(::send(fd, http.data(), size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
      if (close_it) {
        close(fd);
      } else {
        sockets.push_back(fd);
      }
    }
  }
  for (std::size_t packet = 2; packet < 200; ++packet) {
    Bytes next = number_of(packet);
    ASSERT_FALSE(send(a, to_b, next, both).error());
    ASSERT_TRUE(pump(both, [&] { return b.station.received.size() == packet; }));
  }
  // New connections still come in, from either kind of stranger.
  Engine c(options());
  const ConnectionId c_to_b = c.connect(b);
  ASSERT_FALSE(send(c, c_to_b, bytes, {&a, &b, &c}).error());
  ASSERT_TRUE(pump({&a, &b, &c}, [&] { return b.station.received.size() == 200; }));
  EXPECT_TRUE(b.station.disconnected.empty());
  for (const int fd : sockets) close(fd);
}

TEST_P(IpDriverTest, KilledProcessIsNoticed) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Result<std::unique_ptr<Driver>> driver = try_open(options());
    if (!driver.ok()) _exit(1);
    const Bytes& address = (*driver)->address();
    if (write(pipes[1], address.data(), address.size()) < 0) _exit(1);
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    while (Clock::now() < deadline) {
      Completion completion;
      if ((*driver)->poll(&completion, 1) == 1 && completion.kind == Completion::Kind::kReceived) {
        const Segment echo = completion.bytes;
        // Its connection may not stand yet on this side.
        while ((*driver)->post_send(completion.connection, {&echo, 1}, nullptr).again() &&
               Clock::now() < deadline) {
          Completion other;
          (*driver)->poll(&other, 1);
        }
        (*driver)->release(completion.buffer);
      }
    }
    _exit(0);
  }
  Bytes address(Engine(options()).driver->address().size());
  ASSERT_EQ(read(pipes[0], address.data(), address.size()), static_cast<ssize_t>(address.size()));
  Engine a(options());
  const ConnectionId id = a.connect(address);
  Bytes bytes = number_of(42);
  ASSERT_FALSE(send(a, id, bytes, {&a}).error());
  ASSERT_TRUE(pump({&a}, [&] { return a.station.received.size() == 1; }));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(pump({&a}, [&] { return a.station.disconnected.count(id) == 1; }));
  EXPECT_EQ(a.station.disconnected[id].code(), StatusCode::kPeerFailed);
  // Its address is nobody's now.
  const ConnectionId again = a.connect(address);
  EXPECT_NE(again, id);
  EXPECT_TRUE(pump({&a}, [&] { return a.station.disconnected.count(again) == 1; }));
  EXPECT_EQ(a.station.disconnected[again].code(), StatusCode::kUnreachable);
  close(pipes[0]);
  close(pipes[1]);
}

MAD_FOR_ALL_FABRICS_OVER_IP(IpDriverTest);

TEST_P(IpDriverTest, AListenerThatIsNoEngineIsAnError) {
  Bytes address;
  const int listener = raw_listener(4, GetParam(), &address);
  Engine a(options());
  const ConnectionId id = a.connect(address);
  for (int i = 0; i < 1000; ++i) a.station.poll();
  const int fd = accept(listener, nullptr, nullptr);
  const std::string answer = "HTTP/1.1 400 Bad Request\r\n\r\n and enough bytes for a header";
  EXPECT_GT(::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(pump({&a}, [&] { return a.station.disconnected.count(id) == 1; }));
  EXPECT_TRUE(a.station.disconnected[id].error());
  close(fd);
  close(listener);
}

TEST_P(IpDriverTest, ForeignersThatLeaveAreForgotten) {
  Engine a(options());
  const std::size_t before = open_files();
  for (int i = 0; i < 10; ++i) {
    const int fd = raw_connection(a.driver->address());
    EXPECT_EQ(::send(fd, "abc", static_cast<std::size_t>(i % 4), MSG_NOSIGNAL), i % 4);
    close(fd);
  }
  // Accepted, read, closed: no file stays behind.
  for (int i = 0; i < 2000; ++i) a.station.poll();
  EXPECT_TRUE(pump({&a}, [&] { return open_files() <= before; }))
      << open_files() - before << " files left";
}

}  // namespace
}  // namespace mad
