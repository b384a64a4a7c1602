#include "perf/info/rdma.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/made_up_devices.h"

namespace info {
namespace {

using mad::test::MadeUpDevices;

const mad::RdmaUser kUser{mad::RdmaUser::kAllBytes, {"eth0"}};

TEST(InfoOfRdma, no_device_is_said) {
  const MadeUpDevices made_up;
  EXPECT_EQ(rdma_text(kUser, made_up.root),
            "RDMA devices: none (nothing in /sys/class/infiniband)\n");
}

TEST(InfoOfRdma, a_device_with_its_ports) {
  const MadeUpDevices made_up;
  made_up.healthy("mlx5_0", "eth0");
  made_up.file("/sys/class/infiniband/mlx5_0/fw_ver", "16.35.2000");
  made_up.file("/etc/libibverbs.d/mlx5.driver", "driver mlx5");
  EXPECT_EQ(rdma_text(kUser, made_up.root),
            "RDMA device mlx5_0: firmware 16.35.2000, /dev/infiniband/uverbs0\n"
            "  port 1: ACTIVE, Ethernet, 100 Gb/sec (4X EDR), eth0\n"
            "    address 1: 0000:0000:0000:0000:0000:ffff:0a4d:0001, RoCE v2, eth0\n"
            "  the verbs library has drivers for: mlx5\n"
            "  this process may lock any amount of memory\n");
}

TEST(InfoOfRdma, what_is_in_the_way) {
  const MadeUpDevices made_up;
  made_up.port("hca0/ports/1", "1: DOWN", "InfiniBand");
  for (int index = 0; index < 6; ++index) {
    made_up.address("hca0/ports/1", index, "", "IB/RoCE v1", MadeUpDevices::kLocal);
  }
  const std::string text = rdma_text({65536, {}}, made_up.root);
  for (const char* line :
       {"  port 1: DOWN, InfiniBand, ", "    and 2 addresses more\n",
        "  in the way: no port is up: port 1 is DOWN\n",
        "  in the way: it has no node in /dev/infiniband: ",
        "  in the way: /dev/infiniband/rdma_cm is missing: ",
        "  in the way: this process may lock 64 KiB of memory, and needs 8 MiB: ",
        "  the verbs library has no driver in /etc/libibverbs.d: ",
        "  this process may lock 64 KiB of memory\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

}  // namespace
}  // namespace info
