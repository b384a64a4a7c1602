// Plan: how one side moves one message, decided once as a value and never revised.
//
// choose_send_plan() and choose_receive_plan() are pure functions of the layout's shape, the
// fabric's capabilities, the tuning and the mode the user asked for.  The two sides of a message
// plan their own memory on their own; the wire is the same for all plans.
#ifndef DATATYPE_PATH_PLAN_PLAN_H_
#define DATATYPE_PATH_PLAN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "datatype_path/program/shape.h"
#include "madlike/driver/driver.h"

namespace mad {

/// What is done.
enum class Path {
  kContiguous,  // one run: no layout to walk
  kGather,      // every run is referenced in place, over as many packets as the fabric needs
  kHybrid,      // short runs are staged together, long ones referenced
  kPipeline,    // everything is staged (or unpacked as it arrives), chunk by chunk
  kPack,        // one buffer of the whole message
};

/// What the user asked for.
enum class Mode { kAuto, kGather, kHybrid, kPipeline, kPack };

std::string_view to_string(Path path);
std::string_view to_string(Mode mode);

/// What users may set.  Bytes, except blocks.
struct Tuning {
  std::size_t flush_threshold = 0;  // payload prepared before a packet goes; 0: as much as it holds
  std::uint64_t max_blocks = std::uint64_t{1} << 20;  // runs above which kAuto references nothing
  /// Runs at least this long are cheaper referenced than copied.  On one TCP connection over
  /// loopback lists of segments won from 1-4 KiB a block on, chunked staging below
  /// (docs/architecture.md).
  std::size_t min_reference = 2048;
};

struct Plan {
  static constexpr std::size_t kNever = SIZE_MAX;

  Path path = Path::kContiguous;
  /// Runs of at least so many bytes are referenced; kNever: none, 1: all.
  std::size_t reference_from = kNever;
  /// Payload at which a packet goes; 0: as much as it holds.
  std::size_t flush_bytes = 0;
  /// Why, in words; static.
  std::string_view reason;
};

/// For sending `bytes` that are one run; and for receiving them.
Plan run_send_plan(std::uint64_t bytes, const DriverCaps& caps, const Tuning& tuning);
Plan run_receive_plan();

/// For sending `count` elements of a layout with `shape` (of one element).  Forced modes do what
/// they say as far as the fabric can; data that is one run stays kContiguous in all of them but
/// kPack.
Plan choose_send_plan(const Shape& shape, std::uint64_t count, const DriverCaps& caps,
                      const Tuning& tuning, Mode mode);

/// For receiving: kContiguous in place, kGather in place run by run where the fabric can (unpacked
/// as it arrives where not), kPipeline unpacked as it arrives, kPack collected first.
Plan choose_receive_plan(const Shape& shape, std::uint64_t count, const Tuning& tuning, Mode mode);

}  // namespace mad

#endif  // DATATYPE_PATH_PLAN_PLAN_H_
