// RingWriter, RingReader: a queue of records in memory that one process writes and one reads.
//
// A record begins at a multiple of kLine with a mark of 8 bytes: its kind, the bytes of its content
// and how many follow in later records.  A mark that is 0 is not written yet.  Before the writer
// writes a record it writes 0 to the next one's mark, so that the reader never takes old content
// for a mark; the reader thus needs no index of the writer's, and a small record is one cache line,
// whose content and mark are written one right after the other: the reader, who looks at the line
// all the time, takes it from the writer once, not twice.
// The reader says how far it has come in one word, the tail.
//
// Positions count bytes for ever; a lap has `capacity` of them.  The writer may begin the next lap
// early, with a record of kind kWrap: it uses as much of the memory as it has reason to.
//
// Memory order.  The mark is stored with release and loaded with acquire: the content and the next
// mark's 0 are there.  The tail, too: the reader is done with what the writer then overwrites.
// Fences stand between "published" and "does it sleep" on the one side, and "I sleep" and "is
// something published" on the other, so that at least one of them sees the other (Dekker).
// ring_model_test.cc tries every interleaving, also those of machines weaker than x86.
//
// The Memory of these templates says where words are: ShmMemory (memory.h), or a model of a test.
// Whatever the other side writes there, nothing is read or written outside of the capacity.
#ifndef MADLIKE_DRIVER_SHM_RING_H_
#define MADLIKE_DRIVER_SHM_RING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mad {

/// The first word of a record.
struct RingMark {
  enum class Kind : std::uint8_t { kNothing, kPacket, kWrap, kPull };
  static constexpr std::uint64_t kMostBytes = (1u << 20) - 1;               // of a record's content
  static constexpr std::uint64_t kMostLeft = (std::uint64_t{1} << 40) - 1;  // in later records

  static RingMark of(std::uint64_t word) {
    RingMark mark;
    mark.kind = static_cast<Kind>(word & 0xf);
    mark.bytes = static_cast<std::uint32_t>(word >> 4 & kMostBytes);
    mark.left = word >> 24;
    return mark;
  }
  std::uint64_t word() const {
    return static_cast<std::uint64_t>(kind) | std::uint64_t{bytes} << 4 | left << 24;
  }

  Kind kind = Kind::kNothing;
  std::uint32_t bytes = 0;
  std::uint64_t left = 0;
};

/// Where things are in a ring.
struct RingShape {
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kMarkBytes = 8;
  /// What a record with so many bytes of content takes.
  static constexpr std::size_t record_bytes(std::size_t content) {
    return (kMarkBytes + content + kLine - 1) / kLine * kLine;
  }
};

template <typename Memory>
class RingWriter {
 public:
  /// What is free behind each record: for the next one's mark, and for lines to be fetched.
  static constexpr std::size_t kAhead = (1 + Memory::kMostFetchedLines) * RingShape::kLine;
  /// What a ring must have for records of so much content, wherever the last one ended.
  static constexpr std::size_t enough_for(std::size_t content) {
    return 2 * (RingShape::record_bytes(content) + kAhead) - RingShape::kLine;
  }

  RingWriter(Memory memory, std::size_t capacity) : memory_(memory), capacity_(capacity) {}

  /// Whether there is room for a record of so much content in the first `limit` bytes of the ring,
  /// which are enough_for() it; then it is to be written at content(), and published.
  bool reserve(std::size_t content, std::size_t limit) {
    const std::size_t needed = RingShape::record_bytes(content) + kAhead;
    const bool wraps = offset_ + needed > limit;
    const std::size_t skipped = wraps ? capacity_ - offset_ : 0;
    if (!has_room(skipped + needed)) return false;
    if (wraps) wrap();
    memory_.store_mark_relaxed(offset_ + RingShape::record_bytes(content), 0);
    return true;
  }
  /// Where the content of the record stands that was reserved.
  std::size_t content() const { return offset_ + RingShape::kMarkBytes; }
  void publish(const RingMark& mark) {
    const std::size_t size = RingShape::record_bytes(mark.bytes);
    memory_.store_mark(offset_, mark.word());
    offset_ += size;
    head_ += size;
    // The reader's core has the next lines since it read them a lap ago.  They are fetched while
    // there is other work to do: else the next record's publication would wait for each of them.
    // The next record is mostly as long as this one.
    const std::size_t lines =
        std::clamp(size / RingShape::kLine, Memory::kFetchedLines, Memory::kMostFetchedLines);
    const std::size_t ahead = offset_ + lines * RingShape::kLine;
    for (fetched_ = std::max(fetched_, offset_); fetched_ < ahead;) {
      fetched_ += RingShape::kLine;
      memory_.store_mark_relaxed(fetched_, 0);
    }
  }
  /// Begins the next lap; false: no room, or it has just begun.
  bool rewind() {
    if (offset_ == 0 || !has_room(capacity_ - offset_ + RingShape::kLine)) return false;
    wrap();
    return true;
  }
  /// Whether the reader is done with all that was published before this lap.
  bool earlier_laps_read() { return refresh() && head_ - tail_ <= offset_; }
  /// Where the next record begins.
  std::size_t offset() const { return offset_; }
  /// The reader's word was one that no reader writes.
  bool corrupt() const { return corrupt_; }
  Memory& memory() { return memory_; }

