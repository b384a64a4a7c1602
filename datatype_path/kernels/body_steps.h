// How whole trips of a loop over short runs are copied: kernel steps, chosen once from the runs.
#ifndef DATATYPE_PATH_KERNELS_BODY_STEPS_H_
#define DATATYPE_PATH_KERNELS_BODY_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datatype_path/kernels/kernels.h"

namespace mad {

/// One run of a body: `length` (> 0) bytes, `offset` from the trip's start.
struct BodyRun {
  std::int64_t offset;
  std::uint64_t length;
};

/// Appends the steps that copy one trip's runs, which follow one another in the stream.
void append_steps(const KernelTable& table, const std::vector<BodyRun>& runs,
                  std::vector<TripsStep>* out);

/// All `steps` for `trips` trips, `trips_at_once` of them by each step before the next one's turn.
inline void copy_trips(const TripsStep* steps, std::size_t count, std::uint64_t trips_at_once,
                       Direction direction, std::byte* stream, std::uint64_t layout,
                       std::int64_t stride, std::uint64_t trips) {
  const auto way = static_cast<std::size_t>(direction);
  if (count == 1) return steps->kernels[way](*steps, stream, layout, stride, trips);
  while (trips > 0) {
    const std::uint64_t n = trips < trips_at_once ? trips : trips_at_once;
    for (std::size_t i = 0; i < count; ++i) {
      steps[i].kernels[way](steps[i], stream, layout, stride, n);
    }
    stream += n * steps->body_bytes;
    layout += n * static_cast<std::uint64_t>(stride);
    trips -= n;
  }
}

}  // namespace mad

#endif  // DATATYPE_PATH_KERNELS_BODY_STEPS_H_
