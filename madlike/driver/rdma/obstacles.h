// What keeps a process from using an RDMA device, found out without using it: its ports, the
// network interfaces behind them, the files that the kernel is asked through, and how much memory
// may be locked.
#ifndef MADLIKE_DRIVER_RDMA_OBSTACLES_H_
#define MADLIKE_DRIVER_RDMA_OBSTACLES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/rdma/devices.h"

namespace mad {

/// What a process has that wants to use a device.
struct RdmaUser {
  /// Bytes that an engine on a device locks, and those of its self-test besides, with room for what
  /// libraries lock.
  static constexpr std::uint64_t kNeededBytes = 8 << 20;
  static constexpr std::uint64_t kAllBytes = UINT64_MAX;

  std::uint64_t locked_bytes = kAllBytes;  // that it may lock
  std::set<std::string> interfaces;        // network interfaces with an IP address

  static RdmaUser this_process();
};

/// Bytes that this process may lock in memory; RdmaUser::kAllBytes: any number.
std::uint64_t lockable_bytes();
/// Bytes as people write them: "64 KiB", "8 MiB", "any amount".
std::string locked_text(std::uint64_t bytes);

/// Why connections over the device are impossible, sentences without a full stop; empty: nothing is
/// known that is in the way.  Only by the network interface `interface`, unless it is empty.
/// `root` stands before /sys and /dev, for tests.
std::vector<std::string> rdma_obstacles(const RdmaDevice& device, const RdmaUser& user,
                                        const std::string& interface = "",
                                        const std::string& root = "");

/// A port that nothing is known to be in the way of.
struct UsableRdmaPort {
  std::string name;       // with the device's: "mlx5_0 port 1"
  std::string interface;  // a network interface of it that has an IP address
};

/// The first of these.  kNotFound: there is none, and the sentence says why.
Result<UsableRdmaPort> usable_rdma_port(const std::vector<RdmaDevice>& devices,
                                        const RdmaUser& user, const std::string& interface = "",
                                        const std::string& root = "");

}  // namespace mad

#endif  // MADLIKE_DRIVER_RDMA_OBSTACLES_H_
