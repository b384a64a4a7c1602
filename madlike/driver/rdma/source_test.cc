#include "madlike/driver/rdma/source.h"

#include "gtest/gtest.h"
#include "tests/support/made_up_devices.h"

namespace mad {
namespace {

using test::MadeUpDevices;

TEST(RdmaSource, NoneIsNone) {
  const MadeUpDevices devices;
  EXPECT_FALSE(rdma_source("eth0", devices.root));
  EXPECT_FALSE(rdma_source("eth0", devices.root + "/nowhere"));
}

TEST(RdmaSource, ThatOfTheInterfaceByItsBestAddress) {
  const MadeUpDevices devices;
  devices.address("mlx5_0/ports/1", 0, "eth0", "RoCE v2", MadeUpDevices::kIpv4);
  devices.address("mlx5_1/ports/2", 0, "eth1", "IB/RoCE v1", MadeUpDevices::kLocal);
  devices.address("mlx5_1/ports/2", 1, "eth1", "RoCE v2", MadeUpDevices::kLocal);
  devices.address("mlx5_1/ports/2", 2, "eth1", "IB/RoCE v1", MadeUpDevices::kIpv4);
  devices.address("mlx5_1/ports/2", 3, "eth1", "RoCE v2", MadeUpDevices::kIpv4);
  const auto first = rdma_source("eth0", devices.root), second = rdma_source("eth1", devices.root);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->name, "mlx5_0:1");
  EXPECT_EQ(first->gid_index, 0);
  EXPECT_EQ(second->name, "mlx5_1:2");
  EXPECT_EQ(second->gid_index, 3);
  EXPECT_FALSE(rdma_source("eth2", devices.root));
}

TEST(RdmaSource, InfiniBandByItsIp) {
  const MadeUpDevices devices;
  devices.port("hca0/ports/1", "4: ACTIVE", "InfiniBand");
  devices.interface("hca0", "ib0");
  const auto found = rdma_source("ib0", devices.root);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "hca0:1");
  EXPECT_EQ(found->gid_index, -1);
}

}  // namespace
}  // namespace mad
