#include "madlike/driver/tcp/record.h"

#include <array>
#include <initializer_list>

#include "gtest/gtest.h"

namespace mad {
namespace {

using Bytes = std::array<std::byte, TcpRecord::kMostBytes>;

TEST(TcpRecord, EveryKindComesBack) {
  const TcpRecord records[] = {{TcpRecord::Kind::kPacket, 0x01020304, 0, 0},
                               {TcpRecord::Kind::kWrite, 77, 0x1122334455667788, 1ull << 40},
                               {TcpRecord::Kind::kLast, 0, 0, 0},
                               {TcpRecord::Kind::kFiller, 0, 0, 0},
                               {TcpRecord::Kind::kFiller, TcpRecord::kMostFiller, 0, 0}};
  for (const TcpRecord& record : records) {
    Bytes bytes{};
    encode_record(record, bytes.data());
    TcpRecord read;
    ASSERT_TRUE(decode_record(bytes.data(), &read));
    if (record.kind == TcpRecord::Kind::kWrite) decode_write(bytes.data(), &read);
    EXPECT_EQ(read.kind, record.kind);
    EXPECT_EQ(read.bytes, record.bytes);
    EXPECT_EQ(read.key, record.key);
    EXPECT_EQ(read.offset, record.offset);
  }
}

// docs/tcp_protocol.md: the bytes, whatever the machine.
TEST(TcpRecord, TheLayoutIsTheDocumentedOne) {
  Bytes bytes{};
  encode_record({TcpRecord::Kind::kWrite, 0x0A0B0C0D, 1, 2}, bytes.data());
  const Bytes expected = {std::byte{0x7C}, std::byte{2},    std::byte{0},    std::byte{0},
                          std::byte{0x0D}, std::byte{0x0C}, std::byte{0x0B}, std::byte{0x0A},
                          std::byte{1},    std::byte{0},    std::byte{0},    std::byte{0},
                          std::byte{0},    std::byte{0},    std::byte{0},    std::byte{0},
                          std::byte{2}};
  EXPECT_EQ(bytes, expected);
}

TEST(TcpRecord, PaddingAlignsWhatFollows) {
  for (std::uint32_t bytes = 1; bytes < 40; ++bytes) {
    TcpRecord record;
    record.bytes = bytes;
    EXPECT_EQ((record.header_bytes() + bytes + record.padding_bytes()) % TcpRecord::kAlignment, 0u);
    EXPECT_LT(record.padding_bytes(), TcpRecord::kAlignment);
  }
}

TEST(TcpRecord, WhatNoEngineSendsIsRefused) {
  Bytes good{};
  encode_record({TcpRecord::Kind::kPacket, 8, 0, 0}, good.data());
  TcpRecord read;
  ASSERT_TRUE(decode_record(good.data(), &read));
  for (const std::size_t place : {0, 1, 2, 3}) {  // magic, kind, reserved
    for (const std::byte bit : {std::byte{0x40}, std::byte{0x80}}) {
      Bytes bad = good;
      bad[place] ^= bit;
      EXPECT_FALSE(decode_record(bad.data(), &read)) << place;
    }
  }
  Bytes empty = good;
  empty[4] = std::byte{0};
  EXPECT_FALSE(decode_record(empty.data(), &read)) << "a packet of no bytes";
  Bytes last = good;
  last[1] = std::byte{3};
  EXPECT_FALSE(decode_record(last.data(), &read)) << "a last record with bytes";
  Bytes filler = good;
  filler[1] = std::byte{4};
  EXPECT_TRUE(decode_record(filler.data(), &read));
  filler[4] = std::byte{TcpRecord::kMostFiller + 1};
  EXPECT_FALSE(decode_record(filler.data(), &read)) << "a filler of more than a line";
  Bytes unknown = good;
  unknown[1] = std::byte{5};
  EXPECT_FALSE(decode_record(unknown.data(), &read)) << "of a kind that is none";
}

}  // namespace
}  // namespace mad
