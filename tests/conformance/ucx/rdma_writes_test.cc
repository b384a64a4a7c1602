// Writes by the device: long ones from where they lie, others copied, and what is not allowed.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "tests/conformance/ucx/rdma.h"
#include "tests/support/lack.h"

namespace mad {
namespace {

/// Bytes that this process has locked for devices.
std::size_t pinned_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kib = 0;
    if (word == "VmPin:" && status >> kib) return kib * 1024;
  }
  return 0;
}

class UcxRdmaWrites : public ::testing::Test {
 protected:
  void SetUp() override {
    to_b_ = a_.connect(b_);
    from_a_ = b_.connect(a_);
    ASSERT_TRUE(pump(both_, [&] {
      return a_.station.connected.count(to_b_) == 1 && b_.station.connected.count(from_a_) == 1;
    }));
  }
  ExposureToken expose(Bytes& memory) {
    const auto token = b_.driver->expose(from_a_, {memory.data(), memory.size()});
    EXPECT_TRUE(token.ok()) << token.status().message();
    return token.ok() ? *token : ExposureToken{};
  }
  /// Writes, sends a word behind it, and waits for both.
  void write(const std::vector<Segment>& content, const ExposureToken& token,
             std::uint64_t offset) {
    int context = 0;
    a_.station.finished.clear();
    Status status = StatusCode::kAgain;
    ASSERT_TRUE(pump(both_, [&] {
      status = a_.driver->post_write(to_b_, list(content), token, offset, &context);
      return !status.again();
    }));
    ASSERT_FALSE(status.error()) << status.message();
    b_.station.received.clear();
    ASSERT_FALSE(send(a_, to_b_, word_, both_).error());
    ASSERT_TRUE(pump(both_, [&] { return b_.station.received.size() == 1; }));
    ASSERT_TRUE(pump(both_, [&] { return status.ok() || a_.station.finished[&context] == 1; }));
    EXPECT_TRUE(a_.station.finished_status[&context].ok());
  }

  const UcxOptions options_ = over_rdma("ucx:rc");
  UcxEngine a_{options_}, b_{options_};
  const std::vector<UcxEngine*> both_{&a_, &b_};
  ConnectionId to_b_ = 0, from_a_ = 0;
  Bytes word_ = pattern(8);
};

TEST_F(UcxRdmaWrites, LongRunsArriveFromWhereTheyLie) {
  const std::size_t most = a_.driver->link(to_b_).max_write_iov;
  ASSERT_GE(most, 2u);
  for (const std::size_t bytes : {std::size_t{256 * 1024}, std::size_t{1000 * 1000 + 7}}) {
    Bytes source = pattern(bytes, static_cast<unsigned>(bytes)), target(bytes + 100);
    const ExposureToken token = expose(target);
    for (std::size_t count = 1; count <= most; ++count) {
      std::fill(target.begin(), target.end(), std::byte{0});
      write(cut(source, count), token, 50);
      EXPECT_TRUE(std::equal(source.begin(), source.end(), target.begin() + 50));
      EXPECT_EQ(target[49], std::byte{0});
      EXPECT_EQ(target[50 + bytes], std::byte{0});
    }
    b_.driver->withdraw(from_a_, token);
  }
}

TEST_F(UcxRdmaWrites, SparseRunsAreCopied) {
  constexpr std::size_t kRun = 128 * 1024;
  Bytes source = pattern(2 * 16 * kRun, 3), target(2 * kRun);
  const ExposureToken token = expose(target);
  write({{source.data(), kRun}, {source.data() + 20 * kRun, kRun}}, token, 0);
  EXPECT_TRUE(std::equal(source.begin(), source.begin() + kRun, target.begin()));
  EXPECT_TRUE(std::equal(target.begin() + kRun, target.end(), source.begin() + 20 * kRun));
  b_.driver->withdraw(from_a_, token);
}

