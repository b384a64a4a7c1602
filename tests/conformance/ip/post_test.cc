// Remote writes.
#include <algorithm>

#include "tests/conformance/ip/engine.h"

namespace mad {
namespace {

TEST_P(IpDriverTest, LargeWritesInEverySegmentCount) {
  Engine a(options());
  if (!a.driver->caps().remote_write) GTEST_SKIP() << "no remote writes on this fabric";
  Engine b(options());
  const std::vector<Engine*> both{&a, &b};
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump(both, [&] { return a.station.connected.count(to_b) == 1; }));
  const ConnectionId to_a = b.connect(a);
  const DriverCaps& caps = a.driver->caps();
  const std::size_t size = caps.nearest().max_write_bytes;
  constexpr std::size_t kWrites = 8;
  Bytes target(size * kWrites);
  Result<ExposureToken> token = b.driver->expose(to_a, {target.data(), target.size()});
  ASSERT_TRUE(token.ok()) << token.status().message();
  Bytes source(size * kWrites);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 131 >> 3);
  std::vector<int> contexts(kWrites);
  std::size_t pending = 0;
  for (std::size_t i = 0; i < kWrites; ++i) {
    std::vector<Segment> segments;
    const std::size_t count = 1 + i % caps.nearest().max_write_iov;
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t first = i * size + s * (size / count);
      const std::size_t last = s + 1 == count ? (i + 1) * size : first + size / count;
      segments.push_back({source.data() + first, last - first});
    }
    Status status;
    ASSERT_TRUE(pump(both, [&] {
      status = a.driver->post_write(to_b, {segments.data(), segments.size()}, *token, i * size,
                                    &contexts[i]);
      return !status.again();
    }));
    ASSERT_FALSE(status.error()) << status.message();
    if (status.in_progress()) ++pending;
  }
  Bytes done = number_of(1);
  const Status last = send(a, to_b, done, both);
  ASSERT_FALSE(last.error());
  if (last.in_progress()) ++pending;
  ASSERT_TRUE(pump(both, [&] { return b.station.received.size() == 1; }));
  EXPECT_TRUE(target == source) << "the packet came before the bytes";
  ASSERT_TRUE(pump(both, [&] { return a.station.finished.size() == pending; }));
  for (const auto& entry : a.station.finished_status) EXPECT_TRUE(entry.second.ok());
  b.driver->withdraw(to_a, *token);
}

// The next number of a splitmix64 sequence, whose numbers tell its state.
std::uint64_t next_of_splitmix(std::uint64_t number) {
  const auto unshift = [](std::uint64_t z, int bits) {
    for (std::uint64_t x = z >> bits; x != 0; x >>= bits) z ^= x;
    return z;
  };
  const auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  };
  std::uint64_t state = unshift(number, 31) * 0x319642B2D24D8EC3u;  // the factors' inverses
  state = unshift(unshift(state, 27) * 0x96DE1B173F119089u, 30);
  return mix(state + 0x9E3779B97F4A7C15u);
}

// Of ofi, whose keys open memory to whoever has them.  They are without a number's last bit.
TEST_P(IpDriverTest, AKeyDoesNotTellTheNext) {
  Engine a(options());
  if (!a.driver->caps().remote_write) GTEST_SKIP() << "no remote writes on this fabric";
  Engine b(options());
  const ConnectionId id = a.connect(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(id) == 1; }));
  Bytes memory(2);
  Result<ExposureToken> one = a.driver->expose(id, {memory.data(), 1});
  Result<ExposureToken> two = a.driver->expose(id, {memory.data() + 1, 1});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE(two->key, next_of_splitmix(one->key << 1) >> 1);
  EXPECT_NE(two->key, next_of_splitmix(one->key << 1 | 1) >> 1);
  a.driver->withdraw(id, *one);
  a.driver->withdraw(id, *two);
}

MAD_FOR_ALL_FABRICS_OVER_IP(IpDriverTest);

TEST_P(IpDriverTest, NoWriteGoesOnInMemoryOfAConnectionThatEnded) {
  Engine a(options());
  if (!a.driver->caps().remote_write) GTEST_SKIP() << "no remote writes on this fabric";
  Engine b(options());
  const std::vector<Engine*> both{&a, &b};
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump(both, [&] { return a.station.connected.count(to_b) == 1; }));
  const ConnectionId to_a = b.connect(a);
  const std::size_t size = a.driver->caps().nearest().max_write_bytes;
  constexpr std::size_t kWrites = 8;
  Bytes target(size * kWrites);
  Result<ExposureToken> token = b.driver->expose(to_a, {target.data(), target.size()});
  ASSERT_TRUE(token.ok()) << token.status().message();
  Bytes source(size * kWrites, std::byte{1});
  std::vector<int> contexts(kWrites);
  std::size_t pending = 0;
  for (std::size_t i = 0; i < kWrites; ++i) {
    const Segment segment{source.data() + i * size, size};
    const Status status = a.driver->post_write(to_b, {&segment, 1}, *token, i * size, &contexts[i]);
    ASSERT_TRUE(status.ok() || status.in_progress()) << status.message();
    if (status.in_progress()) ++pending;
  }
  ASSERT_TRUE(pump(both, [&] { return target[0] == std::byte{1}; }));
  // The end comes in the middle of a write; then the memory is used for something else.
  b.driver->disconnect(to_a);
  b.driver->withdraw(to_a, *token);
  std::fill(target.begin(), target.end(), std::byte{2});
  ASSERT_TRUE(pump(both, [&] { return a.station.disconnected.count(to_b) == 1; }));
  EXPECT_TRUE(a.station.disconnected[to_b].error());
  EXPECT_EQ(a.station.finished.size(), pending);
  EXPECT_EQ(std::count(target.begin(), target.end(), std::byte{2}),
            static_cast<std::ptrdiff_t>(target.size()));
}

}  // namespace
}  // namespace mad
