#include "madlike/driver/ofi/header.h"

#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

std::vector<std::byte> written(const OfiHeader& header, std::size_t bytes_behind) {
  std::vector<std::byte> packet(OfiHeader::kBytes + bytes_behind);
  header.write(packet.data());
  return packet;
}

std::optional<OfiHeader> read(std::vector<std::byte>& packet) {
  return OfiHeader::read({packet.data(), packet.size()});
}

TEST(OfiTag, NamesTheConnectionAndHasTheSecret) {
  for (const ConnectionId id : {0u, 1u, 77u, ~0u}) {
    for (const std::uint64_t secret : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      EXPECT_EQ(OfiTag::connection(OfiTag::make(id, secret)), id);
    }
  }
  EXPECT_NE(OfiTag::make(1, 2), OfiTag::make(1, 3));
}

TEST(OfiHeader, ComesBackAsItWasAndIsLittleEndian) {
  OfiHeader header;
  header.tag = 0x1122334455667788;
  header.rest = 0x99aabbcc;
  header.credit = 0xddee;
  header.number = 0x77;
  std::vector<std::byte> packet = written(header, 1);
  EXPECT_EQ(packet[0], std::byte{0x88});
  EXPECT_EQ(packet[8], std::byte{0xcc});
  EXPECT_EQ(packet[12], std::byte{0xee});
  EXPECT_EQ(packet[14], std::byte{1});
  EXPECT_EQ(packet[15], std::byte{0x77});
  const std::optional<OfiHeader> back = read(packet);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->tag, header.tag);
  EXPECT_EQ(back->rest, header.rest);
  EXPECT_EQ(back->credit, header.credit);
  EXPECT_EQ(back->kind, OfiHeader::Kind::kPacket);
  EXPECT_EQ(back->number, header.number);
}

TEST(OfiHeader, WhatNoEngineSendsIsNone) {
  OfiHeader packet, credit, last;
  credit.kind = OfiHeader::Kind::kCredit;
  last.kind = OfiHeader::Kind::kLast;
  std::vector<std::byte> good[] = {written(packet, 8), written(credit, 0), written(last, 0)};
  for (auto& each : good) EXPECT_TRUE(read(each));
  std::vector<std::byte> bad[] = {written(packet, 0), written(credit, 1), written(last, 8)};
  for (auto& each : bad) EXPECT_FALSE(read(each));
  for (std::size_t size = 0; size < OfiHeader::kBytes; ++size) {
    EXPECT_FALSE(OfiHeader::read({good[0].data(), size}));
  }
  for (const int kind : {0, 4, 255}) {
    std::vector<std::byte> each = good[0];
    each[14] = static_cast<std::byte>(kind);
    EXPECT_FALSE(read(each));
  }
  last.rest = 1;
  std::vector<std::byte> more = written(last, 0);
  EXPECT_FALSE(read(more));
}

}  // namespace
}  // namespace mad
