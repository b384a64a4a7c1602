#include "datatype_path/kernels/body_steps.h"

#include <algorithm>
#include <array>

namespace mad {
namespace {

struct Move {
  std::uint8_t size;  // its place in the kernel table
  std::int64_t layout;
  std::int64_t stream;
};

// The step of the first `count` moves; without kernels if there is none for their sizes.
TripsStep step_of(const KernelTable& table, const Move* moves, std::size_t count,
                  std::uint64_t body_bytes) {
  TripsStep step;
  step.body_bytes = body_bytes;
  std::array<std::uint8_t, TripsStep::kMoves> sizes{};
  for (std::size_t i = 0; i < count; ++i) {
    sizes[i] = moves[i].size;
    step.layout[i] = moves[i].layout;
    step.stream[i] = moves[i].stream;
  }
  for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
    step.kernels[static_cast<std::size_t>(way)] =
        find_trips_kernel(table, way, sizes.data(), count);
  }
  return step;
}

}  // namespace

void append_steps(const KernelTable& table, const std::vector<BodyRun>& runs,
                  std::vector<TripsStep>* out) {
  std::vector<Move> moves;
  moves.reserve(2 * runs.size());
  std::uint64_t body_bytes = 0;
  for (const BodyRun& run : runs) body_bytes += run.length;
  std::int64_t at = 0;
  for (const BodyRun& run : runs) {
    if (run.length > kLongestShortRun) {
      TripsStep step;
      step.kernels = table.long_run;
      step.layout[0] = run.offset;
      step.stream[0] = at;
      step.body_bytes = body_bytes;
      step.length = run.length;
      out->push_back(step);
    } else {
      const RunMoves two = moves_of_run(run.length);
      moves.push_back({two.first, run.offset, at});
      if (two.second != 0)
        moves.push_back({two.second, run.offset + two.second_at, at + two.second_at});
    }
    at += static_cast<std::int64_t>(run.length);
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const Move& a, const Move& b) { return a.size > b.size; });
  for (std::size_t i = 0; i < moves.size();) {
    std::size_t count = std::min(TripsStep::kMoves, moves.size() - i);
    TripsStep step = step_of(table, &moves[i], count, body_bytes);
    while (step.kernels[0] == nullptr) step = step_of(table, &moves[i], --count, body_bytes);
    out->push_back(step);
    i += count;
  }
}

}  // namespace mad
