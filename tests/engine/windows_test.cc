// Receivers whose memory is a few long runs: on fabrics that can only write to one, each run is
// written by itself where they are alike, and everything else comes in packets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <string>
#include <tuple>

#include "tests/engine/node.h"

namespace mad::test {
namespace {

struct Rows {
  const char* name;
  std::uint64_t count, bytes;
  std::int64_t stride;
  bool alike;  // and long: written
};
void PrintTo(const Rows& rows, std::ostream* out) { *out << rows.name; }

constexpr Rows kRows[] = {
    {"many", 30, 65536, 65544, true},  {"odd", 7, 100003, 100100, true},
    {"two", 2, 300000, 1000000, true}, {"far", 3, 131072, 4 << 20, true},
    {"short", 100, 8192, 8200, false}, {"descending", 8, 131072, -131080, false},
};

constexpr unsigned char kUntouched = 0xEE;

/// shm's receivers read from their senders' memory only where that is asked for.
struct SingleCopy {
  SingleCopy() { EXPECT_EQ(setenv("MAD_SHM_SINGLE_COPY", "1", 1), 0); }
  ~SingleCopy() { EXPECT_EQ(unsetenv("MAD_SHM_SINGLE_COPY"), 0); }
};

class Windows : public ::testing::TestWithParam<std::tuple<const char*, Rows>> {
 protected:
  Windows() : a_(std::get<0>(GetParam())), b_(std::get<0>(GetParam())), to_b_(a_.peer(b_)) {}
  ~Windows() override { close_together({&a_, &b_}); }

  /// Sends `data` in blocks of 64 bytes or as one run; `got` is what the receiver's memory then is.
  void send(const Bytes& data, bool in_blocks, const Rows& rows, Bytes* got) {
    const TypeHandle short_blocks = blocks(data.size() / 64, 64, 128);
    Bytes spread(2 * data.size());
    for (std::size_t i = 0; i < data.size() / 64; ++i) {
      std::memcpy(&spread[i * 128], &data[i * 64], 64);
    }
    const TypeHandle type = blocks(rows.count, rows.bytes, rows.stride);
    Operation sent, received;
    b_.on_arrival = [&](const Arrival& arrival) {
      b_.receive(arrival.incoming, got->data() + start(rows), 1, type.get(), MAD_PATH_AUTO,
                 &received);
    };
    if (in_blocks) {
      a_.send(to_b_, "x", spread.data(), 1, short_blocks.get(), MAD_PATH_AUTO, &sent);
    } else {
      a_.send(to_b_, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, &sent);
    }
    ASSERT_TRUE(progress_until({&a_, &b_}, [&] { return sent.done && received.done; }));
    EXPECT_EQ(received.status, MAD_SUCCESS);
    EXPECT_EQ(sent.status, MAD_SUCCESS);
  }

  static std::size_t start(const Rows& rows) {
    return rows.stride < 0 ? (rows.count - 1) * static_cast<std::size_t>(-rows.stride) : 0;
  }
  static Bytes memory(const Rows& rows) {
    const auto distance = static_cast<std::size_t>(rows.stride < 0 ? -rows.stride : rows.stride);
    return Bytes((rows.count - 1) * distance + rows.bytes + 100, std::byte{kUntouched});
  }

  const SingleCopy asked_;
  Node a_, b_;
  mad_peer* to_b_;
};

TEST_P(Windows, BytesStandWhereTheLayoutSaysAndNowhereElse) {
  const Rows& rows = std::get<1>(GetParam());
  const std::string fabric = std::get<0>(GetParam());
  const bool reads = fabric == "shm" || fabric == "ucx:posix,cma";
  const bool scatters = fabric == "tcp" || fabric == "shm" || fabric.rfind("ucx", 0) == 0;
  const std::size_t worth = fabric == "shm" ? 4096 : 16384;
  for (const bool in_blocks : {false, true}) {
    // Short blocks of either side are not worth reading from the sender's memory.
    const bool writes = !(reads && (in_blocks || rows.bytes < worth));
    for (const std::size_t less : {0u, 70016u}) {  // the last run is cut, or not begun
      const Bytes data = pattern((rows.count * rows.bytes - less) / 64 * 64, in_blocks);
      Bytes got = memory(rows), expected = got;
      for (std::size_t done = 0; done < data.size();) {
        const std::size_t row = done / rows.bytes;
        const std::size_t bytes = std::min<std::size_t>(rows.bytes, data.size() - done);
        const auto place =
            static_cast<std::int64_t>(start(rows)) + static_cast<std::int64_t>(row) * rows.stride;
        std::memcpy(&expected[static_cast<std::size_t>(place)], &data[done], bytes);
        done += bytes;
      }
      const std::uint64_t before = a_.counters().written_bytes;
      send(data, in_blocks, rows, &got);
      EXPECT_TRUE(got == expected) << in_blocks << ' ' << less;
      const std::uint64_t written = a_.counters().written_bytes - before;
      EXPECT_EQ(written > 0, writes && (rows.alike || scatters)) << written;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Engine, Windows, ::testing::Combine(::testing::ValuesIn(kFabrics), ::testing::ValuesIn(kRows)),
    [](const auto& info) {
      return test_name(std::get<0>(info.param)) + '_' + std::get<1>(info.param).name;
    });

/// Where nobody asked for them to be read: what is faster is found out.
class WeighedLayouts : public ::testing::Test {
 protected:
  ~WeighedLayouts() override { close_together({&a_, &b_}); }

  /// Sends one of these bytes from layout to layout; returns how many were read where they are.
  std::uint64_t send(unsigned seed) {
    const std::uint64_t before = a_.counters().written_bytes;
    const Bytes out = pattern(kCount * kStride, seed);
    Bytes in(kCount * kStride, std::byte{kUntouched});
    Operation sent, received;
    b_.receive_tagged({0, 1, 2}, in.data(), 1, type_.get(), MAD_PATH_AUTO, &received);
    a_.send_tagged(to_b_, {0, 1, 2}, out.data(), 1, type_.get(), MAD_PATH_AUTO, &sent);
    EXPECT_TRUE(progress_until({&a_, &b_}, [&] { return sent.done && received.done; }));
    EXPECT_EQ(received.status, MAD_SUCCESS);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::byte should = i % kStride < kRun ? out[i] : std::byte{kUntouched};
      if (in[i] != should) ADD_FAILURE() << "byte " << i << " of message " << seed;
      if (in[i] != should) break;
    }
    return a_.counters().written_bytes - before;
  }

  static constexpr std::size_t kCount = 16, kRun = 8192, kStride = 9000, kBytes = kCount * kRun;
  static constexpr unsigned kTried = 8;  // each way, first
  const TypeHandle type_ = blocks(kCount, kRun, kStride);
  Node a_{"shm"}, b_{"shm"};
  mad_peer* to_b_ = a_.peer(b_);
};

TEST_F(WeighedLayouts, AreReadAndSentBeforeTheFasterWayIsTaken) {
  unsigned i = send(0) > 0 ? 1 : 0;  // it may leave before the two have met
  for (; i < kTried; ++i) EXPECT_EQ(send(i), kBytes) << i;
  for (; i < 2 * kTried; ++i) EXPECT_EQ(send(i), 0u) << i;
  for (; i < 300; ++i) {
    const std::uint64_t read = send(i);
    EXPECT_TRUE(read == 0 || read == kBytes) << read;
  }
}

}  // namespace
}  // namespace mad::test
