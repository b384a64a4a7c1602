#include "datatype_path/cursor/joined_copies.h"

#include <algorithm>

#include "datatype_path/kernels/cache_lines.h"

namespace mad {
namespace {

bool same_loops(const GridLoops& a, const GridLoops& b) {
  const auto same = [](const Grid::Loop& x, const Grid::Loop& y) {
    return x.trips == y.trips && x.from == y.from && x.to == y.to;
  };
  return a.run == b.run && a.count == b.count &&
         std::equal(a.loops.begin(), a.loops.begin() + a.count, b.loops.begin(), same);
}

std::int64_t distance(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to - from);
}

}  // namespace

// The first two say how far it is from one to the next.  It pays where they share lines; two
// whose same runs overlap are made one after the other.
bool JoinedCopies::joins(const GridLoops& next) const {
  if (copies_ == 0 || !same_loops(first_, next)) return false;
  const std::int64_t from = distance(first_.from, next.from), to = distance(first_.to, next.to);
  if (copies_ == 1) {
    return magnitude(to) >= first_.run && std::min(magnitude(from), magnitude(to)) < kLineBytes;
  }
  const auto copies = static_cast<std::int64_t>(copies_);
  return from == copies * from_step_ && to == copies * to_step_;
}

bool JoinedCopies::add(const RunLoops& from, const RunLoops& to, std::uint64_t bytes) {
  GridLoops next;
  if (bytes > 0 && from.body == nullptr && to.body == nullptr) {
    next = common_loops(from, to, bytes);
  }
  const bool taken = bytes > 0 && next.bytes == bytes && next.count > 0 &&
                     next.count < next.loops.size() && next.run < kLineBytes;
  if (taken && joins(next)) {
    if (copies_ == 1) {
      from_step_ = distance(first_.from, next.from);
      to_step_ = distance(first_.to, next.to);
    }
    ++copies_;
    return true;
  }
  finish();
  if (!taken) return false;
  first_ = next;
  copies_ = 1;
  return true;
}

void JoinedCopies::finish() {
  if (copies_ == 0) return;
  GridLoops all = first_;
  const auto run = static_cast<std::int64_t>(all.run);
  if (copies_ > 1 && from_step_ == run && to_step_ == run) {
    all.run *= copies_;
  } else if (copies_ > 1) {
    all.loops[all.count++] = {copies_, from_step_, to_step_};
  }
  copies_ = 0;
  copy_loops(all, best_kernels());
}

}  // namespace mad
