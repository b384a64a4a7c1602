#include "tests/fuzz/program_check.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "datatype_path/cursor/cursor.h"
#include "madlike/base/segment.h"
#include "tests/support/type_map.h"

namespace mad::test {
namespace {

using Bytes = std::vector<std::byte>;
using Wide = __int128;

// Different bytes at different places, unlikely to be met by accident.
void fill(std::byte* bytes, std::size_t size, std::uint64_t seed) {
  for (std::size_t at = 0; at < size; at += 8) {
    seed = (seed + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    const std::uint64_t word = seed ^ (seed >> 29);
    std::memcpy(bytes + at, &word, std::min<std::size_t>(8, size - at));
  }
}

struct Piece {
  std::size_t at, size;
};

// [0, size) in pieces; their order is turned around a few times.  Few pieces for many bytes.
std::vector<Piece> cut(std::size_t size, const Choose& choose) {
  std::vector<Piece> pieces;
  const std::size_t longest = 1 + choose(1 + size / 4 + std::min<std::size_t>(size, 64));
  for (std::size_t at = 0; at < size;) {
    const std::size_t length = std::min(size - at, 1 + size / 256 + choose(longest));
    pieces.push_back({at, length});
    at += length;
  }
  for (int turn = 0; turn < 3 && pieces.size() > 1; ++turn) {
    const auto first = static_cast<std::ptrdiff_t>(choose(pieces.size()));
    if (choose(2) == 0) {
      std::rotate(pieces.begin(), pieces.begin() + first, pieces.end());
    } else {
      std::reverse(pieces.begin() + first, pieces.end());
    }
  }
  return pieces;
}

// Each of these returns what is wrong, or "".

std::string packs_to(const Cursor& start, const Bytes& expected, const Choose& choose) {
  Cursor cursor = start;
  if (cursor.total() != expected.size()) return "another number of bytes";
  Bytes out(expected.size());
  if (cursor.pack(out.data(), out.size()) != out.size() || out != expected) return "packed whole";
  if (cursor.pack(out.data(), 1) != 0) return "packed past the end";
  std::fill(out.begin(), out.end(), std::byte{0});
  for (const Piece& piece : cut(out.size(), choose)) {
    cursor.seek(piece.at);
    if (cursor.pack(out.data() + piece.at, piece.size) != piece.size) return "packed too little";
    if (cursor.position() != piece.at + piece.size) return "stands elsewhere after packing";
  }
  if (out != expected) return "packed in pieces";
  cursor.seek(0);
  for (std::size_t at = 0; at < out.size();) {  // straight on, short and long runs apart
    const std::size_t room = std::min<std::size_t>(out.size() - at, 1 + choose(1000));
    const std::size_t moved = cursor.pack_short_runs(out.data() + at, room, choose(100));
    at += moved;
    if (moved == room) continue;
    const Segment run = cursor.next_run(1 + choose(1000));
    if (run.size == 0 || run.size > out.size() - at) return "a run of a wrong length";
    std::copy(run.begin(), run.end(), out.data() + at);
    cursor.advance(run.size);
    at += run.size;
  }
  return out == expected ? "" : "packed short runs and long ones";
}

std::string lists(const Cursor& start, const Bytes& expected, const Choose& choose) {
  Cursor cursor = start;
  Bytes out;
  std::vector<Segment> runs(1 + choose(64));
  while (cursor.position() < cursor.total()) {
    std::size_t bytes = 0;
    const std::size_t most = 1 + choose(choose(2) == 0 ? 200 : expected.size() + 1);
    const std::size_t n = cursor.segments(runs.data(), runs.size(), most, &bytes);
    if (n == 0 || n > runs.size() || bytes == 0 || bytes > most) return "listed nothing";
    for (std::size_t i = 0; i < n; ++i) out.insert(out.end(), runs[i].begin(), runs[i].end());
  }
  return out == expected ? "" : "the runs listed hold other bytes";
}

void unpack_pieces(const Cursor& start, const Bytes& stream, const Choose& choose) {
  Cursor cursor = start;
  for (const Piece& piece : cut(stream.size(), choose)) {
    cursor.seek(piece.at);
    cursor.unpack(stream.data() + piece.at, piece.size);
  }
}

// A buffer that ends where [low, high) does.
class Exact {
 public:
  Exact(std::int64_t low, std::int64_t high, std::uint64_t seed)
      : low_(low),
        size_(static_cast<std::size_t>(high - low)),
        bytes_(new std::byte[std::max<std::size_t>(size_, 1)]) {
    fill(bytes_.get(), size_, seed);
  }
  void* base() const {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(bytes_.get()) -
                                   static_cast<std::uintptr_t>(low_));
  }
  bool holds(const Segment& run) const {
    return run.begin() >= bytes_.get() && run.end() <= bytes_.get() + size_;
  }
  std::size_t place(const Segment& run) const {
    return static_cast<std::size_t>(run.begin() - bytes_.get());
  }
  std::size_t size() const { return size_; }

 private:
  std::int64_t low_;
  std::size_t size_;
  std::unique_ptr<std::byte[]> bytes_;
};

// Packs by the runs one after the other.  `*twice`: some byte is in the stream twice.
std::string pack_by_runs(const Cursor& start, const Exact& memory, Bytes* packed, bool* twice) {
  Cursor cursor = start;
  std::vector<bool> seen(memory.size());
  *twice = false;
  while (cursor.position() < cursor.total()) {
    const Segment run = cursor.next_run(SIZE_MAX);
    if (run.size == 0 || run.size > cursor.total() - cursor.position()) return "a wrong run";
    if (!memory.holds(run)) return "a run outside of the true bounds";
    packed->insert(packed->end(), run.begin(), run.end());
    for (std::size_t i = memory.place(run); i < memory.place(run) + run.size; ++i) {
      *twice = *twice || seen[i];
      seen[i] = true;
    }
    cursor.advance(run.size);
  }
  return "";
}

std::string move_within(const BlockProgram& program, std::uint64_t count, std::int64_t low,
                        std::int64_t high, const Choose& choose) {
  const Exact memory(low, high, 1);
  const Cursor cursor(program, memory.base(), count);
  Bytes packed;
  bool twice = false;
  std::string wrong = pack_by_runs(cursor, memory, &packed, &twice);
  if (wrong.empty()) wrong = packs_to(cursor, packed, choose);
  if (wrong.empty()) wrong = lists(cursor, packed, choose);
  if (!wrong.empty()) return wrong;
  const Exact other(low, high, 2);
  const Cursor there(program, other.base(), count);
  unpack_pieces(there, packed, choose);
  return twice ? "" : packs_to(there, packed, choose);
}

// Too large to be moved: only the runs' places are looked at.
std::string look_around(const BlockProgram& program, std::uint64_t count, std::int64_t low,
                        std::int64_t high, const Choose& choose) {
  Cursor cursor(program, nullptr, count);
  for (int i = 0; i < 50; ++i) {
    cursor.seek(choose(cursor.total()));
    for (int run = 0; run < 20 && cursor.position() < cursor.total(); ++run) {
      const Segment here = cursor.next_run(1 + choose(SIZE_MAX));
      const auto place = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(here.data));
      if (here.size == 0 || place < low || place >= high ||
          here.size > static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(place)) {
        return "a run outside of the true bounds";
      }
      cursor.advance(here.size);
    }
  }
  return "";
}

}  // namespace

