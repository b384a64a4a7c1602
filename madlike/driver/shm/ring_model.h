// ModelMemory: for tests, the words of a ring and of its two sides in a WeakMachine.
#ifndef MADLIKE_DRIVER_SHM_RING_MODEL_H_
#define MADLIKE_DRIVER_SHM_RING_MODEL_H_

#include <cstddef>
#include <cstdint>

#include "madlike/driver/shm/ring.h"
#include "madlike/driver/shm/weak_machine.h"

namespace mad::ring_model {

using Thread = WeakMachine::Thread;

/// What the code does not ask for, to see that the machine finds out.
enum class Without { kNothing, kReleaseOfMarks, kAcquireOfMarks, kReleaseOfTail, kFences, kZeros };

// The machine's words: two for each of the ring's lines, the first of which may be a mark or
// content, and those of the two sides.
inline constexpr std::size_t kLines = 7;
inline constexpr std::size_t kTail = 2 * kLines, kAttention = kTail + 1, kWants = kTail + 2,
                             kReaderAsleep = kTail + 3, kReaderBell = kTail + 4,
                             kReaderWoken = kTail + 5, kWriterBell = kTail + 6;
static_assert(kWriterBell < WeakMachine::kWords);

class ModelMemory {
 public:
  static constexpr std::size_t kFetchedLines = 1, kMostFetchedLines = 1;

  /// `side`: 0: the writer's, 1: the reader's.
  ModelMemory(Thread& thread, int side, Without without)
      : thread_(&thread), side_(side), without_(without) {}

  std::uint64_t load_mark(std::size_t offset) {
    return thread_->load(word_of(offset), without_ != Without::kAcquireOfMarks);
  }
  void store_mark(std::size_t offset, std::uint64_t word) {
    thread_->store(word_of(offset), word, without_ != Without::kReleaseOfMarks);
  }
  void store_mark_relaxed(std::size_t offset, std::uint64_t word) {
    if (without_ != Without::kZeros) thread_->store(word_of(offset), word, false);
  }
  std::uint64_t load_tail() { return thread_->load(kTail, true); }
  void store_tail(std::uint64_t tail) {
    thread_->store(kTail, tail, without_ != Without::kReleaseOfTail);
  }
  Attention load_attention() { return static_cast<Attention>(thread_->load(kAttention, false)); }
  void store_attention(Attention attention) {
    thread_->store(kAttention, static_cast<std::uint64_t>(attention), false);
  }
  void store_wants(bool wants) { thread_->store(kWants, wants, false); }
  bool take_wants() { return thread_->load(kWants, false) != 0 && thread_->exchange(kWants, 0); }
  void fence() {
    if (without_ != Without::kFences) thread_->fence();
  }
  void ring_bell() { thread_->store(side_ == 0 ? kReaderBell : kWriterBell, 1, true); }
  // Of the other side; the writer never sleeps here but awaits its bell.
  bool load_asleep() { return side_ == 0 && thread_->load(kReaderAsleep, false) != 0; }
  bool take_asleep() { return thread_->exchange(kReaderAsleep, 0) != 0; }
  void wake() { thread_->store(kReaderWoken, 1, true); }
  // Of its own.
  void store_asleep(bool asleep) { thread_->store(kReaderAsleep, asleep, false); }

  Thread& thread() { return *thread_; }
  static std::size_t word_of(std::size_t offset) {
    return 2 * (offset / RingShape::kLine) + (offset % RingShape::kLine != 0 ? 1 : 0);
  }

 private:
  Thread* thread_;
  int side_;
  Without without_;
};

using Writer = RingWriter<ModelMemory>;
using Reader = RingReader<ModelMemory>;

/// Content of one line, or of two.
inline constexpr std::size_t kShort = 8, kLong = 64;
inline constexpr std::size_t kCapacity = Writer::enough_for(kShort);
inline constexpr std::size_t kLongCapacity = Writer::enough_for(kLong);
static_assert(kLongCapacity == kLines * RingShape::kLine);

}  // namespace mad::ring_model

#endif  // MADLIKE_DRIVER_SHM_RING_MODEL_H_
