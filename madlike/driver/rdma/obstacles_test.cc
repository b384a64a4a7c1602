#include "madlike/driver/rdma/obstacles.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/made_up_devices.h"

namespace mad {
namespace {

using test::MadeUpDevices;

const RdmaUser kUser{RdmaUser::kAllBytes, {"eth0", "ib0"}};

/// Of the only device.
std::vector<std::string> obstacles(const MadeUpDevices& made_up, const RdmaUser& user = kUser,
                                   const std::string& interface = "") {
  const std::vector<RdmaDevice> devices = rdma_devices(made_up.root);
  EXPECT_EQ(devices.size(), 1u);
  return rdma_obstacles(devices.at(0), user, interface, made_up.root);
}

/// The only one of those.
std::string only(const std::vector<std::string>& all) {
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? "" : all.front();
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(RdmaObstacles, AHealthyDeviceHasNone) {
  const MadeUpDevices made_up;
  made_up.healthy("mlx5_0", "eth0");
  EXPECT_TRUE(obstacles(made_up).empty());
  EXPECT_TRUE(obstacles(made_up, kUser, "eth0").empty());
  const auto port = usable_rdma_port(rdma_devices(made_up.root), kUser, "", made_up.root);
  ASSERT_TRUE(port.ok()) << port.status().message();
  EXPECT_EQ(port->name, "mlx5_0 port 1");
  EXPECT_EQ(port->interface, "eth0");
}

TEST(RdmaObstacles, PortsThatAreDown) {
  const MadeUpDevices made_up;
  made_up.healthy("mlx5_0", "eth0");
  made_up.port("mlx5_0/ports/1", "1: DOWN");
  made_up.port("mlx5_0/ports/2", "2: INIT");
  EXPECT_EQ(only(obstacles(made_up)), "no port is up: port 1 is DOWN, port 2 is INIT");
}

TEST(RdmaObstacles, PortsWithoutAnIpAddress) {
  const MadeUpDevices made_up;
  made_up.healthy("hca0", "");
  expect_has(only(obstacles(made_up)), "no port that is up has a network interface");
  made_up.interface("hca0", "ib0");
  EXPECT_TRUE(obstacles(made_up).empty());
  EXPECT_EQ(only(obstacles(made_up, kUser, "eth0")),
            "no port that is up has the network interface eth0");
}

TEST(RdmaObstacles, FilesThatAreMissing) {
  const MadeUpDevices made_up;
  made_up.healthy("mlx5_0", "eth0");
  std::filesystem::remove(made_up.root + "/dev/infiniband/rdma_cm");
  expect_has(only(obstacles(made_up)),
             "/dev/infiniband/rdma_cm is missing: load the kernel module rdma_ucm");
  std::filesystem::remove_all(made_up.root + "/dev");
  const std::vector<std::string> both = obstacles(made_up);
  ASSERT_EQ(both.size(), 2u);
  expect_has(both[0], "/dev/infiniband/uverbs0 is missing");
  std::filesystem::remove_all(made_up.root + "/sys/class/infiniband_verbs");
  expect_has(obstacles(made_up).front(), "no node in /dev/infiniband");
}

TEST(RdmaObstacles, FilesOfAnotherUser) {
  if (geteuid() == 0) GTEST_SKIP() << "root may open any";
  const MadeUpDevices made_up;
  made_up.healthy("mlx5_0", "eth0");
  ASSERT_EQ(chmod((made_up.root + "/dev/infiniband/uverbs0").c_str(), 0), 0);
  expect_has(only(obstacles(made_up)), "/dev/infiniband/uverbs0 may not be read and written");
}

TEST(RdmaObstacles, TooLittleLockedMemory) {
  const MadeUpDevices made_up;
  made_up.healthy("mlx5_0", "eth0");
  expect_has(
      only(obstacles(made_up, {65536, {"eth0"}})),
      "this process may lock 64 KiB of memory, and needs 8 MiB: raise its limit (ulimit -l)");
  EXPECT_TRUE(obstacles(made_up, {RdmaUser::kNeededBytes, {"eth0"}}).empty());
}

TEST(RdmaObstacles, TheNextDeviceMayDo) {
  const MadeUpDevices made_up;
  const auto port = [&](const std::string& interface) {
    return usable_rdma_port(rdma_devices(made_up.root), kUser, interface, made_up.root);
  };
  EXPECT_EQ(port("").status().message(), "this host has no RDMA device");
  made_up.healthy("mlx5_0", "eth1");  // which has no IP address
  EXPECT_EQ(port("").status().code(), StatusCode::kNotFound);
  expect_has(std::string(port("").status().message()), "mlx5_0: no port that is up has");
  made_up.healthy("mlx5_1", "eth0");
  ASSERT_TRUE(port("").ok());
  EXPECT_EQ(port("")->name, "mlx5_1 port 1");
  EXPECT_EQ(port("")->interface, "eth0");
  expect_has(std::string(port("lo").status().message()), "; mlx5_1: no port that is up has");
}

TEST(RdmaObstacles, OfThisProcess) {
  const RdmaUser user = RdmaUser::this_process();
  EXPECT_EQ(user.interfaces.count("no-such-interface"), 0u);
  EXPECT_EQ(locked_text(RdmaUser::kAllBytes), "any amount");
  EXPECT_EQ(locked_text(64 << 10), "64 KiB");
  EXPECT_EQ(locked_text(8 << 20), "8 MiB");
}

}  // namespace
}  // namespace mad
