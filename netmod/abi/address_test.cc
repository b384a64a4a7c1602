#include "netmod/abi/address.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "netmod/abi/mad.h"

namespace mad {
namespace {

EngineAddress example() {
  EngineAddress address;
  address.node = this_node();
  address.fabric = "ofi:tcp";
  for (int i = 0; i < 24; ++i) address.driver_address.push_back(std::byte(i * 7));
  return address;
}

TEST(EngineAddress, RoundTrip) {
  const EngineAddress address = example();
  const std::vector<std::byte> bytes = address.encode();
  const Result<EngineAddress> back = EngineAddress::decode(bytes.data(), bytes.size());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back.value().node, address.node);
  EXPECT_EQ(back.value().fabric, "ofi:tcp");
  EXPECT_EQ(back.value().driver_address, address.driver_address);
  EXPECT_EQ(back.value().process_key(), address.process_key());
}

TEST(EngineAddress, LargestFitsAPortName) {
  EngineAddress address = example();
  address.fabric.assign(EngineAddress::kFabricMax, 'x');
  address.driver_address.resize(EngineAddress::kDriverAddressMax);
  EXPECT_LE(address.encode().size(), static_cast<std::size_t>(MAD_ADDRESS_MAX));
}

TEST(EngineAddress, NodePartStandsApartAndIsStable) {
  EXPECT_EQ(this_node().size(), EngineAddress::kNodeBytes);
  EXPECT_EQ(this_node(), this_node());
  EngineAddress other = example();
  other.driver_address[0] = std::byte{99};
  const std::vector<std::byte> a = example().encode();
  const std::vector<std::byte> b = other.encode();
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 4 + EngineAddress::kNodeBytes, b.begin()));
  EXPECT_NE(example().process_key(), other.process_key());
}

TEST(EngineAddress, UnknownNodeKeepsTheKey) {
  EngineAddress address = example();
  address.node.clear();
  const std::vector<std::byte> bytes = address.encode();
  const Result<EngineAddress> back = EngineAddress::decode(bytes.data(), bytes.size());
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back.value().node.empty());
  EXPECT_EQ(back.value().process_key(), example().process_key());
}

TEST(EngineAddress, OtherVersionIsNamed) {
  std::vector<std::byte> bytes = example().encode();
  bytes[1] = std::byte{7};
  const Result<EngineAddress> back = EngineAddress::decode(bytes.data(), bytes.size());
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.status().code(), StatusCode::kVersion);
  EXPECT_NE(back.status().message().find("version 7"), std::string::npos);
}

TEST(EngineAddress, EveryCutAndEveryForeignByteIsSafe) {
  const std::vector<std::byte> good = example().encode();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::vector<std::byte> cut(good.begin(),
                                     good.begin() + size);  // so that asan sees overreads
    EXPECT_FALSE(EngineAddress::decode(cut.data(), cut.size()).ok()) << size;
  }
  for (std::size_t i = 0; i < 5; ++i) {
    for (int value = 0; value < 256; ++value) {
      std::vector<std::byte> bytes = good;
      bytes[i] = std::byte(value);
      (void)EngineAddress::decode(bytes.data(), bytes.size()).ok();
    }
  }
}

}  // namespace
}  // namespace mad
