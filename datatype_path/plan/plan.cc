#include "datatype_path/plan/plan.h"

#include <algorithm>
#include <cstddef>

namespace mad {
namespace {

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

// What touching elements are to a packet.
Shape shape_of_run(std::uint64_t bytes) {
  Shape shape;
  if (bytes == 0) return shape;
  shape.bytes = shape.min_run = shape.max_run = bytes;
  shape.runs = 1;
  shape.histogram[static_cast<std::size_t>(63 - __builtin_clzll(bytes))] = 1;
  return shape;
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

Policy::Policy(const LinkCaps& link, const Costs& costs, const Tuning& tuning)
    : link_(link), costs_(costs), tuning_(tuning), limits_(run_limits(costs, link)) {
  if (tuning.reference_from == 0) return;
  limits_ = {tuning.reference_from, link.max_iov > 1 ? tuning.reference_from : Plan::kNever,
             tuning.reference_from};
}

// One run leaves by reference where a copy is not cheaper than a segment.
std::size_t Policy::reference_of_one_run(std::uint64_t bytes) const {
  const bool copied =
      bytes <= link_.inject_bytes || bytes < limits_.send_alone || link_.max_iov < 2;
  return copied ? Plan::kNever : 1;
}

Plan Policy::send_run(std::uint64_t bytes) const {
  const std::size_t reference = reference_of_one_run(bytes);
  std::string_view reason = "one run, referenced in place";
  if (bytes == 0) {
    reason = "no data";
  } else if (reference == Plan::kNever) {
    reason = link_.max_iov < 2 ? "one run, copied: the fabric takes one segment a packet"
                               : "one run, copied: it is short";
  }
  return {Path::kContiguous, reference, tuning_.flush_threshold, reason};
}

Plan Policy::receive_run() { return {Path::kContiguous, Plan::kNever, 0, "one run, in place"}; }

Plan Policy::send(const Shape& shape, std::uint64_t count, Mode mode) const {
  const std::uint64_t bytes = times(shape.bytes, count);
  const std::size_t flush = tuning_.flush_threshold;
  if (mode == Mode::kPack) {
    return {Path::kPack, reference_of_one_run(bytes), flush,
            "asked for: one buffer of the whole message"};
  }
  if (shape.is_one_run(count)) return send_run(bytes);
  if (mode == Mode::kAuto) return auto_send(shape, count);
  if (mode == Mode::kPipeline) {
    return {Path::kPipeline, Plan::kNever, flush, "asked for: everything staged"};
  }
  if (link_.max_iov < 2) {
    return {Path::kPipeline, Plan::kNever, flush,
            "gathering was asked for, but the fabric takes one segment a packet"};
  }
  if (mode == Mode::kGather) {
    return {Path::kGather, 1, flush, "asked for: every run referenced"};
  }
  // Where no run is long enough to pay, those that fill a packet come closest.
  return {Path::kHybrid, std::min(limits_.send, kStagedPacketBytes), flush,
          "asked for: short runs staged, long runs referenced"};
}

Plan Policy::auto_send(const Shape& shape, std::uint64_t count) const {
  Plan plan{Path::kPipeline, Plan::kNever, tuning_.flush_threshold, ""};
  if (link_.max_iov < 2) {
    plan.reason = "the fabric takes one segment a packet";
  } else if (times(shape.runs, count) > tuning_.max_blocks) {
    plan.reason = "more runs than max_blocks";
  } else if (shape.max_run < limits_.send) {
    plan.reason = "all runs are short: copying them costs less than listing them";
  } else if (shape.min_run >= limits_.send) {
    plan = {Path::kGather, 1, tuning_.flush_threshold,
            "all runs are long: listing them costs less than copying them"};
  } else {
    const Plan hybrid{Path::kHybrid, limits_.send, tuning_.flush_threshold,
                      "short runs staged, long runs referenced: cheaper than copying all"};
    plan.reason = "too few long runs: copying all costs less";
    if (predicted_ns(shape, count, hybrid) < predicted_ns(shape, count, plan)) plan = hybrid;
  }
  return plan;
}

Plan Policy::receive(const Shape& shape, std::uint64_t count, Mode mode) const {
  if (mode == Mode::kPack) {
    return {Path::kPack, Plan::kNever, 0, "asked for: collected, then unpacked"};
  }
  if (shape.is_one_run(count)) return receive_run();
  if (mode == Mode::kGather) return {Path::kGather, 1, 0, "asked for: every run in place"};
  const bool may_scatter =
      mode != Mode::kPipeline && times(shape.runs, count) <= tuning_.max_blocks;
  if (may_scatter && shape.mean_run() >= limits_.place) {
    return {Path::kGather, 1, 0, "long runs, each in place"};
  }
  return {Path::kPipeline, Plan::kNever, 0, "unpacked as it arrives"};
}

SendWork Policy::work(const Shape& shape, std::uint64_t count, const Plan& plan) const {
  const std::size_t reference = plan.path == Path::kPack ? Plan::kNever : plan.reference_from;
  if (!shape.is_one_run(count)) {
    return send_work(shape, count, reference, plan.flush_bytes, costs_, link_);
  }
  const Shape run = shape_of_run(times(shape.bytes, count));
  return send_work(run, 1, reference, plan.flush_bytes, costs_, link_);
}

double Policy::predicted_ns(const Shape& shape, std::uint64_t count, const Plan& plan) const {
  const SendWork work = this->work(shape, count, plan);
  double ns = mad::predicted_ns(work, costs_);
  if (plan.path == Path::kPack) {
    constexpr double kPageBytes = 4096;
    ns += costs_.page_ns * static_cast<double>(work.bytes) / kPageBytes;
  }
  return ns;
}

}  // namespace mad
