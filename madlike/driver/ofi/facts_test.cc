#include "madlike/driver/ofi/facts.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "gtest/gtest.h"
#include "madlike/driver/libfabric/fid.h"
#include "madlike/driver/ofi/header.h"

namespace mad {
namespace {

OfiFacts facts(int registers, const OfiOptions& options = {}) {
  const InfoPtr info(fi_allocinfo());
  info->domain_attr->mr_mode = registers;
  info->ep_attr->max_msg_size = 1 << 30;
  return OfiFacts::of(*info, options);
}

TEST(OfiFacts, WhoWantsItsMemoryRegisteredIsADevice) {
  EXPECT_FALSE(facts(0).by_device);
  EXPECT_FALSE(facts(FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY).by_device);
  EXPECT_TRUE(facts(FI_MR_LOCAL).by_device);
  EXPECT_TRUE(facts(FI_MR_BASIC).by_device);
  OfiOptions as_device;
  as_device.as_device = true;
  EXPECT_TRUE(facts(0, as_device).by_device);
}

TEST(OfiFacts, WritesGoToAddressesWhereTheProviderSaysSo) {
  EXPECT_FALSE(facts(FI_MR_LOCAL).virtual_addresses);
  EXPECT_TRUE(facts(FI_MR_VIRT_ADDR).virtual_addresses);
  EXPECT_TRUE(facts(FI_MR_BASIC).virtual_addresses);
}

// 8 MiB may be locked on many hosts.
TEST(OfiFacts, ThreeEnginesOnDevicesStayWithinTheLimitOfLockedMemory) {
  const OfiFacts device = facts(FI_MR_LOCAL);
  const std::size_t buffer = device.packet_bytes + OfiHeader::kBytes;
  EXPECT_LE(3 * buffer * (device.receive_buffers + device.send_buffers), 8u * 1024 * 1024);
  EXPECT_EQ(device.receives_ready, device.receive_buffers) << "what is granted stands ready";
  EXPECT_EQ(device.packet_bytes % 8, 0u);
}

TEST(OfiFacts, DatagramsGoInBuffersLikeADevices) {
  const InfoPtr info(fi_allocinfo());
  info->ep_attr->type = FI_EP_RDM;
  info->ep_attr->max_msg_size = 1 << 30;
  info->rx_attr->size = 100;
  info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  const OfiFacts facts = OfiFacts::of(*info, {});
  EXPECT_FALSE(facts.by_device);
  EXPECT_FALSE(facts.registers);
  EXPECT_FALSE(facts.leaves_by_itself);
  EXPECT_EQ(facts.receive_buffers, 100u) << "no more than it takes";
  EXPECT_EQ(facts.receives_ready, facts.receive_buffers) << "what is granted stands ready";
  EXPECT_GT(facts.send_buffers, 0u);
  EXPECT_EQ(facts.packet_bytes % 8, 0u);
  info->tx_attr->size = 16;
  EXPECT_EQ(OfiFacts::of(*info, {}).send_buffers, 16u) << "its queue is never full";
  info->tx_attr->size = 1 << 20;
  EXPECT_EQ(OfiFacts::of(*info, {}).send_buffers, facts.send_buffers);
  info->domain_attr->data_progress = FI_PROGRESS_AUTO;
  info->domain_attr->mr_mode = FI_MR_LOCAL;
  EXPECT_TRUE(OfiFacts::of(*info, {}).leaves_by_itself);
  EXPECT_TRUE(OfiFacts::of(*info, {}).registers);
}

TEST(OfiFacts, ElsewhereTheOptionsCount) {
  OfiOptions options;
  options.receive_buffers = 5;
  options.max_packet_bytes = 1000;
  const OfiFacts other = facts(0, options);
  EXPECT_EQ(other.receive_buffers, 5u);
  EXPECT_EQ(other.packet_bytes, 1000u);
  EXPECT_EQ(other.send_buffers, 0u);
}

}  // namespace
}  // namespace mad
