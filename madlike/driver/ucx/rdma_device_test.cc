#include "madlike/driver/ucx/rdma_device.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

/// What Linux lists, in a directory of the test's.
class RdmaDevices : public ::testing::Test {
 protected:
  void make(const std::string& path) {
    for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      (void)mkdir((root_ + "/" + path.substr(0, at)).c_str(), 0700);
    }
    (void)mkdir((root_ + "/" + path).c_str(), 0700);
  }
  void address(const std::string& port, int index, const char* interface, const char* type,
               const char* gid) {
    const std::string number = "/" + std::to_string(index);
    for (const char* list : {"/gid_attrs/ndevs", "/gid_attrs/types", "/gids"}) make(port + list);
    std::ofstream(root_ + "/" + port + "/gid_attrs/ndevs" + number) << interface << "\n";
    std::ofstream(root_ + "/" + port + "/gid_attrs/types" + number) << type << "\n";
    std::ofstream(root_ + "/" + port + "/gids" + number) << gid << "\n";
  }

  std::string root_ = testing::TempDir() + "rdma_devices_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
  void SetUp() override { (void)mkdir(root_.c_str(), 0700); }
};

constexpr const char* kIpv4 = "0000:0000:0000:0000:0000:ffff:0a4d:0001";
constexpr const char* kLocal = "fe80:0000:0000:0000:fcef:2cff:fe53:aaaf";

TEST_F(RdmaDevices, NoneIsNone) {
  EXPECT_FALSE(rdma_device_of("eth0", root_));
  EXPECT_FALSE(rdma_device_of("eth0", root_ + "/nowhere"));
}

TEST_F(RdmaDevices, ThatOfTheInterfaceByItsBestAddress) {
  address("mlx5_0/ports/1", 0, "eth0", "RoCE v2", kIpv4);
  address("mlx5_1/ports/2", 0, "eth1", "IB/RoCE v1", kLocal);
  address("mlx5_1/ports/2", 1, "eth1", "RoCE v2", kLocal);
  address("mlx5_1/ports/2", 2, "eth1", "IB/RoCE v1", kIpv4);
  address("mlx5_1/ports/2", 3, "eth1", "RoCE v2", kIpv4);
  const auto first = rdma_device_of("eth0", root_), second = rdma_device_of("eth1", root_);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->name, "mlx5_0:1");
  EXPECT_EQ(first->gid_index, 0);
  EXPECT_EQ(second->name, "mlx5_1:2");
  EXPECT_EQ(second->gid_index, 3);
  EXPECT_FALSE(rdma_device_of("eth2", root_));
}

TEST_F(RdmaDevices, InfiniBandByItsIp) {
  make("hca0/ports/1");
  make("hca0/device/net/ib0");
  const auto found = rdma_device_of("ib0", root_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "hca0:1");
  EXPECT_EQ(found->gid_index, -1);
}

}  // namespace
}  // namespace mad
