#include "madlike/driver/ofi_shm/offer.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

OfiShmOffer an_offer() {
  OfiShmOffer offer;
  offer.tag = 0x1122334455667788u;
  offer.secret = 0x99AABBCCDDEEFF00u;
  offer.geometry = {1, 2, 3, 4, 5, 6};
  offer.endpoint = std::string(OfiShmOffer::kMostName - 1, 'e');
  offer.gate = "gate";
  return offer;
}

TEST(OfiShmOffer, ComesBack) {
  const OfiShmOffer offer = an_offer();
  const auto read = OfiShmOffer::parse(offer.pack().data());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tag, offer.tag);
  EXPECT_EQ(read->secret, offer.secret);
  EXPECT_EQ(read->geometry, offer.geometry);
  EXPECT_EQ(read->endpoint, offer.endpoint);
  EXPECT_EQ(read->gate, offer.gate);
}

TEST(OfiShmOffer, NumbersAreLittleEndian) {
  const auto bytes = an_offer().pack();
  EXPECT_EQ(bytes[0], std::byte{1}) << "version";
  EXPECT_EQ(bytes[8], std::byte{0x88}) << "tag";
  EXPECT_EQ(bytes[16], std::byte{0x00}) << "secret";
  EXPECT_EQ(bytes[24], std::byte{1}) << "geometry";
}

TEST(OfiShmOffer, WhatNobodySendsIsRefused) {
  const auto good = an_offer().pack();
  ASSERT_TRUE(OfiShmOffer::parse(good.data()));
  for (const std::size_t place : {std::size_t{0}, std::size_t{4}}) {
    auto other = good;
    other[place] ^= std::byte{4};
    EXPECT_FALSE(OfiShmOffer::parse(other.data())) << "byte " << place;
  }
  for (const std::size_t name : {std::size_t{48}, std::size_t{112}}) {
    auto endless = good;
    for (std::size_t i = 0; i < OfiShmOffer::kMostName; ++i) endless[name + i] = std::byte{'x'};
    EXPECT_FALSE(OfiShmOffer::parse(endless.data())) << "the name at " << name;
  }
}

TEST(OfiShmNote, ComesBack) {
  for (const auto kind : {OfiShmNote::Kind::kReady, OfiShmNote::Kind::kWake}) {
    const auto read = OfiShmNote::parse(OfiShmNote{kind}.pack().data());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, kind);
  }
}

TEST(OfiShmNote, WhatNobodySendsIsRefused) {
  auto bytes = OfiShmNote{}.pack();
  for (const int kind : {0, 3}) {
    bytes[0] = static_cast<std::byte>(kind);
    EXPECT_FALSE(OfiShmNote::parse(bytes.data())) << kind;
  }
  bytes = OfiShmNote{}.pack();
  bytes[4] = std::byte{1};
  EXPECT_FALSE(OfiShmNote::parse(bytes.data()));
}

}  // namespace
}  // namespace mad
