#include "madlike/message/window.h"

#include <algorithm>
#include <array>
#include <limits>

namespace mad {
namespace {

constexpr std::size_t kListed = 32;  // runs looked at together

}  // namespace

Window::Place Window::place(std::uint64_t offset) const {
  if (run == 0) return {offset, std::numeric_limits<std::uint64_t>::max()};
  const std::uint64_t in_runs = offset + lead;
  const std::uint64_t in_run = in_runs % run;
  return {in_runs / run * stride + in_run - lead, run - in_run};
}

bool Window::valid() const {
  return run == 0 ? stride == 0 && lead == 0 : stride >= run && lead < run;
}

std::optional<StridedMemory> strided_memory(ScatteredMemory& memory, std::uint64_t first,
                                            std::uint64_t size, std::uint64_t least_run) {
  std::array<Segment, kListed> runs;
  if (size == 0) return {};
  StridedMemory out;
  Window& window = out.window;
  std::uintptr_t expected = 0;  // start of the next run
  for (std::uint64_t done = 0; done < size;) {
    const std::size_t count = memory.runs(first + done, size - done, runs.data(), runs.size());
    if (count == 0) return {};
    std::size_t next = 0;
    if (done == 0) {
      if (count < 2) return {};
      // The second is whole, or it is the last one and either may be cut.
      window.run = count > 2 ? runs[1].size : std::max(runs[0].size, runs[1].size);
      if (window.run < least_run || runs[0].size > window.run) return {};
      window.lead = window.run - runs[0].size;
      const auto start = reinterpret_cast<std::uintptr_t>(runs[0].data) - window.lead;
      const auto second = reinterpret_cast<std::uintptr_t>(runs[1].data);
      if (second < start || second - start < window.run) return {};
      window.stride = second - start;
      expected = second;
      done = runs[0].size;
      next = 1;
      out.span = {runs[0].data, 0};
    }
    for (; next < count; ++next) {
      const Segment& run = runs[next];
      done += run.size;
      const bool whole = done < size ? run.size == window.run : run.size <= window.run;
      if (!whole || reinterpret_cast<std::uintptr_t>(run.data) != expected) return {};
      expected += window.stride;
      out.span.size = static_cast<std::size_t>(run.end() - out.span.begin());
    }
  }
  return out;
}

}  // namespace mad
