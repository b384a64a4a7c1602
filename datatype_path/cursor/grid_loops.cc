#include "datatype_path/cursor/grid_loops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "datatype_path/kernels/cache_lines.h"
#include "datatype_path/kernels/copy_run.h"

namespace mad {
namespace {

// The loops of one layout that are not yet common, the innermost first.
class LoopsLeft {
 public:
  LoopsLeft(const RunLoops& runs, std::uint64_t piece) {
    if (runs.run > piece) push({runs.run / piece, static_cast<std::int64_t>(piece)});
    for (std::size_t i = 0; i < runs.count; ++i) push(runs.loops[i]);
  }

  bool empty() const { return first_ == count_; }
  const RunLoops::Loop& innermost() const { return loops_[first_]; }

  // Takes `trips` of the innermost loop away, a loop of its own over what is left; false where that
  // does not come out even.
  bool take(std::uint64_t trips) {
    RunLoops::Loop& loop = loops_[first_];
    if (loop.trips % trips != 0) return false;
    loop.trips /= trips;
    loop.stride *= static_cast<std::int64_t>(trips);
    if (loop.trips == 1) ++first_;
    return true;
  }

 private:
  void push(const RunLoops::Loop& loop) { loops_[count_++] = loop; }

  std::array<RunLoops::Loop, RunLoops::kMost + 1> loops_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

// The place of the loop with the shortest stride on one side.
std::size_t shortest(const GridLoops& grid, std::int64_t Grid::Loop::*stride) {
  std::size_t place = 0;
  for (std::size_t i = 1; i < grid.count; ++i) {
    if (magnitude(grid.loops[i].*stride) < magnitude(grid.loops[place].*stride)) place = i;
  }
  return place;
}

std::uint64_t times(std::uint64_t trips, std::int64_t stride) {
  return trips * static_cast<std::uint64_t>(stride);
}

}  // namespace

GridLoops common_loops(const RunLoops& from, const RunLoops& to, std::uint64_t size) {
  GridLoops grid;
  grid.from = from.address;
  grid.to = to.address;
  grid.run = std::min(from.run, to.run);
  if (std::max(from.run, to.run) % grid.run != 0) return grid;
  LoopsLeft read(from, grid.run), written(to, grid.run);
  std::uint64_t runs = size / grid.run;  // that may be copied, in trips of the loops so far
  grid.bytes = runs == 0 ? 0 : grid.run;
  while (grid.count < grid.loops.size() && !read.empty() && !written.empty()) {
    const RunLoops::Loop a = read.innermost(), b = written.innermost();
    const std::uint64_t trips = std::min({a.trips, b.trips, runs});
    if (trips < 2) break;
    grid.loops[grid.count++] = {trips, a.stride, b.stride};
    grid.bytes *= trips;
    runs /= trips;
    if (!read.take(trips) || !written.take(trips)) break;
  }
  return grid;
}

namespace {

// Bytes of each line read, or of several that follow one another, that are used before other lines.
constexpr std::uint64_t kReadAtOnce = 512;
constexpr std::uint64_t kMostLinesRead = 16;

// Where what is read shares its lines along the outer loop, and what is written along the inner:
// whole lines are written at once, from as many lines as are in the first-level cache until all of
// them is read.
void copy_tiles(GridKernel kernel, const Grid& grid, std::uint64_t from, std::uint64_t to,
                std::uint64_t run) {
  const std::uint64_t height = std::min(lines_in_cache(magnitude(grid.inner.from)), kMostLinesRead);
  // A stride of 0 reads the same again and again.
  const std::uint64_t step = std::max<std::uint64_t>(1, magnitude(grid.outer.from));
  const std::uint64_t width = std::max<std::uint64_t>(1, kReadAtOnce / step);
  for (std::uint64_t o = 0; o < grid.outer.trips; o += width) {
    Grid tile = grid;
    tile.outer.trips = std::min(width, grid.outer.trips - o);
    for (std::uint64_t i = 0; i < grid.inner.trips; i += height) {
      tile.inner.trips = std::min(height, grid.inner.trips - i);
      kernel(tile, from + times(o, grid.outer.from) + times(i, grid.inner.from),
             to + times(o, grid.outer.to) + times(i, grid.inner.to), run);
    }
  }
}

// The pitch of short runs on both sides that lie in a few sets of the first-level cache, more of
// them than it holds; or 0.
std::uint64_t narrow_pitch(const Grid& grid, std::uint64_t run) {
  constexpr std::uint64_t kPage = 4096, kFar = 512, kMany = 16 * 1024;
  if (run >= kLineBytes) return 0;
  const std::uint64_t pitch =
      std::gcd(std::gcd(magnitude(grid.inner.from), magnitude(grid.inner.to)), kPage);
  return pitch >= kFar && grid.inner.trips * pitch > kMany ? pitch : 0;
}

// Whether such runs are read and written at the same places of their pages: each load waits for the
// stores before it then, as if it read what they write.
bool collide(std::uint64_t pitch, std::uint64_t from, std::uint64_t to, std::uint64_t run) {
  if (pitch == 0) return false;
  const std::uint64_t ahead = (to - from) % pitch;
  return std::min(ahead, pitch - ahead) < run;
}

// The same by way of a buffer, so that many loads follow one another, and many stores.
void copy_apart(GridKernel kernel, const Grid& grid, std::uint64_t from, std::uint64_t to,
                std::uint64_t run) {
  alignas(kLineBytes) std::array<std::byte, 4096> buffer;
  const auto between = reinterpret_cast<std::uintptr_t>(buffer.data());
  const std::uint64_t most = buffer.size() / run;
  for (std::uint64_t o = 0; o < grid.outer.trips; ++o) {
    for (std::uint64_t i = 0; i < grid.inner.trips; i += most) {
      Grid part;
      part.inner = {std::min(most, grid.inner.trips - i), grid.inner.from,
                    static_cast<std::int64_t>(run)};
      kernel(part, from + times(o, grid.outer.from) + times(i, grid.inner.from), between, run);
      part.inner.from = part.inner.to;
      part.inner.to = grid.inner.to;
      kernel(part, between, to + times(o, grid.outer.to) + times(i, grid.inner.to), run);
    }
  }
}

}  // namespace

void copy_loops(const GridLoops& all, const KernelTable& table) {
  GridLoops rest = all;
  const auto take = [&rest](std::size_t place) {
    const Grid::Loop loop = rest.loops[place];
    std::copy(rest.loops.begin() + place + 1, rest.loops.begin() + rest.count,
              rest.loops.begin() + place);
    --rest.count;
    return loop;
  };
  const GridKernel kernel = find_grid_kernel(table, all.run);
  Grid grid;
  bool tiles = false;
  if (rest.count > 0) {
    const std::size_t read = shortest(all, &Grid::Loop::from);
    const std::size_t written = shortest(all, &Grid::Loop::to);
    const bool shares_read = magnitude(all.loops[read].from) < kLineBytes;
    const bool shares_written = magnitude(all.loops[written].to) < kLineBytes;
    tiles = read != written && shares_read && shares_written;
    grid.inner = take(shares_written || !shares_read ? written : read);
    if (tiles) {
      grid.outer = take(read > written ? read - 1 : read);
    } else if (rest.count > 0) {
      grid.outer = take(0);
    }
  }
  const std::uint64_t pitch = tiles ? 0 : narrow_pitch(grid, all.run);
  const Grid::Loop around = rest.count > 0 ? rest.loops[0] : Grid::Loop{};
  const Grid::Loop outermost = rest.count > 1 ? rest.loops[1] : Grid::Loop{};
  for (std::uint64_t o = 0; o < outermost.trips; ++o) {
    for (std::uint64_t a = 0; a < around.trips; ++a) {
      const std::uint64_t from = all.from + times(o, outermost.from) + times(a, around.from);
      const std::uint64_t to = all.to + times(o, outermost.to) + times(a, around.to);
      if (tiles) {
        copy_tiles(kernel, grid, from, to, all.run);
      } else if (collide(pitch, from, to, all.run)) {
        copy_apart(kernel, grid, from, to, all.run);
      } else {
        kernel(grid, from, to, all.run);
      }
    }
  }
}

}  // namespace mad
