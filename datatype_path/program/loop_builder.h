// LoopBuilder: the compiler's middle - builds loops over runs, in canonical form from the first
// moment.
//
// Pieces are put together bottom-up with repeat() and sequence().  Each applies small passes, named
// in the .cc, so that different descriptions of one layout end as the same loops: dense runs fold,
// touching runs merge, equal strides become loops, loops of one trip and small nests are written
// out in place. No pass changes the packed order.  Equal loops are stored once, so equality is
// equality of pointers, and a description that shares its parts compiles in memory proportional to
// itself.
#ifndef DATATYPE_PATH_PROGRAM_LOOP_BUILDER_H_
#define DATATYPE_PATH_PROGRAM_LOOP_BUILDER_H_

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mad {

struct Loop;

/// Something placed: a dense run of `size` bytes, or a loop that packs to `size` bytes.
struct Part {
  std::int64_t offset = 0;     // of its first byte in packed order, from the enclosing start
  std::uint64_t size = 0;      // packed bytes; 0: nothing at all
  const Loop* loop = nullptr;  // null: a run

  Part() = default;
  Part(std::int64_t offset, std::uint64_t size, const Loop* loop)
      : offset(offset), size(size), loop(loop) {}

  bool is_run() const { return loop == nullptr; }
  Part moved(std::int64_t by) const { return {offset + by, size, loop}; }
  bool operator==(const Part& o) const {
    return offset == o.offset && size == o.size && loop == o.loop;
  }
};

/// `count` times the parts in order, `stride` bytes further each time.  A part that is a loop has
/// its own first byte at its offset, and the first part of a built loop is at offset 0.
struct Loop {
  explicit Loop(std::pmr::vector<Part> parts) : parts(std::move(parts)) {}

  std::uint64_t count = 1;
  std::int64_t stride = 0;  // 0 when count is 1
  std::pmr::vector<Part> parts;
  // Of the parts, once they are counted by measure().
  std::uint32_t height = 1;      // 1: all are runs
  std::uint64_t body_bytes = 0;  // packed bytes of one trip
  std::uint64_t min_part = 0;    // packed bytes
  std::uint64_t max_part = 0;

  /// Counts the parts, once.
  void measure();
  bool uniform() const { return min_part == max_part; }
  /// Of count, stride and every part: lists that differ in one part are not compared.
  std::uint64_t hash() const;
};

/// What is built lives in `memory`, which may be one that takes nothing back before its end.
class LoopBuilder {
 public:
  explicit LoopBuilder(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : memory_(memory), loops_(memory), known_(memory), spare_(memory) {}

  /// A list with room for so many parts; that of a loop that was there already, if it has about as
  /// much.
  std::pmr::vector<Part> room_for(std::size_t parts);
  static Part run(std::uint64_t size) { return {0, size, nullptr}; }
  Part repeat(const Part& part, std::uint64_t count, std::int64_t stride);
  Part sequence(std::pmr::vector<Part> parts);

  /// What repeat(part, n, stride) loops over, for any n: n times `count` trips; measured.
  Loop body(const Part& part, std::int64_t stride);

  /// Everything built so far, inner loops before those that use them.
  const std::pmr::deque<Loop>& loops() const { return loops_; }

 private:
  Part loop(Loop loop);

  std::pmr::memory_resource* memory_;
  std::pmr::deque<Loop> loops_;
  std::pmr::unordered_multimap<std::uint64_t, const Loop*> known_;
  std::pmr::vector<Part> spare_;  // nobody's
};

}  // namespace mad

#endif  // DATATYPE_PATH_PROGRAM_LOOP_BUILDER_H_
