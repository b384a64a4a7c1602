#include "perf/calibrate/measure.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

#include "netmod/abi/mad.h"
#include "perf/calibrate/link.h"

namespace calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastNs = 0.1;  // of a thing that noise says costs nothing
constexpr std::uint64_t kWhole = kMostBytes;
constexpr std::uint64_t kRow = 4096;         // a run that may be referenced
constexpr std::uint64_t kShortRow = 256;     // one that is copied
constexpr std::uint64_t kSmallFlush = 8192;  // packets of so much payload

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

Layout contiguous(std::uint64_t bytes) { return {1, bytes}; }
Layout rows(std::uint64_t row_bytes) { return {kWhole / row_bytes, row_bytes}; }

// Packing as staging does it, in pieces of a packet, from memory that is in a cache.
double copy_of_run(std::uint64_t row_bytes, int rounds) {
  constexpr std::uint64_t kPacked = std::uint64_t{256} << 10;
  const std::uint64_t count = kPacked / row_bytes;
  mad_type* row = nullptr;
  mad_type* type = nullptr;
  const auto stride = static_cast<std::int64_t>(2 * row_bytes);
  if (mad_type_bytes(row_bytes, &row) < 0 || mad_type_vector(count, 1, stride, row, &type) < 0 ||
      mad_type_commit(type) < 0) {
    throw std::runtime_error(mad_last_error());
  }
  const std::vector<std::byte> memory(2 * kPacked, std::byte{1});
  std::vector<std::byte> packet(mad::kStagedPacketBytes);
  double least = 0;
  for (int round = 0; round <= rounds; ++round) {
    const auto start = Clock::now();
    for (std::uint64_t at = 0; at < kPacked; at += packet.size()) {
      std::size_t moved = 0;
      (void)mad_type_pack(memory.data(), 1, type, at, packet.data(), packet.size(), &moved);
    }
    const double elapsed = nanoseconds_since(start);
    if (round <= 1 || elapsed < least) least = elapsed;  // the first one warms up
  }
  mad_type_release(type);
  mad_type_release(row);
  return std::max(least / static_cast<double>(count), kLeastNs);
}

double first_touch_of_page() {
  constexpr std::size_t kBytes = std::size_t{16} << 20, kPage = 4096;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory to touch");
  auto* const bytes = static_cast<volatile char*>(memory);
  const auto start = Clock::now();
  for (std::size_t at = 0; at < kBytes; at += kPage) bytes[at] = 1;
  const double elapsed = nanoseconds_since(start);
  munmap(memory, kBytes);
  return elapsed / (static_cast<double>(kBytes) / kPage);
}

}  // namespace

double price(double dearer_ns, double cheaper_ns, double things, double usual) {
  constexpr double kLeastShare = 0.1;
  if (things <= 0) return usual;
  return std::max(usual * kLeastShare, (dearer_ns - cheaper_ns) / things);
}

Measurement measure(const std::string& fabric, const std::string& interface, int rounds,
                    const Progress& progress) {
  Measurement result;
  mad::Costs& costs = result.costs;
  progress("copying runs of 1 byte to 64 KiB");
  for (std::size_t k = 0; k < mad::Costs::kLengths; ++k) {
    costs.copy_ns[k] = copy_of_run(std::uint64_t{1} << k, rounds);
  }
  costs.page_ns = std::max(first_touch_of_page(), kLeastNs);

  progress("messages of one run");
  mad::Costs usual;
  Timing whole, staged;
  {
    Link link(fabric, interface, 0);
    result.fabric = link.fabric();
    usual = mad::default_costs(result.fabric);
    costs.message_ns = std::max(link.empty_ns(), kLeastNs);
    whole = link.time({contiguous(kWhole), contiguous(kWhole)}, rounds);
    const Timing quarter = link.time({contiguous(kWhole / 4), contiguous(kWhole / 4)}, rounds);
    costs.byte_ns = price(whole.one_way_ns, quarter.one_way_ns, kWhole - kWhole / 4, usual.byte_ns);
    progress("many runs, copied");
    staged = link.time({rows(kShortRow), contiguous(kWhole), MAD_PATH_PIPELINE}, rounds);
  }
  progress("small packets");
  {
    Link link(fabric, interface, kSmallFlush);
    const Timing small =
        link.time({rows(kShortRow), contiguous(kWhole), MAD_PATH_PIPELINE}, rounds);
    costs.packet_ns =
        price(small.one_way_ns, staged.one_way_ns, small.packets - staged.packets, usual.packet_ns);
  }
  progress("many runs, referenced and received in place");
  Link link(fabric, interface, 0);
  whole = link.time({contiguous(kWhole), contiguous(kWhole)}, rounds);
  const Timing gathered = link.time({rows(kRow), contiguous(kWhole), MAD_PATH_GATHER}, rounds);
  const double more_packets = std::max(gathered.packets - whole.packets, 0.0);
  costs.segment_ns = price(gathered.one_way_ns - more_packets * costs.packet_ns, whole.one_way_ns,
                           static_cast<double>(kWhole / kRow), usual.segment_ns);
  const Timing placed = link.time({contiguous(kWhole), rows(kRow), MAD_PATH_GATHER}, rounds);
  costs.place_ns = price(placed.one_way_ns, whole.one_way_ns, static_cast<double>(kWhole / kRow),
                         usual.place_ns);
  return result;
}

}  // namespace calibrate
