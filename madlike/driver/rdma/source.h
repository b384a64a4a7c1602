// RdmaSource: the RDMA device behind a network interface, and which of its addresses is that of the
// interface.
#ifndef MADLIKE_DRIVER_RDMA_SOURCE_H_
#define MADLIKE_DRIVER_RDMA_SOURCE_H_

#include <optional>
#include <string>

namespace mad {

struct RdmaSource {
  std::string name;    // of device and port, as UCX has it: "mlx5_0:1"
  int gid_index = -1;  // -1: not of RoCE, where it matters
};

/// Of several, RoCE v2 with an IPv4 address before others.  Empty: the interface is none of an RDMA
/// device.  `root` as in rdma_devices().
std::optional<RdmaSource> rdma_source(const std::string& interface, const std::string& root = "");

}  // namespace mad

#endif  // MADLIKE_DRIVER_RDMA_SOURCE_H_
