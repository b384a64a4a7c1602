// RdmaDevice: the RDMA device behind a network interface, and which of its addresses is that of the
// interface, as Linux says in /sys/class/infiniband.
#ifndef MADLIKE_DRIVER_UCX_RDMA_DEVICE_H_
#define MADLIKE_DRIVER_UCX_RDMA_DEVICE_H_

#include <optional>
#include <string>

namespace mad {

struct RdmaDevice {
  std::string name;    // of device and port, as UCX has it: "mlx5_0:1"
  int gid_index = -1;  // -1: not of RoCE, where it matters
};

/// Of several, RoCE v2 with an IPv4 address before others.  Empty: the interface is none of an RDMA
/// device.  `root` is where the devices are listed.
std::optional<RdmaDevice> rdma_device_of(const std::string& interface,
                                         const std::string& root = "/sys/class/infiniband");

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_RDMA_DEVICE_H_
