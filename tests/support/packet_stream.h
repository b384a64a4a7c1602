// PacketStream: takes a payload out of its source as a messenger does, packet after packet, and
// keeps what the packets carried.
//
// Every packet starts with a staged header.  What holds for all sources is checked here: at least
// one byte and at most the limit a packet, at most its segments and bytes, staged bytes in the
// packet's memory and counted as such.
#ifndef TESTS_SUPPORT_PACKET_STREAM_H_
#define TESTS_SUPPORT_PACKET_STREAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/message/messenger.h"
#include "madlike/message/packet.h"
#include "tests/support/random_type.h"

namespace mad::test {

struct PacketLimits {
  std::size_t header_bytes = 40;
  std::size_t memory_bytes = 4096;  // staging memory of a packet, the header included
  std::size_t max_segments = 4;
  std::size_t max_bytes = 1 << 20;
  std::uint64_t longest_fill = UINT64_MAX;  // limits given to fill() are random up to this
};

inline PacketLimits random_limits(RandomTypes& random) {
  PacketLimits limits;
  limits.header_bytes = static_cast<std::size_t>(random.between(1, 48));
  limits.max_segments = static_cast<std::size_t>(random.between(0, 1) == 0 ? random.between(1, 8)
                                                                           : random.between(1, 64));
  limits.memory_bytes =
      limits.header_bytes + static_cast<std::size_t>(random.between(1, 1 + random.between(0, 999)));
  limits.max_bytes =
      limits.header_bytes + static_cast<std::size_t>(random.between(1, 1 + random.between(0, 999)));
  if (random.between(0, 1) == 0) limits.longest_fill = 1 + random.between(0, 300);
  return limits;
}

class PacketStream {
 public:
  PacketStream(const PacketLimits& limits, std::uint64_t total)
      : limits_(limits), memory_(limits.memory_bytes) {
    bytes_.reserve(total);
  }

  /// Takes all `total` bytes; stops at the first violation.  Allocates nothing.
  void drain(PayloadSource& source, std::uint64_t total, RandomTypes& random) {
    Packet packet({memory_.data(), memory_.size()}, limits_.max_segments, limits_.max_bytes);
    while (bytes_.size() < total && !testing::Test::HasFailure()) {
      const std::uint64_t left = total - bytes_.size();
      const std::uint64_t most = std::min(left, limits_.longest_fill);
      const std::uint64_t limit = limits_.longest_fill == UINT64_MAX
                                      ? left
                                      : static_cast<std::uint64_t>(random.between(1, most));
      packet.reset(limits_.max_segments, limits_.max_bytes);
      std::memset(packet.staging_room().data, 0x5a, limits_.header_bytes);
      packet.stage(limits_.header_bytes);
      source.fill(packet, limit);
      take(packet, limit);
    }
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::uint64_t staged() const { return staged_; }
  std::uint64_t referenced() const { return referenced_; }
  std::uint64_t packets() const { return packets_; }
  std::uint64_t referenced_segments() const { return referenced_segments_; }

 private:
  void take(const Packet& packet, std::uint64_t limit) {
    const std::size_t header = limits_.header_bytes;
    ASSERT_GT(packet.bytes(), header) << "a packet without payload";
    ASSERT_LE(packet.bytes() - header, limit);
    ASSERT_LE(packet.bytes(), limits_.max_bytes);
    ASSERT_LE(packet.segments().count, limits_.max_segments);
    ASSERT_EQ(packet.segments().bytes(), packet.bytes());
    std::size_t skip = header, in_memory = 0;
    for (const Segment& segment : packet.segments()) {
      ASSERT_GT(segment.size, 0u);
      const bool staged =
          segment.begin() >= memory_.data() && segment.begin() < memory_.data() + memory_.size();
      if (staged) {
        ASSERT_LE(segment.end(), memory_.data() + memory_.size());
        in_memory += segment.size;
      } else {
        ++referenced_segments_;
      }
      ASSERT_LE(skip, segment.size);
      bytes_.insert(bytes_.end(), segment.begin() + skip, segment.end());
      skip = 0;
    }
    ASSERT_EQ(packet.staged_bytes(), in_memory);
    ASSERT_EQ(packet.referenced_bytes(), packet.bytes() - in_memory);
    staged_ += in_memory - header;
    referenced_ += packet.referenced_bytes();
    ++packets_;
  }

  PacketLimits limits_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> bytes_;
  std::uint64_t staged_ = 0;
  std::uint64_t referenced_ = 0;
  std::uint64_t referenced_segments_ = 0;
  std::uint64_t packets_ = 0;
};

}  // namespace mad::test

#endif  // TESTS_SUPPORT_PACKET_STREAM_H_
