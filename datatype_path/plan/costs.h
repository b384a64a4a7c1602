// Costs: what it takes to move bytes over one fabric, as numbers.
//
// A model of one core at work: every packet, every segment of a packet's list and every run that is
// copied has its price.  The prices are measured (tools/mad calibrate) or, where nobody measured,
// default_costs(); only their proportions decide anything.
#ifndef DATATYPE_PATH_PLAN_COSTS_H_
#define DATATYPE_PATH_PLAN_COSTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "madlike/driver/driver.h"

namespace mad {

/// Nanoseconds.
struct Costs {
  /// Lengths of runs that copying is known of: 1, 2, 4, ... 64 KiB.
  static constexpr std::size_t kLengths = 17;

  double message_ns = 0;                   // half a round trip of a message without payload
  double byte_ns = 0;                      // a byte on its way through the fabric
  double packet_ns = 0;                    // one packet more
  double segment_ns = 0;                   // one segment more in the list of a packet that is sent
  double place_ns = 0;                     // one run more that is received where it belongs
  double page_ns = 0;                      // a page of memory touched for the first time
  double register_ns = 0;                  // registering memory with an RDMA device, and ending it
  double register_byte_ns = 0;             // the same, a byte of it
  std::array<double, kLengths> copy_ns{};  // copying a run of 2^k bytes

  /// Copying a run of `length` bytes; in proportion between two known lengths and beyond the last.
  double copy(double length) const;
};

/// Of a fabric that nobody measured, by its name.
Costs default_costs(std::string_view fabric);

/// Payload of a packet whose bytes are all staged, where the fabric takes so much.
inline constexpr std::size_t kStagedPacketBytes = std::size_t{64} << 10;

/// The least lengths in bytes that single runs need; SIZE_MAX: none is long enough.
struct RunLimits {
  std::size_t send_alone = 0;  // a message of one run is cheaper referenced than copied
  std::size_t send = 0;        // one of many is, though it pays its share of a packet's list
  std::size_t place = 0;       // receiving it where it belongs is cheaper than unpacking
};
/// Bytes of a write from which on registering its source is cheaper than copying it into packets of
/// kLentPacketBytes; SIZE_MAX: none is long enough.
inline constexpr std::size_t kLentPacketBytes = std::size_t{8} << 10;
std::size_t registered_from(const Costs& costs);

RunLimits run_limits(const Costs& costs, const LinkCaps& link);

}  // namespace mad

#endif  // DATATYPE_PATH_PLAN_COSTS_H_
