// GridLoops: the loops that two layouts have in common over runs of one length, and how they are
// copied: in the order, and in the tiles, in which lines stay in a cache until all of them is used.
#ifndef DATATYPE_PATH_CURSOR_GRID_LOOPS_H_
#define DATATYPE_PATH_CURSOR_GRID_LOOPS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "datatype_path/cursor/cursor.h"
#include "datatype_path/kernels/kernels.h"

namespace mad {

struct GridLoops {
  std::uint64_t from;  // addresses of the first run
  std::uint64_t to;
  std::uint64_t run;  // bytes
  std::array<Grid::Loop, RunLoops::kMost> loops;
  std::size_t count = 0;    // the innermost first
  std::uint64_t bytes = 0;  // of all trips; 0: none of the two's runs are alike
};

/// As many loops as the next runs of both have in common, of `size` packed bytes at most.  Longer
/// runs of one of them count as loops over the other's, where they are a multiple.
GridLoops common_loops(const RunLoops& from, const RunLoops& to, std::uint64_t size);

/// Copies all trips, with the kernels of `table`.
void copy_loops(const GridLoops& grid, const KernelTable& table);

}  // namespace mad

#endif  // DATATYPE_PATH_CURSOR_GRID_LOOPS_H_
