// RdmaDevice: the RDMA devices of this host, as Linux lists them.  Only files are read: neither
// libfabric nor UCX nor the verbs library is asked, so that a host without a device pays for
// opening one directory.
#ifndef MADLIKE_DRIVER_RDMA_DEVICES_H_
#define MADLIKE_DRIVER_RDMA_DEVICES_H_

#include <string>
#include <vector>

namespace mad {

/// One of a port's addresses (GIDs) that is in use.
struct RdmaAddress {
  int index = 0;
  std::string gid;        // "0000:0000:0000:0000:0000:ffff:0a4d:0001"
  std::string interface;  // the network interface it is of; empty: none, as on InfiniBand
  std::string type;       // "RoCE v2", "IB/RoCE v1"

  bool is_ipv4() const;
};

struct RdmaPort {
  static constexpr const char* kActive = "ACTIVE";

  std::string number;      // from "1" on
  std::string state;       // kActive, "DOWN", "INIT", ...; empty: not told
  std::string link_layer;  // "InfiniBand" or "Ethernet", which is RoCE or iWARP
  std::string rate;        // "100 Gb/sec (4X EDR)"
  std::vector<RdmaAddress> addresses;

  bool active() const { return state == kActive; }
};

struct RdmaDevice {
  std::string name;                     // "mlx5_0"
  std::string firmware;                 // empty: not told
  std::string node;                     // in /dev/infiniband, "uverbs0"; empty: none
  std::vector<std::string> interfaces;  // network interfaces of the same hardware
  std::vector<RdmaPort> ports;

  /// Those of the hardware and those of the port's addresses, each once, in order.
  std::vector<std::string> interfaces_of(const RdmaPort& port) const;
};

/// By name; empty: there are none.  `root` stands before /sys, for tests.
std::vector<RdmaDevice> rdma_devices(const std::string& root = "");

/// The names in a directory, in order, without those that begin with a dot; empty: none, or it is
/// not there.
std::vector<std::string> names_in(const std::string& directory);

}  // namespace mad

#endif  // MADLIKE_DRIVER_RDMA_DEVICES_H_
