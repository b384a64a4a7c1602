#include "madlike/driver/ofi/peer_addresses.h"

#include <memory>

#include "gtest/gtest.h"
#include "madlike/driver/ofi/rdm_fabric.h"

namespace mad {
namespace {

std::unique_ptr<RdmFabric> open() {
  OfiOptions options;
  options.provider = "tcp+ofi_rxm";
  options.interface = "lo";
  auto fabric = RdmFabric::open(options);
  EXPECT_TRUE(fabric.ok()) << fabric.status().message();
  return std::move(*fabric);
}

TEST(PeerAddresses, AnAddressIsThereOnceAndAsLongAsItIsUsed) {
  const auto here = open(), there = open(), elsewhere = open();
  PeerAddresses addresses(here->addresses());
  const auto first = addresses.add(there->name()), again = addresses.add(there->name());
  const auto other = addresses.add(elsewhere->name());
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_NE((*first)->address, (*other)->address);
  EXPECT_EQ(addresses.size(), 2u);
  PeerAddresses::use(**first);
  addresses.drop(**first);
  addresses.drop(**first);
  EXPECT_EQ(addresses.size(), 2u);
  addresses.drop(**first);
  EXPECT_EQ(addresses.size(), 1u);
  addresses.drop(**other);
  EXPECT_EQ(addresses.size(), 0u);
}

TEST(PeerAddresses, OneThatTheProviderDoesNotTakeIsNone) {
  const auto here = open();
  PeerAddresses addresses(here->addresses());
  const std::vector<std::byte> nonsense(16, std::byte{0xEE});
  const auto added = addresses.add(nonsense);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.status().code(), StatusCode::kUnreachable);
  EXPECT_EQ(addresses.size(), 0u);
}

}  // namespace
}  // namespace mad
