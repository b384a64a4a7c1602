// Plan: how one side moves one message, decided once as a value and never revised.
//
// A Policy knows the fabric's capabilities, its costs and what the user tuned, and is otherwise
// a pure function of the layout's shape and the mode asked for.  The two sides of a message plan
// their own memory on their own; the wire is the same for all plans.
#ifndef DATATYPE_PATH_PLAN_PLAN_H_
#define DATATYPE_PATH_PLAN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "datatype_path/plan/costs.h"
#include "datatype_path/plan/prediction.h"
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

/// What users may set.
struct Tuning {
  std::size_t flush_threshold = 0;  // payload bytes prepared before a packet goes; 0: as it holds
  std::uint64_t max_blocks = UINT64_MAX;  // runs above which kAuto references nothing
  std::size_t reference_from = 0;  // bytes of a run that kAuto references; 0: where that is cheaper
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

/// How to plan on one fabric; immutable, and nothing of it depends on earlier messages.
class Policy {
 public:
  Policy(const LinkCaps& link, const Costs& costs, const Tuning& tuning);

  /// For sending `bytes` that are one run; and for receiving them.
  Plan send_run(std::uint64_t bytes) const;
  static Plan receive_run();

  /// For sending `count` elements of a layout with `shape` (of one element).  Forced modes do what
  /// they say as far as the fabric can; data that is one run stays kContiguous in all of them but
  /// kPack.
  Plan send(const Shape& shape, std::uint64_t count, Mode mode) const;

  /// For receiving: kContiguous in place, kGather in place run by run where the fabric can
  /// (unpacked as it arrives where not), kPipeline unpacked as it arrives, kPack collected first.
  Plan receive(const Shape& shape, std::uint64_t count, Mode mode) const;

  /// What the sender does with it if `plan` sends it; of kPack the staged bytes are the collected.
  SendWork work(const Shape& shape, std::uint64_t count, const Plan& plan) const;

  /// Half a round trip in nanoseconds if `plan` sends it and one run receives it.
  double predicted_ns(const Shape& shape, std::uint64_t count, const Plan& plan) const;

  const LinkCaps& link() const { return link_; }
  const Costs& costs() const { return costs_; }
  const RunLimits& limits() const { return limits_; }

 private:
  std::size_t reference_of_one_run(std::uint64_t bytes) const;
  Plan auto_send(const Shape& shape, std::uint64_t count) const;

  LinkCaps link_;
  Costs costs_;
  Tuning tuning_;
  RunLimits limits_;
};

}  // namespace mad

#endif  // DATATYPE_PATH_PLAN_PLAN_H_
