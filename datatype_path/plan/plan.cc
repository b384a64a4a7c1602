#include "datatype_path/plan/plan.h"

#include <algorithm>

namespace mad {
namespace {

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

bool one_run(const Shape& shape, std::uint64_t count) {
  return shape.contiguous || count == 0 || (count == 1 && shape.runs <= 1);
}

// Whether most bytes stand in runs of at least `limit` bytes.  The histogram only knows powers of
// two, so that the bytes it gives are the least possible.
bool mostly_long_runs(const Shape& shape, std::size_t limit) {
  if (shape.mean_run() >= limit) return true;
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < shape.histogram.size(); ++k) {
    const std::uint64_t length = std::uint64_t{1} << k;
    if (length >= limit) bytes += shape.histogram[k] * length;
  }
  return bytes >= shape.bytes / 2;
}

// One run leaves by reference where a copy is not cheaper than a segment.
std::size_t reference_of_one_run(std::uint64_t bytes, const DriverCaps& caps,
                                 const Tuning& tuning) {
  const std::size_t small = std::max(caps.inject_bytes, tuning.min_reference - 1);
  return bytes <= small || caps.max_iov < 2 ? Plan::kNever : 1;
}

Plan auto_plan(const Shape& shape, std::uint64_t count, const DriverCaps& caps,
               const Tuning& tuning) {
  Plan plan{Path::kPipeline, Plan::kNever, tuning.flush_threshold, ""};
  if (caps.max_iov <= 2) {
    plan.reason = "too few segments a packet to gather";
  } else if (times(shape.runs, count) > tuning.max_blocks) {
    plan.reason = "more runs than max_blocks";
  } else if (shape.max_run < tuning.min_reference) {
    plan.reason = "all runs are short";
  } else if (!mostly_long_runs(shape, tuning.min_reference)) {
    plan.reason = "most bytes are in short runs";
  } else if (shape.min_run >= tuning.min_reference) {
    plan = {Path::kGather, 1, tuning.flush_threshold, "all runs are long"};
  } else {
    plan = {Path::kHybrid, tuning.min_reference, tuning.flush_threshold,
            "short runs staged, long runs referenced"};
  }
  return plan;
}

}  // namespace

std::string_view to_string(Path path) {
  switch (path) {
    case Path::kContiguous:
      return "contiguous";
    case Path::kGather:
      return "gather";
    case Path::kHybrid:
      return "hybrid";
    case Path::kPipeline:
      return "pipeline";
    case Path::kPack:
      return "pack";
  }
  return "unknown";
}

std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::kAuto:
      return "auto";
    case Mode::kGather:
      return "gather";
    case Mode::kHybrid:
      return "hybrid";
    case Mode::kPipeline:
      return "pipeline";
    case Mode::kPack:
      return "pack";
  }
  return "unknown";
}

Plan run_send_plan(std::uint64_t bytes, const DriverCaps& caps, const Tuning& tuning) {
  const std::size_t reference = reference_of_one_run(bytes, caps, tuning);
  std::string_view reason = "one run, referenced in place";
  if (bytes == 0) {
    reason = "no data";
  } else if (reference == Plan::kNever) {
    reason = caps.max_iov < 2 ? "one run, copied: the fabric takes one segment a packet"
                              : "one run, copied: it is short";
  }
  return {Path::kContiguous, reference, tuning.flush_threshold, reason};
}

Plan run_receive_plan() { return {Path::kContiguous, Plan::kNever, 0, "one run, in place"}; }

Plan choose_send_plan(const Shape& shape, std::uint64_t count, const DriverCaps& caps,
                      const Tuning& tuning, Mode mode) {
  const std::uint64_t bytes = times(shape.bytes, count);
  if (mode == Mode::kPack) {
    return {Path::kPack, reference_of_one_run(bytes, caps, tuning), tuning.flush_threshold,
            "asked for: one buffer of the whole message"};
  }
  if (one_run(shape, count)) return run_send_plan(bytes, caps, tuning);
  if (mode == Mode::kAuto) return auto_plan(shape, count, caps, tuning);
  const Plan staged{Path::kPipeline, Plan::kNever, tuning.flush_threshold,
                    "asked for: everything staged"};
  if (mode == Mode::kPipeline) return staged;
  if (caps.max_iov < 2) {
    Plan plan = staged;
    plan.reason = "gathering was asked for, but the fabric takes one segment a packet";
    return plan;
  }
  if (mode == Mode::kGather) {
    return {Path::kGather, 1, tuning.flush_threshold, "asked for: every run referenced"};
  }
  return {Path::kHybrid, tuning.min_reference, tuning.flush_threshold,
          "asked for: short runs staged, long runs referenced"};
}

Plan choose_receive_plan(const Shape& shape, std::uint64_t count, const Tuning& tuning, Mode mode) {
  if (mode == Mode::kPack) {
    return {Path::kPack, Plan::kNever, 0, "asked for: collected, then unpacked"};
  }
  if (one_run(shape, count)) return run_receive_plan();
  if (mode == Mode::kGather) return {Path::kGather, 1, 0, "asked for: every run in place"};
  const bool may_scatter = mode != Mode::kPipeline && times(shape.runs, count) <= tuning.max_blocks;
  if (may_scatter && shape.mean_run() >= tuning.min_reference) {
    return {Path::kGather, 1, 0, "long runs, each in place"};
  }
  return {Path::kPipeline, Plan::kNever, 0, "unpacked as it arrives"};
}

}  // namespace mad
