// UcxSettings: what we set of UCX's options, in code, and why.
#ifndef MADLIKE_DRIVER_UCX_SETTINGS_H_
#define MADLIKE_DRIVER_UCX_SETTINGS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "madlike/driver/ucx/lane.h"
#include "madlike/driver/ucx/offer.h"

namespace mad {

/// Options of an RDMA device's lanes, which fit 8 MiB of locked memory, a common limit, with more
/// than half of it left to the program.
struct RdmaBuffers {
  static constexpr std::size_t kReceives = 192;  // posted
  /// More, which a receiver may keep.  With the others they are just below 2 MiB: UCX takes memory
  /// for them in pages of 2 MiB.
  static constexpr std::size_t kKept = 48;
  static constexpr std::size_t kSends = 64;   // of all connections; so many are copied at once
  static constexpr std::size_t kWindow = 32;  // messages on their way to one peer
};

/// Segments of a lane of shared memory: what is on its way, one in hand, and what may be kept.
inline constexpr std::size_t kPosixBuffers = UcxLane::kPlaces + 1 + UcxLane::kMostKept;

struct UcxSetting {
  std::string name;  // of the option, as UCX finds it in its tables
  std::string value;
};

/// What both sides must have alike, and what our bounds rely on; for RDMA devices, unless the
/// environment says otherwise.  `segment_bytes` is for shared memory.
std::vector<UcxSetting> interface_settings(UcxTransport transport, const std::string& uct_name,
                                           std::size_t segment_bytes);
/// Of the memory domain of an RDMA device; the index of its address is UCX's choice if negative.
std::vector<UcxSetting> rdma_domain_settings(int gid_index);

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_SETTINGS_H_
