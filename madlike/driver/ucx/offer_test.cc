#include "madlike/driver/ucx/offer.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

std::vector<std::byte> bytes_of(std::size_t size, int first) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

UcxOffer an_offer() {
  UcxOffer offer;
  offer.tag = 0x1122334455667788u;
  offer.namespace_device = 4;
  offer.namespace_inode = 4026531840u;
  offer.process = {4711, 0x7f0011223344u, 0x99aabbccddeeff00u};
  for (UcxLaneOffer& lane : offer.lanes) {
    lane.open = true;
    lane.geometry = {1, 2, 3, 4, 5, 6};
    lane.device = bytes_of(8, 1);
    lane.interface = bytes_of(UcxLaneOffer::kMostInterface, 20);
  }
  offer.lanes[3].endpoint = bytes_of(10, 90);
  return offer;
}

TEST(UcxOffer, ComesBack) {
  const UcxOffer offer = an_offer();
  const auto bytes = offer.pack();
  const auto read = UcxOffer::parse(bytes.data());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tag, offer.tag);
  EXPECT_EQ(read->namespace_device, offer.namespace_device);
  EXPECT_EQ(read->namespace_inode, offer.namespace_inode);
  EXPECT_EQ(read->process.pid, offer.process.pid);
  EXPECT_EQ(read->process.address, offer.process.address);
  EXPECT_EQ(read->process.word, offer.process.word);
  for (std::size_t i = 0; i < kUcxTransports; ++i) {
    EXPECT_TRUE(read->lanes[i].open);
    EXPECT_EQ(read->lanes[i].geometry, offer.lanes[i].geometry);
    EXPECT_EQ(read->lanes[i].device, offer.lanes[i].device);
    EXPECT_EQ(read->lanes[i].interface, offer.lanes[i].interface);
    EXPECT_EQ(read->lanes[i].endpoint, offer.lanes[i].endpoint);
  }
}

// The places are those of docs/ucx_protocol.md.
TEST(UcxOffer, ForeignBytesAreRefused) {
  const auto bytes = an_offer().pack();
  for (const std::size_t place : {0u, 4u, 56u + 24u, 56u + 25u, 56u + 26u, 56u + 27u}) {
    auto foreign = bytes;
    foreign[place] = std::byte{0x7F};  // another version, a length beyond the room
    EXPECT_FALSE(UcxOffer::parse(foreign.data())) << place;
  }
  auto older = bytes;
  older[0] = std::byte{3};
  EXPECT_FALSE(UcxOffer::parse(older.data()));
}

TEST(UcxOffer, TransportsInCommon) {
  UcxOffer all = an_offer();
  const auto both = transports_in_common(all, all);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(*both, (std::vector<UcxTransport>{UcxTransport::kPosix, UcxTransport::kRc,
                                              UcxTransport::kUd, UcxTransport::kTcp}));

  all.lanes[1].open = all.lanes[2].open = false;
  UcxOffer elsewhere = all;
  ++elsewhere.namespace_inode;
  UcxOffer unknown = all;
  unknown.namespace_inode = 0;
  UcxOffer only_tcp = all;
  only_tcp.lanes[0].open = false;
  only_tcp.lanes[0].geometry[0] = 77;  // of no matter
  for (const UcxOffer& other : {elsewhere, unknown, only_tcp}) {
    for (const auto& common :
         {transports_in_common(all, other), transports_in_common(other, all)}) {
      ASSERT_TRUE(common.ok()) << common.status().message();
      EXPECT_EQ(*common, std::vector<UcxTransport>{UcxTransport::kTcp});
    }
  }
  EXPECT_EQ(transports_in_common(unknown, unknown)->front(), UcxTransport::kTcp);
}

TEST(UcxOffer, NoTransportInCommon) {
  UcxOffer only_posix = an_offer(), only_tcp = an_offer();
  for (const std::size_t i : {1, 2, 3}) only_posix.lanes[i].open = false;
  only_tcp.lanes[0].open = false;
  const auto none = transports_in_common(only_posix, only_tcp);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::kUnreachable);
}

TEST(UcxOffer, AnotherGeometryIsAnotherVersion) {
  const UcxOffer own = an_offer();
  for (const std::size_t lane : {0, 3}) {
    for (std::size_t i = 0; i < own.lanes[lane].geometry.size(); ++i) {
      UcxOffer other = own;
      ++other.lanes[lane].geometry[i];
      for (const auto& common :
           {transports_in_common(own, other), transports_in_common(other, own)}) {
        ASSERT_FALSE(common.ok());
        EXPECT_EQ(common.status().code(), StatusCode::kVersion);
      }
    }
  }
}

// Their sizes are those of the device, and there may be another transport.
TEST(UcxOffer, DevicesThatDifferAreNotInCommon) {
  UcxOffer own = an_offer();
  UcxOffer other = own;
  ++other.lanes[1].geometry[2];
  const auto others = transports_in_common(own, other);
  ASSERT_TRUE(others.ok());
  EXPECT_EQ(*others, (std::vector<UcxTransport>{UcxTransport::kPosix, UcxTransport::kUd,
                                                UcxTransport::kTcp}));
  for (const std::size_t i : {0, 2, 3}) own.lanes[i].open = false;
  EXPECT_EQ(transports_in_common(own, other).status().code(), StatusCode::kVersion);
}

TEST(UcxNote, ComesBackAndForeignBytesAreRefused) {
  const UcxNote note{UcxNote::Kind::kNo, UcxTransport::kTcp};
  const auto bytes = note.pack();
  const auto read = UcxNote::parse(bytes.data());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, note.kind);
  EXPECT_EQ(read->transport, note.transport);
  for (const std::size_t place : {0u, 3u, 4u, 7u}) {
    auto foreign = bytes;
    foreign[place] = std::byte{9};
    EXPECT_FALSE(UcxNote::parse(foreign.data())) << place;
  }
  auto another = bytes;
  another[4] = std::byte{4};  // the first transport that there is not
  EXPECT_FALSE(UcxNote::parse(another.data()));
}

}  // namespace
}  // namespace mad
