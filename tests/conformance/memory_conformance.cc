// Memory of the other side: remote writes, to one run and to many, what is offered to be read, and
// what is shared.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/conformance/driver_conformance.h"
#include "tests/support/bytes.h"

namespace mad {
namespace {

TEST_P(DriverConformance, OfferedMemoryIsReadToEveryRun) {
  establish();
  const LinkCaps link = pair.a->link(to_b);
  RestMemory target(5500);
  Bytes bytes = pattern(target.bytes.size(), 5);
  const auto read = [&](std::uint64_t size) {
    return pair.b->read_offered(to_a, reinterpret_cast<std::uintptr_t>(bytes.data()), size, target);
  };
  if (link.most_offered == 0) {
    EXPECT_EQ(read(100).code(), StatusCode::kInvalidArgument);
    return;
  }
  EXPECT_LE(link.offered_from, link.most_offered);
  EXPECT_EQ(read(link.most_offered + 1).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(read(5001).ok());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 5001, target.bytes.begin()));
  EXPECT_EQ(std::count(target.bytes.begin() + 5001, target.bytes.end(), std::byte{}), 499);
  target = RestMemory(link.most_offered);
  bytes = pattern(link.most_offered, 6);
  ASSERT_TRUE(read(link.most_offered).ok());
  EXPECT_TRUE(target.bytes == bytes);
  pair.b->disconnect(to_a);
  EXPECT_TRUE(read(100).error());
}

TEST_P(DriverConformance, RemoteWritesAreVisibleBeforeAFollowingPacket) {
  establish();
  const DriverCaps& caps = pair.a->caps();
  if (!caps.remote_write) GTEST_SKIP() << "no remote writes on this fabric";
  const std::size_t size = std::min<std::size_t>(caps.nearest().max_write_bytes, 64 * 1024);
  Bytes target(size + 64, std::byte{0xEE});
  Result<ExposureToken> token = pair.b->expose(to_a, {target.data(), size + 32});
  ASSERT_TRUE(token.ok()) << token.status().message();
  std::uint64_t word = 1;
  const Segment done{&word, sizeof(word)};
  for (std::size_t count = 1; count <= caps.nearest().max_write_iov; ++count) {
    Bytes bytes = pattern(size, static_cast<unsigned>(count));
    const std::vector<Segment> segments = cut(bytes, count);
    a->finished.clear();
    b->received.clear();
    const std::uint64_t offset = count % 32;
    const Status status = write(*a, to_b, list(segments), *token, offset, &bytes);
    ASSERT_FALSE(status.error()) << status.message();
    ASSERT_FALSE(send(*a, to_b, {&done, 1}, &word).error());
    ASSERT_TRUE(pump([&] { return b->received.size() == 1; }));
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), target.begin() + static_cast<int>(offset)));
    if (status.ok()) continue;
    ASSERT_TRUE(pump([&] { return a->finished.count(&bytes) == 1; }));
    ASSERT_TRUE(a->finished_status[&bytes].ok()) << a->finished_status[&bytes].message();
  }
  for (std::size_t i = size + 32; i < target.size(); ++i) ASSERT_EQ(target[i], std::byte{0xEE});
  pair.b->withdraw(to_a, *token);
}

// Every length around the limits; and the peer does nothing for it but to let its fabric move.
TEST_P(DriverConformance, SharedMemoryIsPutToAndGotFrom) {
  establish();
  const DriverCaps& caps = pair.a->caps();
  if (!caps.one_sided) {
    Bytes bytes(8);
    EXPECT_FALSE(pair.b->share({bytes.data(), bytes.size()}).ok());
    const Segment all{bytes.data(), bytes.size()};
    EXPECT_TRUE(pump([&] { return pair.a->post_put(to_b, {}, {}, 0, nullptr).error(); }));
    EXPECT_TRUE(pump([&] { return pair.a->post_get(to_b, all, {}, 0, nullptr).status().error(); }));
    return;
  }
  const std::size_t most = caps.nearest().max_write_bytes;
  Bytes target(most + 64, std::byte{0xEE});
  const Result<ExposureToken> token = pair.b->share({target.data(), most + 32});
  ASSERT_TRUE(token.ok()) << token.status().message();
  unsigned seed = 0;
  for (const std::size_t size : {std::size_t{1}, std::size_t{8}, std::size_t{8175},
                                 std::size_t{8177}, std::size_t{65537}, most}) {
    const Bytes bytes = pattern(size, ++seed);
    const std::uint64_t offset = seed % 32;
    ASSERT_TRUE(put(bytes, *token, offset));
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), target.begin() + seed % 32)) << size;
    Bytes got(size + 1, std::byte{0x11});
    ASSERT_TRUE(get({got.data(), size}, *token, offset));
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), got.begin())) << size;
    EXPECT_EQ(got[size], std::byte{0x11});
  }
  for (std::size_t i = most + 32; i < target.size(); ++i) ASSERT_EQ(target[i], std::byte{0xEE});
  EXPECT_TRUE(b->received.empty()) << "nobody is told";
  pair.b->unshare(*token);
}

