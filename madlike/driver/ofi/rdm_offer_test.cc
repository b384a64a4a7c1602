#include "madlike/driver/ofi/rdm_offer.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

RdmOffer offer() {
  RdmOffer made;
  made.provider = "tcp;ofi_rxm";
  made.protocol = 0x12345678;
  made.protocol_version = 3;
  made.packet_bytes = 8176;
  made.tag = 0x1122334455667788;
  made.credit = 8;
  made.name = {std::byte{1}, std::byte{0}, std::byte{2}};
  return made;
}

TEST(RdmOffer, ComesAsItWasSaid) {
  const auto bytes = offer().pack();
  const auto came = RdmOffer::parse(bytes.data());
  ASSERT_TRUE(came);
  EXPECT_EQ(came->provider, "tcp;ofi_rxm");
  EXPECT_EQ(came->protocol, 0x12345678u);
  EXPECT_EQ(came->protocol_version, 3u);
  EXPECT_EQ(came->packet_bytes, 8176u);
  EXPECT_EQ(came->tag, 0x1122334455667788u);
  EXPECT_EQ(came->credit, 8u);
  EXPECT_EQ(came->name, offer().name);
}

TEST(RdmOffer, IsLittleEndianAndTellsItsVersion) {
  auto bytes = offer().pack();
  EXPECT_EQ(bytes[0], std::byte{1});
  EXPECT_EQ(bytes[4], std::byte{0x78});
  EXPECT_EQ(bytes[16], std::byte{0x88});
  EXPECT_EQ(bytes[24], std::byte{8});
  EXPECT_EQ(bytes[26], std::byte{3});
  EXPECT_EQ(bytes[32], std::byte{'t'});
  EXPECT_EQ(bytes[64], std::byte{1});
  bytes[0] = std::byte{2};
  EXPECT_FALSE(RdmOffer::parse(bytes.data()));
}

TEST(RdmOffer, LongNamesFit) {
  RdmOffer longest = offer();
  longest.provider.assign(40, 'p');
  longest.name.assign(RdmOffer::kMostName, std::byte{5});
  auto bytes = longest.pack();
  const auto came = RdmOffer::parse(bytes.data());
  ASSERT_TRUE(came);
  EXPECT_EQ(came->provider, std::string(RdmOffer::kMostProvider, 'p'));
  EXPECT_EQ(came->name, longest.name);
  bytes[26] = std::byte{1};  // 257 bytes
  EXPECT_FALSE(RdmOffer::parse(bytes.data()));
  bytes[26] = bytes[27] = std::byte{0};
  EXPECT_FALSE(RdmOffer::parse(bytes.data())) << "no name";
}

}  // namespace
}  // namespace mad
