#include "netmod/abi/address.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "netmod/abi/mad.h"

namespace mad {
namespace {

using Bytes = std::vector<std::byte>;

/// `size` bytes that are like those of other addresses, but for some from `own` on.
Bytes driver_address(std::size_t size, std::size_t own, unsigned char what) {
  Bytes out;
  for (std::size_t i = 0; i < size; ++i) out.push_back(std::byte(i * 7));
  for (std::size_t i = own; i < own + 2; ++i) out[i] = std::byte{what};
  return out;
}

EngineAddress example() {
  EngineAddress address;
  address.node = this_node();
  address.fabrics = {{"ucx:posix", driver_address(32, 2, 1)},
                     {"ofi:tcp", driver_address(16, 2, 2)},
                     {"tcp", driver_address(32, 2, 3)}};
  return address;
}

std::vector<std::string> keys(const EngineAddress& address) {
  std::vector<std::string> out;
  for (const FabricAddress& each : address.fabrics) out.push_back(each.key());
  return out;
}

void expect_round_trip(const EngineAddress& address) {
  const Bytes bytes = address.encode();
  const Result<EngineAddress> back = EngineAddress::decode(bytes.data(), bytes.size());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back.value().node, address.node);
  EXPECT_EQ(keys(*back), keys(address));
  EXPECT_EQ(back.value().fabric_names(), address.fabric_names());
}

TEST(EngineAddress, RoundTrip) {
  expect_round_trip(example());
  EXPECT_EQ(example().fabric_names(), "ucx:posix;ofi:tcp;tcp");
}

TEST(EngineAddress, AnyAddressesRoundTrip) {
  std::mt19937 random(20);  // NOLINT(cert-msc*): the same each time
  for (int round = 0; round < 2000; ++round) {
    EngineAddress address;
    if (random() % 2 == 0) address.node = this_node();
    const std::size_t fabrics = 1 + random() % EngineAddress::kMostFabrics;
    for (std::size_t i = 0; i < fabrics; ++i) {
      Bytes bytes(random() % (EngineAddress::kDriverAddressMax + 1));
      for (std::byte& each : bytes) each = std::byte(random() % 8 == 0 ? 1 : 0);
      address.fabrics.push_back(
          {std::string(random() % (EngineAddress::kFabricMax + 1), 'f'), bytes});
    }
    expect_round_trip(address);
  }
}

// As those of the fabrics shm and tcp, which end with one secret.
TEST(EngineAddress, WhatAddressesEndWithIsThereOnce) {
  Bytes secret(16);
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = std::byte(100 + i);
  Bytes shorter(8, std::byte{1}), longer(16, std::byte{2});
  shorter.insert(shorter.end(), secret.begin(), secret.end());
  longer.insert(longer.end(), secret.begin(), secret.end());
  for (const bool shorter_first : {true, false}) {
    EngineAddress address;
    address.fabrics = {{"a", shorter_first ? shorter : longer},
                       {"b", shorter_first ? longer : shorter}};
    expect_round_trip(address);
    const std::size_t heads = 4 + 2 * 5;
    EXPECT_EQ(address.encode().size(), heads + 8 + 16 + secret.size());
  }
}

// Of our own drivers: IPv6 addresses with a secret that they share.
TEST(EngineAddress, TheLargestOfThreeFabricsFitAPortName) {
  EngineAddress address;
  address.node = this_node();
  address.fabrics = {{"ucx:posix,cma", driver_address(44, 2, 1)},
                     {"ofi:verbs", driver_address(28, 2, 2)},
                     {"tcp", driver_address(44, 2, 3)}};
  EXPECT_LE(address.encode().size(), static_cast<std::size_t>(MAD_ADDRESS_MAX));
  address.fabrics = {
      {std::string(EngineAddress::kFabricMax, 'x'), Bytes(EngineAddress::kDriverAddressMax)}};
  EXPECT_LE(address.encode().size(), static_cast<std::size_t>(MAD_ADDRESS_MAX));
}

TEST(EngineAddress, NodePartStandsApartAndIsStable) {
  EXPECT_EQ(this_node().size(), EngineAddress::kNodeBytes);
  EXPECT_EQ(this_node(), this_node());
  EngineAddress other = example();
  other.fabrics[0].address[0] = std::byte{99};
  const Bytes a = example().encode();
  const Bytes b = other.encode();
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 4 + EngineAddress::kNodeBytes, b.begin()));
  EXPECT_NE(example().fabrics[0].key(), other.fabrics[0].key());
}

TEST(EngineAddress, UnknownNodeKeepsTheKeys) {
  EngineAddress address = example();
  address.node.clear();
  expect_round_trip(address);
}

TEST(EngineAddress, IsOneEnginesIfAFabricsAddressIs) {
  const EngineAddress all = example();
  EngineAddress one = all;
  one.fabrics.erase(one.fabrics.begin(), one.fabrics.begin() + 2);
  EXPECT_TRUE(all.has_one_of(one) && one.has_one_of(all));
  one.fabrics[0].fabric = "ofi:tcp";
  EXPECT_FALSE(all.has_one_of(one) || one.has_one_of(all));
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
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::vector<std::byte> bytes = good;
      bytes[i] = std::byte(value);
      (void)EngineAddress::decode(bytes.data(), bytes.size()).ok();
    }
  }
}

}  // namespace
}  // namespace mad