// More of them than any fabric takes at once, of one run and of several, in both directions.
TEST_P(DriverConformance, ManyPutsAndGetsAreUnderWay) {
  establish();
  if (!pair.a->caps().one_sided) GTEST_SKIP() << "no memory is shared on this fabric";
  constexpr std::size_t kEach = 3000, kMany = 300;
  Bytes target(kEach * kMany), got(kEach * kMany);
  const Result<ExposureToken> token = pair.b->share({target.data(), target.size()});
  ASSERT_TRUE(token.ok()) << token.status().message();
  Bytes bytes = pattern(target.size(), 77);
  std::vector<int> contexts(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    std::vector<Segment> segments = {{bytes.data() + i * kEach, 1000},
                                     {bytes.data() + i * kEach + 1000, kEach - 1000}};
    if (pair.a->caps().nearest().max_write_iov < 2) {
      segments = {{bytes.data() + i * kEach, kEach}};
    }
    Status status;
    ASSERT_TRUE(pump([&] {
      status = pair.a->post_put(to_b, list(segments), *token, i * kEach, &contexts[i]);
      return !status.again();
    }));
    ASSERT_TRUE(status.in_progress()) << status.message();
  }
  ASSERT_TRUE(pump([&] { return all_finished(contexts); }));
  EXPECT_TRUE(target == bytes);
  a->finished.clear();
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(get_first({got.data() + i * kEach, kEach}, *token, i * kEach, &contexts[i]));
  }
  ASSERT_TRUE(pump([&] { return all_finished(contexts); }));
  EXPECT_TRUE(got == bytes);
  pair.b->unshare(*token);
}

// Whoever accesses what is not shared any more ends its own connection, or is told so; nothing is
// written.
TEST_P(DriverConformance, WhatIsNotSharedAnyMoreIsNotAccessed) {
  establish();
  if (!pair.a->caps().one_sided) GTEST_SKIP() << "no memory is shared on this fabric";
  Bytes target(64, std::byte{0xEE});
  const Result<ExposureToken> token = pair.b->share({target.data(), target.size()});
  ASSERT_TRUE(token.ok()) << token.status().message();
  pair.b->unshare(*token);
  Bytes bytes = pattern(64, 3);
  const Segment all{bytes.data(), bytes.size()};
  ASSERT_TRUE(pump([&] {
    return pair.a->post_put(to_b, {&all, 1}, *token, 0, &bytes).in_progress();
  }));
  ASSERT_TRUE(pump([&] { return a->finished.count(&bytes) == 1; }));
  EXPECT_TRUE(a->finished_status[&bytes].error());
  EXPECT_EQ(target, Bytes(64, std::byte{0xEE}));
}

// Runs of `run` bytes, `stride` apart.
class Strided : public ScatteredMemory {
 public:
  Strided(Bytes& memory, std::size_t run, std::size_t stride)
      : memory_(memory), run_(run), stride_(stride) {}
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                   std::size_t capacity) override {
    std::size_t count = 0;
    for (; count < capacity && size > 0; ++count) {
      const std::size_t in_run = static_cast<std::size_t>(offset) % run_;
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(run_ - in_run, size));
      out[count] = {memory_.data() + offset / run_ * stride_ + in_run, bytes};
      offset += bytes;
      size -= bytes;
    }
    return count;
  }

 private:
  Bytes& memory_;
  std::size_t run_, stride_;
};

TEST_P(DriverConformance, ScatteredWritesGoToEveryRun) {
  establish();
  const DriverCaps& caps = pair.a->caps();
  if (!caps.scattered_writes) GTEST_SKIP() << "this fabric's writes go to one run";
  constexpr std::size_t kFirst = 13;
  std::uint64_t word = 1;
  const Segment done{&word, sizeof(word)};
  for (const std::size_t run : {1, 7, 64, 1000, 4096}) {
    const std::size_t size = std::min<std::size_t>(caps.nearest().max_write_bytes, run * 700);
    const std::size_t total = 3 * size + 5;
    Bytes memory((kFirst + total) / run * run * 2 + 2 * run, std::byte{0xEE});
    Strided strided(memory, run, 2 * run);
    const auto token = pair.b->expose_scattered(to_a, strided, kFirst, total);
    ASSERT_TRUE(token.ok()) << token.status().message();
    const Bytes bytes = pattern(total, static_cast<unsigned>(run));
    b->received.clear();
    for (std::size_t at = 0; at < total; at += size) {
      Segment piece{const_cast<std::byte*>(bytes.data()) + at, std::min(size, total - at)};
      ASSERT_FALSE(write(*a, to_b, {&piece, 1}, *token, at, &word).error());
    }
    ASSERT_FALSE(send(*a, to_b, {&done, 1}, &word).error());
    ASSERT_TRUE(pump([&] { return b->received.size() == 1; }));
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const std::size_t at = i / (2 * run) * run + i % (2 * run);  // in a run, or behind one
      const bool written = i % (2 * run) < run && at >= kFirst && at < kFirst + total;
      ASSERT_EQ(memory[i], written ? bytes[at - kFirst] : std::byte{0xEE}) << run << " " << i;
    }
    pair.b->withdraw(to_a, *token);
  }
}

}  // namespace
}  // namespace mad
