#include "datatype_path/plan/costs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace mad {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << (Costs::kLengths - 1);

// A loop of short copies costs about so much a run beside the bytes, from L2 (perf/micro).
constexpr double kRunNs = 1.5;
constexpr double kCopyByteNs = 0.1;

std::array<double, Costs::kLengths> copies_of(double run_ns, double byte_ns) {
  std::array<double, Costs::kLengths> copies{};
  double length = 1;
  for (double& copy : copies) {
    copy = run_ns + byte_ns * length;
    length *= 2;
  }
  return copies;
}

// Both transports of UCX's, as tools/mad calibrate measured them on an EPYC of family 26.  Where
// runs are cheaper referenced than copied was found by whole messages, too: ADR 18.
Costs ucx_costs(bool tcp) {
  Costs costs;
  costs.copy_ns = copies_of(1, 0.0125);
  costs.page_ns = 250;
  costs.place_ns = 20;
  costs.message_ns = tcp ? 5300 : 200;
  costs.packet_ns = tcp ? 5200 : 90;
  costs.segment_ns = tcp ? 140 : 40;
  costs.byte_ns = tcp ? 0.19 : 0.025;
  return costs;
}

// Our own shared memory.  What the memory itself costs is as with UCX's; a message is what
// tools/mad calibrate measured on a machine that had more to do, a packet what the driver adds to
// an exchange of one line between two cores (ADR 33).
Costs shm_costs() {
  Costs costs = ucx_costs(false);
  costs.message_ns = 170;
  costs.packet_ns = 70;
  return costs;
}

// RDMA devices, of which none was measured: a line of 100 Gb/s with 1.5 us of latency, and what
// UCX's model of them says of registering (16 us and 0.06 ns a byte; uct/ib/base/ib_md.c).
Costs rdma_costs() {
  Costs costs;
  costs.copy_ns = copies_of(kRunNs, kCopyByteNs);
  costs.page_ns = 250;
  costs.message_ns = 1500;
  costs.packet_ns = 200;
  costs.segment_ns = 20;
  costs.place_ns = 20;
  costs.byte_ns = 0.08;
  costs.register_ns = 16000;
  costs.register_byte_ns = 0.06;
  return costs;
}

// The least power of two that `cheaper` is true of, and then the least length above the one before.
template <typename Cheaper>
std::size_t least_length(const Cheaper& cheaper) {
  constexpr std::size_t kFirst = 64, kLast = std::size_t{1} << 20;
  std::size_t enough = kFirst;
  while (!cheaper(static_cast<double>(enough))) {
    if (enough == kLast) return std::numeric_limits<std::size_t>::max();
    enough *= 2;
  }
  if (enough == kFirst) return kFirst;
  std::size_t too_little = enough / 2;
  while (enough - too_little > 1) {
    const std::size_t middle = too_little + (enough - too_little) / 2;
    (cheaper(static_cast<double>(middle)) ? enough : too_little) = middle;
  }
  return enough;
}

bool is_rdma(std::string_view fabric) {
  constexpr std::string_view kNames[] = {"ofi:verbs", "ucx:rc", "ucx:ud", "ucx:dc"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view name) { return fabric.substr(0, name.size()) == name; });
}

}  // namespace

double Costs::copy(double length) const {
  if (length <= 1) return copy_ns[0];
  if (length >= kLongest) return copy_ns[kLengths - 1] * (length / kLongest);
  int exponent = 0;
  const double fraction = 2 * std::frexp(length, &exponent) - 1;  // length = (1 + fraction) 2^k
  const auto k = static_cast<std::size_t>(exponent - 1);
  return copy_ns[k] + fraction * (copy_ns[k + 1] - copy_ns[k]);
}

Costs default_costs(std::string_view fabric) {
  if (is_rdma(fabric)) return rdma_costs();
  if (fabric.substr(0, 3) == "ucx") return ucx_costs(fabric == "ucx:tcp");
  if (fabric == "shm") return shm_costs();
  Costs costs;
  costs.copy_ns = copies_of(kRunNs, kCopyByteNs);
  costs.page_ns = 250;
  if (fabric == "loopback") {
    costs.message_ns = 300;
    costs.packet_ns = 200;
    costs.segment_ns = 20;
    costs.place_ns = 20;
    costs.byte_ns = kCopyByteNs;
    return costs;
  }
  costs.message_ns = 6000;  // TCP over loopback; other fabrics are like it until they are measured
  costs.packet_ns = 5000;
  costs.segment_ns = 310;
  costs.place_ns = 200;
  costs.byte_ns = 0.1;
  return costs;
}

std::size_t registered_from(const Costs& costs) {
  constexpr auto kBytes = static_cast<double>(kLongest);
  const double copied_ns = costs.copy(kBytes) / kBytes + costs.packet_ns / kLentPacketBytes;
  const double saved_ns = copied_ns - costs.register_byte_ns;  // a byte
  if (saved_ns <= 0) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(std::ceil(costs.register_ns / saved_ns));
}

RunLimits run_limits(const Costs& costs, const LinkCaps& link) {
  RunLimits limits;
  limits.send_alone =
      least_length([&](double length) { return costs.segment_ns <= costs.copy(length); });
  limits.place = least_length([&](double length) { return costs.place_ns <= costs.copy(length); });
  const auto runs_a_packet = static_cast<double>(link.max_iov) - 1;  // beside the frame
  const auto packet_bytes = static_cast<double>(std::max<std::size_t>(link.max_packet_bytes, 1));
  const double staged_bytes = std::min(packet_bytes, static_cast<double>(kStagedPacketBytes));
  limits.send = least_length([&](double length) {
    if (runs_a_packet < 1) return false;
    const double packets = std::max(1 / runs_a_packet, length / packet_bytes);
    const double copied = costs.copy(length) + costs.packet_ns * length / staged_bytes;
    return costs.segment_ns + costs.packet_ns * packets <= copied;
  });
  return limits;
}

}  // namespace mad
