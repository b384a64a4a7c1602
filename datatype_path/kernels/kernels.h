// Copy kernels: many short runs between the packed stream and a layout, in one call.
//
// A kernel is chosen when a type is compiled, not when a run is met.  Every run of up to 128 bytes
// is one or two moves of a power of two, which overlap where its length is none; a kernel makes up
// to four moves a trip, and there is one for each combination of sizes that structures have.
//
// Places in the layout are integers: those between the runs, and one past the last, need not lie in
// any object.  A kernel touches the runs' bytes and nothing else.
#ifndef DATATYPE_PATH_KERNELS_KERNELS_H_
#define DATATYPE_PATH_KERNELS_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace mad {

/// Between the packed stream and the layout.
enum class Direction { kPack, kUnpack };

/// Runs longer than this are copied one by one (copy_run.h, copy_any()).
constexpr std::uint64_t kLongestShortRun = 128;

struct TripsStep;
/// The step's moves for `trips` trips: `stride` bytes of layout and `step.body_bytes` of stream
/// from one to the next.  An unpacking kernel only reads the stream.
using TripsKernel = void (*)(const TripsStep& step, std::byte* stream, std::uint64_t layout,
                             std::int64_t stride, std::uint64_t trips);

/// What one kernel call does of each trip of a loop's body.
struct TripsStep {
  static constexpr std::size_t kMoves = 4;

  std::array<TripsKernel, 2> kernels{};  // by Direction
  std::array<std::int64_t, kMoves> layout{};
  std::array<std::int64_t, kMoves> stream{};
  std::uint64_t body_bytes = 0;
  std::uint64_t length = 0;  // of the run, if it is a long one
};

/// `count` runs of `length` bytes, one after the other at `stream`, the i-th `offsets[i]` bytes
/// from `layout`; offsets are int32 or int64, as the kernel was chosen for.
using ListKernel = void (*)(std::byte* stream, std::uint64_t layout, const void* offsets,
                            std::uint64_t count, std::uint64_t length);

/// A chunk of a list of runs of different lengths: kRuns that follow one another in the stream,
/// classed by length - 1 byte, 2 or 3, 4 to 7, ... 64 to 128, longer ones.
struct RunChunk {
  static constexpr std::size_t kRuns = 64;
  static constexpr std::size_t kClasses = 8;

  std::array<std::uint8_t, kClasses> count{};  // runs of each class
  std::array<std::uint8_t, kRuns> order{};     // their places in the chunk, class after class
};

/// Copies a chunk.  Its run i is the `ends[i + 1] - ends[i]` bytes that stand `ends[i]` bytes from
/// `stream` (an address: the list's first run, which is in no chunk, may be in another buffer) and
/// `offsets[i]` from `layout`.
using ChunkKernel = void (*)(const RunChunk& chunk, std::uint64_t stream, std::uint64_t layout,
                             const std::int32_t* offsets, const std::uint32_t* ends);

/// Two loops, one in the other, over runs between two layouts.
struct Grid {
  struct Loop {
    std::uint64_t trips = 1;
    std::int64_t from = 0;  // bytes of either layout from trip to trip
    std::int64_t to = 0;
  };
  Loop inner;
  Loop outer;
};
/// Copies the grid's runs, of `length` bytes each, from the layout at `from` to the one at `to`.
using GridKernel = void (*)(const Grid& grid, std::uint64_t from, std::uint64_t to,
                            std::uint64_t length);

/// The kernels of one instruction set.
struct KernelTable {
  static constexpr std::size_t kSizes = 8;       // no move, 1, 2, 4, 8, 16, 32, 64 bytes
  static constexpr std::size_t kSmallSizes = 5;  // up to 8 bytes

  const char* name;
  // By direction and the moves' sizes, the largest first.  One or two moves of any sizes, three of
  // 1, 4, 8 or 16 bytes, four of 1, 4 or 8; null for others.
  std::array<std::array<TripsKernel, kSizes * kSizes * kSizes>, 2> trips;
  std::array<std::array<TripsKernel, kSmallSizes * kSmallSizes * kSmallSizes * kSmallSizes>, 2>
      trips_of_four;
  std::array<TripsKernel, 2> long_run;
  // By direction and the moves' sizes: a * kSizes + b; of long runs where a is 0.
  std::array<std::array<ListKernel, kSizes * kSizes>, 2> narrow_lists;  // offsets are int32
  std::array<std::array<ListKernel, kSizes * kSizes>, 2> wide_lists;    // offsets are int64
  std::array<ChunkKernel, 2> chunk;
  std::array<GridKernel, kSizes * kSizes> grids;  // as lists
};

const KernelTable& portable_kernels();
/// Null where the processor or the build has none.
const KernelTable* avx2_kernels();
const KernelTable* avx512_kernels();
/// The best of these for this processor.
const KernelTable& best_kernels();

/// The kernel for `count` (1..4) moves of these sizes, the largest first; null if there is none.
TripsKernel find_trips_kernel(const KernelTable& table, Direction direction,
                              const std::uint8_t* sizes, std::size_t count);

/// The one or two moves that make a run of `length` (1..128) bytes: sizes by their place in the
/// table, and where the second starts.
struct RunMoves {
  std::uint8_t first = 0;
  std::uint8_t second = 0;  // 0: none
  std::uint8_t second_at = 0;
};
RunMoves moves_of_run(std::uint64_t length);

/// The kernel for a grid of runs of `length` (> 0) bytes.
GridKernel find_grid_kernel(const KernelTable& table, std::uint64_t length);

}  // namespace mad

#endif  // DATATYPE_PATH_KERNELS_KERNELS_H_
