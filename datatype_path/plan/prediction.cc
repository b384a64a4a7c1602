#include "datatype_path/plan/prediction.h"

#include <algorithm>
#include <cmath>

namespace mad {
namespace {

// Copied and referenced runs, and the bytes in them, of one element.
struct Split {
  double copied_runs = 0;
  double copied_bytes = 0;
  double referenced_runs = 0;
  double copy_ns = 0;
};

// By how much the runs of a shape are longer than their histogram's powers of two, on average.
double stretch(const Shape& shape) {
  double least = 0;
  for (std::size_t k = 0; k < shape.histogram.size(); ++k) {
    if (shape.histogram[k] == 0) continue;
    least += std::ldexp(static_cast<double>(shape.histogram[k]), static_cast<int>(k));
  }
  return least == 0 ? 1 : static_cast<double>(shape.bytes) / least;
}

Split split_of(const Shape& shape, std::size_t reference_from, const Costs& costs) {
  Split split;
  const double longer = stretch(shape);
  for (std::size_t k = 0; k < shape.histogram.size(); ++k) {
    if (shape.histogram[k] == 0) continue;
    const auto runs = static_cast<double>(shape.histogram[k]);
    const double length =
        std::clamp(std::ldexp(longer, static_cast<int>(k)), static_cast<double>(shape.min_run),
                   static_cast<double>(shape.max_run));
    if (length >= static_cast<double>(reference_from)) {
      split.referenced_runs += runs;
    } else {
      split.copied_runs += runs;
      split.copied_bytes += runs * length;
      split.copy_ns += runs * costs.copy(length);
    }
  }
  return split;
}

double divided_up(double whole, double part) { return std::ceil(whole / std::max(part, 1.0)); }

std::uint64_t whole_number(double value) {
  constexpr double kMost = 9e18;  // of 64 bits
  return static_cast<std::uint64_t>(std::clamp(value, 0.0, kMost));
}

}  // namespace

SendWork send_work(const Shape& shape, std::uint64_t count, std::size_t reference_from,
                   std::size_t flush_bytes, const Costs& costs, const LinkCaps& link) {
  const auto elements = static_cast<double>(count);
  const Split split = split_of(shape, reference_from, costs);
  const double bytes = elements * static_cast<double>(shape.bytes);
  const double staged =
      split.referenced_runs == 0 ? bytes : std::min(bytes, elements * split.copied_bytes);
  // Between two referenced runs there is at most one staged segment.
  const double staged_segments = elements * std::min(split.copied_runs, split.referenced_runs);
  const double segments = elements * split.referenced_runs + staged_segments;
  const double lists = divided_up(segments, static_cast<double>(link.max_iov) - 1);
  double packets = std::max({1.0, lists, divided_up(staged, kStagedPacketBytes),
                             divided_up(bytes, static_cast<double>(link.max_packet_bytes))});
  if (flush_bytes != 0)
    packets = std::max(packets, divided_up(bytes, static_cast<double>(flush_bytes)));
  return {whole_number(bytes), whole_number(staged), whole_number(segments), whole_number(packets),
          elements * split.copy_ns};
}

double predicted_ns(const SendWork& work, const Costs& costs) {
  const auto more_packets =
      static_cast<double>(work.packets - std::min<std::uint64_t>(work.packets, 1));
  return costs.message_ns + costs.byte_ns * static_cast<double>(work.bytes) +
         costs.packet_ns * more_packets + costs.segment_ns * static_cast<double>(work.segments) +
         work.copy_ns;
}

}  // namespace mad
