// Which transport two engines agree on, and when they do not.
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "tests/conformance/ucx/engine.h"

namespace mad {
namespace {

TEST(UcxAgreement, SharedMemoryOnOneHost) {
  UcxEngine a, b;
  const ConnectionId to_b = a.connect(b);
  Bytes bytes = pattern(5000, 1);
  ASSERT_FALSE(send(a, to_b, bytes, {&a, &b}).error());
  ASSERT_TRUE(pump({&a, &b}, [&] { return b.station.received.size() == 1; }));
  EXPECT_EQ(b.station.received[0].bytes, bytes);
  EXPECT_EQ(a.transport(to_b), UcxTransport::kPosix);
  EXPECT_EQ(b.transport(b.station.received[0].connection), UcxTransport::kPosix);
}

// A look at the door is not left to the clock's next tick.
TEST(UcxAgreement, TakesFewPolls) {
  UcxEngine a, b;
  const ConnectionId to_b = a.connect(b);
  for (int i = 0; i < 1000 && a.station.connected.empty(); ++i) {
    a.station.poll();
    b.station.poll();
    std::this_thread::yield();
  }
  EXPECT_EQ(a.station.connected.count(to_b), 1u);
}

// One engine has peers over both at once.
TEST(UcxAgreement, TcpWithWhoHasNothingElse) {
  UcxEngine a, b, c(on_lo(false, true));
  const std::vector<UcxEngine*> all{&a, &b, &c};
  const ConnectionId to_b = a.connect(b), to_c = c.connect(a);
  ASSERT_TRUE(pump(all, [&] { return a.station.connected.size() == 2; }));
  const ConnectionId from_c = a.connect(c);
  EXPECT_EQ(a.transport(to_b), UcxTransport::kPosix);
  EXPECT_EQ(a.transport(from_c), UcxTransport::kTcp);
  EXPECT_EQ(a.driver->link(to_b).prices, "ucx");
  EXPECT_EQ(a.driver->link(from_c).prices, "ucx:tcp");
  EXPECT_GT(a.driver->link(to_b).piece_bytes, 0u);
  EXPECT_EQ(a.driver->link(from_c).piece_bytes, 0u);
  const std::size_t near = a.driver->link(to_b).max_packet_bytes;
  const std::size_t far = a.driver->link(from_c).max_packet_bytes;
  EXPECT_NE(near, far) << "each has the limits of its transport";
  for (std::size_t i = 1; i <= 100; ++i) {
    Bytes to_near = pattern(i % 3 == 0 ? near : i, static_cast<unsigned>(i));
    Bytes bytes = pattern(i % 3 == 0 ? far : i, static_cast<unsigned>(i));
    ASSERT_FALSE(send(a, to_b, to_near, all).error());
    ASSERT_FALSE(send(a, from_c, bytes, all).error());
    ASSERT_FALSE(send(c, to_c, bytes, all).error());
    ASSERT_TRUE(pump(all, [&] {
      return a.station.received.size() == i && b.station.received.size() == i &&
             c.station.received.size() == i;
    }));
    ASSERT_EQ(b.station.received.back().bytes, to_near);
    for (UcxEngine* each : {&a, &c}) ASSERT_EQ(each->station.received.back().bytes, bytes);
  }
}

TEST(UcxAgreement, WithoutATransportInCommonBothSaySo) {
  UcxEngine a(on_lo(true, false)), b(on_lo(false, true));
  const ConnectionId to_b = a.connect(b), to_a = b.connect(a);
  ASSERT_TRUE(pump({&a, &b}, [&] {
    return a.station.disconnected.count(to_b) == 1 && b.station.disconnected.count(to_a) == 1;
  }));
  for (const Status& status : {a.station.disconnected[to_b], b.station.disconnected[to_a]}) {
    EXPECT_EQ(status.code(), StatusCode::kUnreachable) << status.message();
    EXPECT_NE(status.message().find("transport"), std::string_view::npos) << status.message();
  }
}

TEST(UcxAgreement, AnotherGeometryIsRefusedOnBothSides) {
  UcxOptions other = on_lo();
  other.posix_segment_bytes = 16 * 1024;
  UcxEngine a, b(other);
  EXPECT_LT(b.driver->caps().nearest().max_packet_bytes,
            a.driver->caps().nearest().max_packet_bytes);
  const ConnectionId to_b = a.connect(b), to_a = b.connect(a);
  ASSERT_TRUE(pump({&a, &b}, [&] {
    return a.station.disconnected.count(to_b) == 1 && b.station.disconnected.count(to_a) == 1;
  }));
  for (const Status& status : {a.station.disconnected[to_b], b.station.disconnected[to_a]}) {
    EXPECT_EQ(status.code(), StatusCode::kVersion) << status.message();
  }
  // With a peer of its own kind it goes on.
  UcxEngine c;
  Bytes bytes = pattern(100, 1);
  ASSERT_FALSE(send(a, a.connect(c), bytes, {&a, &b, &c}).error());
  EXPECT_TRUE(pump({&a, &b, &c}, [&] { return c.station.received.size() == 1; }));
}

void expect_one_line_about_memory(const std::string& said) {
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("/dev/shm"), std::string::npos) << said;
}

// As in a container without /dev/shm.
TEST(UcxOpen, WithoutSharedMemoryThereIsTcp) {
  setenv("MAD_UCX_POSIX_DIR", "/nonexistent", 1);
  const auto only = open_ucx(on_lo(true, false));
  ASSERT_FALSE(only.ok());
  EXPECT_EQ(only.status().code(), StatusCode::kNotFound);
  EXPECT_NE(only.status().message().find("posix"), std::string_view::npos)
      << only.status().message();
  UcxEngine a;
  unsetenv("MAD_UCX_POSIX_DIR");
  UcxEngine b, c;
  const std::vector<UcxEngine*> all{&a, &b, &c};
  testing::internal::CaptureStderr();
  const ConnectionId to_b = a.connect(b), to_c = a.connect(c);
  ASSERT_TRUE(pump(all, [&] { return a.station.connected.size() == 2; }));
  expect_one_line_about_memory(testing::internal::GetCapturedStderr());
  EXPECT_EQ(a.transport(to_b), UcxTransport::kTcp);
  EXPECT_EQ(a.transport(to_c), UcxTransport::kTcp);
}

/// While one exists, this process can write no file of as many bytes as a peer takes.
struct NoRoom {
  NoRoom() {
    signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit little{128 * 1024, before.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  }
  ~NoRoom() { EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0); }
  rlimit before{};
};

// As when /dev/shm is full when the peer comes.
TEST(UcxAgreement, TcpWhereThereIsNoRoomForSharedMemory) {
  UcxEngine a, b;
  ConnectionId to_b = 0;
  testing::internal::CaptureStderr();
  {
    const NoRoom none;
    to_b = a.connect(b);
    ASSERT_TRUE(pump({&a, &b}, [&] {
      return a.station.connected.count(to_b) == 1 && b.station.connected.size() == 1;
    }));
  }
  EXPECT_EQ(a.transport(to_b), UcxTransport::kTcp);
  const std::string said = testing::internal::GetCapturedStderr();
  const std::size_t half = said.find('\n') + 1;  // each of them
  expect_one_line_about_memory(said.substr(0, half));
  expect_one_line_about_memory(said.substr(half));
}

TEST(UcxAgreement, WhoHasNoRoomAndNothingElseSaysSo) {
  UcxEngine a(on_lo(true, false)), b(on_lo(true, false));
  const NoRoom none;
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.disconnected.count(to_b) == 1; }));
  const Status why = a.station.disconnected[to_b];
  EXPECT_EQ(why.code(), StatusCode::kNoMemory);
  EXPECT_NE(why.message().find("/dev/shm"), std::string_view::npos) << why.message();
}

TEST(UcxOpen, NothingToOpenIsInvalid) {
  const auto none = open_ucx(on_lo(false, false));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::kInvalidArgument);
  UcxOptions few = on_lo();
  few.receive_chunks = 2;
  const auto refused = open_ucx(few);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mad
