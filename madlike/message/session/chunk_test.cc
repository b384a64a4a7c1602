#include "madlike/message/session/chunk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace mad {
namespace {

Result<ChunkHeader> decode(std::array<std::byte, ChunkHeader::kBytes> bytes,
                           std::uint64_t payload) {
  return ChunkHeader::decode({bytes.data(), bytes.size()}, payload);
}

TEST(Chunk, HeaderComesBack) {
  ChunkHeader header;
  header.kind = ChunkHeader::Kind::kStaged;
  header.last = true;
  header.message = 0x01020304;
  header.sequence = 0xA0B0C0D0;
  const auto bytes = header.encode();
  EXPECT_EQ(bytes[4], std::byte{4}) << "little-endian";
  const auto back = decode(bytes, 17);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back.value().kind, header.kind);
  EXPECT_TRUE(back.value().last);
  EXPECT_EQ(back.value().message, header.message);
  EXPECT_EQ(back.value().sequence, header.sequence);
}

TEST(Chunk, WhatNoEngineSendsIsRefused) {
  const auto good = ChunkHeader().encode();
  ASSERT_TRUE(decode(good, 1).ok());
  EXPECT_EQ(decode(good, 0).status().code(), StatusCode::kProtocol) << "empty";
  EXPECT_TRUE(decode(good, kMaxChunkBytes).ok()) << "64 KiB may be staged";
  EXPECT_EQ(decode(good, kMaxChunkBytes + 1).status().code(), StatusCode::kProtocol);
  auto bad = good;
  bad[0] = std::byte{2};
  EXPECT_EQ(decode(bad, 1).status().code(), StatusCode::kVersion);
  for (const auto& [place, value] : {std::pair{1, 0}, {1, 3}, {2, 2}, {2, 255}, {3, 1}}) {
    bad = good;
    bad[static_cast<std::size_t>(place)] = static_cast<std::byte>(value);
    EXPECT_EQ(decode(bad, 1).status().code(), StatusCode::kProtocol) << place << ": " << value;
  }
  std::array<std::byte, ChunkHeader::kBytes + 1> longer{};
  std::copy(good.begin(), good.end(), longer.begin());
  for (const std::size_t size : {good.size() - 1, good.size() + 1}) {
    EXPECT_EQ(ChunkHeader::decode({longer.data(), size}, 1).status().code(), StatusCode::kProtocol)
        << "a header of " << size << " bytes";
  }
  ChunkHeader last_long;
  last_long.kind = ChunkHeader::Kind::kLong;
  last_long.last = true;
  EXPECT_EQ(decode(last_long.encode(), 1 << 20).status().code(), StatusCode::kProtocol);
  last_long.last = false;
  EXPECT_TRUE(decode(last_long.encode(), 1 << 20).ok()) << "long pieces have no limit";
}

TEST(Chunk, RecordHeadsComeBack) {
  std::vector<std::uint64_t> values = {
      0, 1, 127, 128, 129, 16383, 16384, std::numeric_limits<std::uint64_t>::max()};
  for (int bit = 0; bit < 64; ++bit) values.push_back(std::uint64_t{1} << bit);
  for (const std::uint64_t value : values) {
    std::byte bytes[kMaxRecordHead];
    const std::size_t size = encode_record_head(value, bytes);
    std::uint64_t back = ~value;
    ASSERT_EQ(decode_record_head({bytes, size}, &back), size) << value;
    EXPECT_EQ(back, value);
    EXPECT_EQ(decode_record_head({bytes, size - 1}, &back), 0u) << value << " cut short";
  }
}

TEST(Chunk, BrokenRecordHeadsAreRefused) {
  std::uint64_t value = 0;
  std::byte padded[] = {std::byte{0x81}, std::byte{0x00}};
  EXPECT_EQ(decode_record_head({padded, 2}, &value), 0u) << "two spellings of one value";
  std::vector<std::byte> endless(20, std::byte{0xFF});
  EXPECT_EQ(decode_record_head({endless.data(), endless.size()}, &value), 0u);
  std::vector<std::byte> too_big(kMaxRecordHead, std::byte{0xFF});
  too_big.back() = std::byte{2};
  EXPECT_EQ(decode_record_head({too_big.data(), too_big.size()}, &value), 0u);
}

}  // namespace
}  // namespace mad
