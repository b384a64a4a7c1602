#include "madlike/driver/rdma/devices.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/made_up_devices.h"

namespace mad {
namespace {

using test::MadeUpDevices;

TEST(RdmaDevices, NoneIsNone) {
  const MadeUpDevices devices;
  EXPECT_TRUE(rdma_devices(devices.root).empty());
  EXPECT_TRUE(rdma_devices(devices.root + "/nowhere").empty());
}

TEST(RdmaDevices, WhatLinuxSaysOfThem) {
  const MadeUpDevices made_up;
  made_up.healthy("mlx5_1", "eth1");
  made_up.file("/sys/class/infiniband/mlx5_1/fw_ver", "16.35.2000");
  made_up.port("hca0/ports/1", "1: DOWN", "InfiniBand");
  made_up.port("hca0/ports/2", "4: ACTIVE", "InfiniBand");
  made_up.interface("hca0", "ib1");
  const std::vector<RdmaDevice> devices = rdma_devices(made_up.root);
  ASSERT_EQ(devices.size(), 2u);

  const RdmaDevice& infiniband = devices[0];
  EXPECT_EQ(infiniband.name, "hca0");
  EXPECT_EQ(infiniband.node, "");
  ASSERT_EQ(infiniband.ports.size(), 2u);
  EXPECT_EQ(infiniband.ports[0].state, "DOWN");
  EXPECT_FALSE(infiniband.ports[0].active());
  EXPECT_EQ(infiniband.ports[1].number, "2");
  EXPECT_TRUE(infiniband.ports[1].active());
  EXPECT_EQ(infiniband.interfaces_of(infiniband.ports[1]), std::vector<std::string>{"ib1"});

  const RdmaDevice& roce = devices[1];
  EXPECT_EQ(roce.name, "mlx5_1");
  EXPECT_EQ(roce.firmware, "16.35.2000");
  EXPECT_EQ(roce.node, "uverbs0");
  ASSERT_EQ(roce.ports.size(), 1u);
  EXPECT_EQ(roce.ports[0].link_layer, "Ethernet");
  EXPECT_EQ(roce.ports[0].rate, "100 Gb/sec (4X EDR)");
  EXPECT_EQ(roce.interfaces_of(roce.ports[0]), std::vector<std::string>{"eth1"});
}

TEST(RdmaDevices, AddressesThatAreInUseInOrder) {
  const MadeUpDevices made_up;
  for (const int index : {10, 2}) {
    made_up.address("mlx5_0/ports/1", index, "eth0", "RoCE v2", MadeUpDevices::kIpv4);
  }
  made_up.address("mlx5_0/ports/1", 1, "eth0", "IB/RoCE v1", MadeUpDevices::kLocal);
  made_up.file("/sys/class/infiniband/mlx5_0/ports/1/gids/5", "0000:...");  // none of its type
  const std::vector<RdmaDevice> devices = rdma_devices(made_up.root);
  ASSERT_EQ(devices.size(), 1u);
  ASSERT_EQ(devices[0].ports.size(), 1u);
  const std::vector<RdmaAddress>& addresses = devices[0].ports[0].addresses;
  ASSERT_EQ(addresses.size(), 3u);
  EXPECT_EQ(addresses[0].index, 1);
  EXPECT_FALSE(addresses[0].is_ipv4());
  EXPECT_EQ(addresses[2].index, 10);
  EXPECT_TRUE(addresses[2].is_ipv4());
  EXPECT_EQ(devices[0].interfaces_of(devices[0].ports[0]), std::vector<std::string>{"eth0"});
}

}  // namespace
}  // namespace mad