 private:
  bool has_room(std::size_t bytes) {
    if (head_ + bytes <= tail_ + capacity_) return true;
    return refresh() && head_ + bytes <= tail_ + capacity_;
  }
  bool refresh() {
    const std::uint64_t tail = memory_.load_tail();
    if (tail < tail_ || tail > head_) {
      corrupt_ = true;
      return false;
    }
    tail_ = tail;
    return true;
  }
  void wrap() {
    memory_.store_mark_relaxed(0, 0);
    memory_.store_mark(offset_, RingMark{RingMark::Kind::kWrap, 0, 0}.word());
    head_ += capacity_ - offset_;
    offset_ = fetched_ = 0;
  }

  Memory memory_;
  std::size_t capacity_;
  std::size_t offset_ = 0;   // less than the capacity by a line at least
  std::size_t fetched_ = 0;  // the last line that was, of this lap
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;  // as it was when it was loaded last
  bool corrupt_ = false;
};

template <typename Memory>
class RingReader {
 public:
  enum class Found { kNothing, kPacket, kPull, kCorrupt };

  RingReader(Memory memory, std::size_t capacity) : memory_(memory), capacity_(capacity) {}

  /// The next record, which stays the next until advance().
  Found peek(RingMark* mark) {
    std::uint64_t word = memory_.load_mark(offset_);
    if (word == 0) return Found::kNothing;
    *mark = RingMark::of(word);
    if (mark->kind == RingMark::Kind::kWrap && offset_ > 0) {
      position_ += capacity_ - offset_;
      offset_ = 0;
      word = memory_.load_mark(0);
      if (word == 0) return Found::kNothing;
      *mark = RingMark::of(word);
    }
    const std::size_t size = RingShape::record_bytes(mark->bytes);
    const bool fits = offset_ + size + RingShape::kLine <= capacity_;
    if (mark->bytes == 0 || !fits) return Found::kCorrupt;
    if (mark->kind == RingMark::Kind::kPacket) return Found::kPacket;
    return mark->kind == RingMark::Kind::kPull ? Found::kPull : Found::kCorrupt;
  }
  /// Whether the next record is a packet of which nothing follows, and where it is: what peek()
  /// finds most of the time.
  bool finds_whole(RingMark* mark) {
    constexpr std::uint64_t kLength = RingMark::kMostBytes << 4;
    const std::uint64_t word = memory_.load_mark(offset_);
    if ((word & ~kLength) != static_cast<std::uint64_t>(RingMark::Kind::kPacket)) return false;
    *mark = RingMark::of(word);
    return mark->bytes != 0 &&
           offset_ + RingShape::record_bytes(mark->bytes) + RingShape::kLine <= capacity_;
  }
  /// Whether something is published, a wrap perhaps.
  bool ready() { return memory_.load_mark(offset_) != 0; }
  std::size_t content() const { return offset_ + RingShape::kMarkBytes; }
  void advance(const RingMark& mark) {
    offset_ += RingShape::record_bytes(mark.bytes);
    position_ += RingShape::record_bytes(mark.bytes);
  }
  /// What has been advanced past.
  std::uint64_t position() const { return position_; }
  /// The writer may overwrite all before `position`.
  void give_back(std::uint64_t position) { memory_.store_tail(position); }
  Memory& memory() { return memory_; }

 private:
  Memory memory_;
  std::size_t capacity_;
  std::size_t offset_ = 0;  // less than the capacity by a line at least
  std::uint64_t position_ = 0;
};

/// The reader of a ring either looks at it in every poll or wants a word from the writer.
enum class Attention : std::uint32_t { kBell, kLooks };

// What follows is between the two sides of a ring, whose words `memory` has.

/// Rings the bell of the other side, and wakes it if it sleeps.
template <typename Memory>
void ring_other_side(Memory& memory) {
  memory.ring_bell();
  memory.fence();
  if (memory.load_asleep() && memory.take_asleep()) memory.wake();
}

/// After something was stored that the other side looks at before it sleeps.
template <typename Memory>
void wake_other_side(Memory& memory) {
  memory.fence();
  if (memory.load_asleep() && memory.take_asleep()) memory.wake();
}

/// After something was published: calls the reader unless it looks anyway.
template <typename Memory>
[[gnu::always_inline]] inline void call_reader(Memory& memory) {
  memory.fence();
  if (memory.load_attention() != Attention::kLooks) return ring_other_side(memory);
  if (memory.load_asleep() && memory.take_asleep()) memory.wake();
}

/// The reader will be called from now on; true: but something is there already.
template <typename Memory>
bool stop_looking(RingReader<Memory>& reader) {
  reader.memory().store_attention(Attention::kBell);
  reader.memory().fence();
  return reader.ready();
}

/// For a reader that found nothing: whether nothing comes any more, as the writer `has_ended()`.
template <typename Memory, typename Ended>
bool is_read_out(RingReader<Memory>& reader, const Ended& has_ended) {
  // In this order: the last record may have come with the end, after the reader looked.
  return has_ended() && !reader.ready();
}

/// Announces that a side sleeps, unless `something_is_there()`, which looks at all that it could
/// miss.
template <typename Memory, typename Look>
bool fall_asleep(Memory& memory, const Look& something_is_there) {
  memory.store_asleep(true);
  memory.fence();
  if (!something_is_there()) return true;
  memory.store_asleep(false);
  return false;
}

/// reserve(), or a word to the reader, who is to ring back once it has given memory back.
template <typename Memory>
bool reserve_or_ask(RingWriter<Memory>& writer, std::size_t content, std::size_t limit) {
  if (writer.reserve(content, limit)) return true;
  writer.memory().store_wants(true);
  writer.memory().fence();
  if (writer.reserve(content, limit)) return true;
  ring_other_side(writer.memory());
  return false;
}

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_RING_H_