std::string compare_with_type_map(const BlockProgram& program, const TypeDesc& type,
                                  std::uint64_t count, const Choose& choose) {
  const TypeMap map = expand(type, count);
  Arena memory(map);
  fill(memory.bytes().data(), memory.bytes().size(), 1);
  const Bytes packed = pack(map, memory);
  const Cursor cursor(program, memory.base(), count);
  std::string wrong = packs_to(cursor, packed, choose);
  if (wrong.empty()) wrong = lists(cursor, packed, choose);
  if (!wrong.empty() || !receivable(map)) return wrong;
  Arena expected(map, std::byte{0xee}), received(map, std::byte{0xee});
  unpack(map, packed, expected);
  unpack_pieces(Cursor(program, received.base(), count), packed, choose);
  return received.bytes() == expected.bytes() ? "" : "unpacked in pieces";
}

std::string run_within_bounds(const BlockProgram& program, std::uint64_t count,
                              const Choose& choose) {
  constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
  if (count == 0 || program.size() == 0) {
    Cursor cursor(program, nullptr, count);
    return cursor.total() == 0 && cursor.pack(nullptr, 8) == 0 ? "" : "bytes of nothing";
  }
  const Wide shift = static_cast<Wide>(count - 1) * program.extent();
  const Wide low = program.true_lb() + std::min<Wide>(shift, 0);
  const Wide high = Wide{program.true_lb()} + program.true_extent() + std::max<Wide>(shift, 0);
  if (low < -kMax || high > kMax || high - low > kMax ||
      static_cast<Wide>(program.size()) * count > kMax) {
    return "";
  }
  const bool small = high - low <= kMostBytes && program.size() * count <= kMostBytes;
  return (small ? move_within : look_around)(program, count, static_cast<std::int64_t>(low),
                                             static_cast<std::int64_t>(high), choose);
}

}  // namespace mad::test