// The lock of an exposure is the process's own limit, and of a source, too.
TEST_F(UcxRdmaWrites, WhatCannotBeLockedIsSentOtherwise) {
  if (geteuid() == 0) GTEST_SKIP() << "root locks what it likes";
  Bytes source = pattern(1024 * 1024, 3), target(1024 * 1024);
  const ExposureToken token = expose(target);
  const Lack locks(RLIMIT_MEMLOCK, pinned_bytes() + 4096);
  Bytes more(1024 * 1024);
  EXPECT_EQ(b_.driver->expose(from_a_, {more.data(), more.size()}).status().code(),
            StatusCode::kNoMemory);
  write(cut(source, 2), token, 0);
  EXPECT_TRUE(source == target) << "it is copied";
  b_.driver->withdraw(from_a_, token);
}

TEST_F(UcxRdmaWrites, NothingStaysLocked) {
  const std::size_t before = pinned_bytes();
  Bytes source = pattern(1024 * 1024, 3), target(1024 * 1024);
  const ExposureToken token = expose(target);
  write(cut(source, 2), token, 0);
  b_.driver->withdraw(from_a_, token);
  ASSERT_TRUE(pump(both_, [&] { return pinned_bytes() == before; }));
}

TEST_F(UcxRdmaWrites, AfterItWasWithdrawnNothingIsWritten) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{512 * 1024}}) {
    SCOPED_TRACE(bytes);
    Bytes source(bytes, std::byte{1}), target(bytes);
    const ExposureToken token = expose(target);
    b_.driver->withdraw(from_a_, token);
    const Segment segment{source.data(), source.size()};
    ASSERT_FALSE(a_.driver->post_write(to_b_, {&segment, 1}, token, 0, nullptr).error());
    ASSERT_TRUE(pump(both_, [&] {
      return a_.station.disconnected.count(to_b_) == 1 &&
             b_.station.disconnected.count(from_a_) == 1;
    }));
    EXPECT_EQ(target, Bytes(bytes)) << "nothing is written";
    a_.driver->disconnect(to_b_);
    b_.driver->disconnect(from_a_);
    SetUp();  // and they meet again
    b_.station.received.clear();
    ASSERT_FALSE(send(a_, to_b_, word_, both_).error());
    ASSERT_TRUE(pump(both_, [&] { return b_.station.received.size() == 1; }));
  }
}

TEST(UcxRdmaMemory, IsBoundedWhateverTheNumberOfPeers) {
  const UcxOptions options = over_rdma("ucx:rc");
  const std::size_t none = pinned_bytes();
  auto hub = std::make_unique<UcxEngine>(options);
  const std::size_t alone = pinned_bytes() - none;
  EXPECT_LE(alone, 2u * 1024 * 1024 + 512 * 1024);
  RecordProperty("pinned_kib", static_cast<int>(alone / 1024));
  std::vector<std::unique_ptr<UcxEngine>> others;
  std::vector<UcxEngine*> all{hub.get()};
  for (int i = 0; i < 6; ++i) {
    // Each locks more with its first message.
    const std::size_t later = (others.size() + 2) * 1024 * 1024;
    if (pinned_bytes() + alone + later > 8u * 1024 * 1024 && geteuid() != 0) break;
    others.push_back(std::make_unique<UcxEngine>(options));
    all.push_back(others.back().get());
  }
  const std::size_t open = pinned_bytes();
  Bytes bytes = pattern(hub->driver->caps().nearest().max_packet_bytes, 1);
  for (const auto& each : others) {
    const ConnectionId to = each->connect(*hub);
    for (int i = 0; i < 100; ++i) ASSERT_FALSE(send(*each, to, bytes, all).error());
  }
  ASSERT_TRUE(pump(all, [&] { return hub->station.received.size() == 100 * others.size(); }));
  for (const auto& packet : hub->station.received) ASSERT_TRUE(packet.bytes == bytes);
  // Buffers for sending are taken with the first message; none with more peers.
  EXPECT_LE(pinned_bytes(), open + all.size() * 1024 * 1024);
}

}  // namespace
}  // namespace mad
