#include "datatype_path/program/loop_builder.h"

#include <algorithm>
#include <utility>

#include "datatype_path/program/joins.h"

namespace mad {
namespace {

// A loop of at most so many parts in all its trips is written out in place: a short straight body
// walks faster than a nest.  A sequence that equals a longer loop becomes one, so both ways meet.
constexpr std::uint64_t kSmallNest = 8;
static_assert(kSmallNest == kShortStretch);

bool multiply(std::uint64_t a, std::int64_t b, std::int64_t* product) {
  return !__builtin_mul_overflow(a, b, product);
}

std::uint64_t trips_written_out(const Loop& loop) {
  return loop.count > kSmallNest ? loop.count : loop.count * loop.parts.size();
}

void append_trips(const Loop& loop, std::int64_t at, std::pmr::vector<Part>& out) {
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    for (const Part& part : loop.parts) {
      out.push_back(part.moved(at + static_cast<std::int64_t>(i) * loop.stride));
    }
  }
}

bool is_small(const Part& part) {
  return !part.is_run() && trips_written_out(*part.loop) <= kSmallNest;
}

// Pass: parts that pack nothing go, small nests (loops of one trip among them) are written out.
std::pmr::vector<Part> write_out_small_nests(std::pmr::vector<Part> parts) {
  std::size_t left = 0, written_out = 0;
  for (const Part& part : parts) {
    if (part.size == 0) continue;
    ++left;
    if (is_small(part)) written_out += part.loop->count * part.loop->parts.size() - 1;
  }
  if (left == parts.size() && written_out == 0) return parts;
  std::pmr::vector<Part> out(parts.get_allocator());
  out.reserve(left + written_out);
  for (const Part& part : parts) {
    if (part.size == 0) continue;
    if (is_small(part)) {
      append_trips(*part.loop, part.offset, out);
    } else {
      out.push_back(part);
    }
  }
  return out;
}

// Pass: runs that touch in memory and follow one another in packed order are one run.
void merge_touching_runs(std::pmr::vector<Part>& parts) {
  const auto touch = [](const Part& last, const Part& next) {
    return last.is_run() && next.is_run() &&
           last.offset + static_cast<std::int64_t>(last.size) == next.offset;
  };
  auto last = std::adjacent_find(parts.begin(), parts.end(), touch);
  if (last == parts.end()) return;
  for (auto next = last + 1; next != parts.end(); ++next) {
    if (touch(*last, *next)) {
      last->size += next->size;
    } else {
      *++last = *next;
    }
  }
  parts.erase(last + 1, parts.end());
}

struct PartList {
  const std::pmr::vector<Part>& parts;

  std::size_t size() const { return parts.size(); }
  std::int64_t offset(std::size_t i) const { return parts[i].offset; }
  bool alike(std::size_t i, std::size_t j) const {
    return parts[i].size == parts[j].size && parts[i].loop == parts[j].loop;
  }
};

}  // namespace

void Loop::measure() {
  min_part = UINT64_MAX;
  for (const Part& part : parts) {
    body_bytes += part.size;
    min_part = std::min(min_part, part.size);
    max_part = std::max(max_part, part.size);
    if (!part.is_run()) height = std::max(height, part.loop->height + 1);
  }
}

std::uint64_t Loop::hash() const {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u, kOther = 0xbf58476d1ce4e5b9u;
  std::uint64_t h = count;
  const auto mix = [&h](std::uint64_t word) { h = (h + word) * kOdd; };
  mix(static_cast<std::uint64_t>(stride));
  mix(parts.size());
  // One word a part, so that a list waits for one product a part.
  for (const Part& part : parts) {
    const std::uint64_t what = part.size + reinterpret_cast<std::uintptr_t>(part.loop) * kOdd;
    mix(static_cast<std::uint64_t>(part.offset) + what * kOther);
  }
  return h;
}

std::pmr::vector<Part> LoopBuilder::room_for(std::size_t parts) {
  std::pmr::vector<Part> out(memory_);
  if (spare_.capacity() >= parts && spare_.capacity() / 2 <= parts) {
    out.swap(spare_);
  } else {
    out.reserve(parts);
  }
  return out;
}

Loop LoopBuilder::body(const Part& part, std::int64_t stride) {
  if (part.is_run()) {
    Loop out(room_for(1));
    out.stride = stride;
    out.parts.push_back(part);
    out.measure();
    return out;
  }
  const Loop& inner = *part.loop;
  std::int64_t span = 0;
  const bool longer =
      inner.count > 1 && multiply(inner.count, inner.stride, &span) && span == stride;
  const bool written_out =
      !longer && ((inner.count == 1 && inner.parts.size() <= kMaxPeriod) || is_small(part));
  Loop out(room_for(longer        ? inner.parts.size()
                    : written_out ? inner.count * inner.parts.size()
                                  : 1));
  out.stride = stride;
  if (longer) {  // pass: a loop that goes on where its last trip ended is one longer loop
    out.count = inner.count;
    out.stride = inner.stride;
    for (const Part& p : inner.parts) out.parts.push_back(p.moved(part.offset));
  } else if (written_out) {
    append_trips(inner, part.offset, out.parts);
    if (inner.count > 1) merge_touching_runs(out.parts);
  } else {
    out.parts.push_back(part);
  }
  out.measure();
  return out;
}

Part LoopBuilder::repeat(const Part& part, std::uint64_t count, std::int64_t stride) {
  if (count == 0 || part.size == 0) return {};
  if (count == 1) return part;
  if (part.is_run() && stride == static_cast<std::int64_t>(part.size)) {
    return {part.offset, part.size * count, nullptr};  // pass: fold dense runs
  }
  Loop out = body(part, stride);
  out.count *= count;
  return loop(std::move(out));
}

Part LoopBuilder::sequence(std::pmr::vector<Part> parts) {
  parts = write_out_small_nests(std::move(parts));
  merge_touching_runs(parts);
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts.front();

  if (const std::size_t p = period(PartList{parts}); p != 0) {  // pass: the whole list is one loop
    const std::int64_t stride = parts[p].offset - parts[0].offset;
    const std::uint64_t count = parts.size() / p;
    parts.resize(p);
    return repeat(sequence(std::move(parts)), count, stride);
  }

  // Pass: long equal-stride stretches become loops.
  if (const std::size_t stretches = worthwhile_stretches(PartList{parts}); stretches != 0) {
    std::pmr::vector<Part> stretched = room_for(stretches);
    for (std::size_t i = 0; i < parts.size();) {
      const std::size_t end = stretch_end(PartList{parts}, i);
      const std::int64_t stride = end - i > 1 ? parts[i + 1].offset - parts[i].offset : 0;
      stretched.push_back(repeat(parts[i], end - i, stride));
      i = end;
    }
    return sequence(std::move(stretched));
  }

  Loop list(std::move(parts));
  list.measure();
  return loop(std::move(list));
}

Part LoopBuilder::loop(Loop loop) {
  const std::int64_t origin = loop.parts.front().offset;
  if (origin != 0) {
    for (Part& part : loop.parts) part.offset -= origin;
  }
  if (loop.count == 1) loop.stride = 0;
  const std::uint64_t size = loop.body_bytes * loop.count;

  const std::uint64_t h = loop.hash();
  const auto [first, last] = known_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    const Loop& other = *it->second;
    if (other.count == loop.count && other.stride == loop.stride && other.parts == loop.parts) {
      loop.parts.clear();
      spare_.swap(loop.parts);
      return {origin, size, &other};
    }
  }
  loops_.push_back(std::move(loop));
  known_.emplace(h, &loops_.back());
  return {origin, size, &loops_.back()};
}

}  // namespace mad
