// ShmMemory: the words of one lane and of its two sides, as ring.h asks for them.
#ifndef MADLIKE_DRIVER_SHM_MEMORY_H_
#define MADLIKE_DRIVER_SHM_MEMORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "madlike/driver/shm/layout.h"
#include "madlike/driver/shm/ring.h"

namespace mad {

/// No store before it becomes visible after a load behind it.
inline void shm_fence() {
#ifdef __SANITIZE_THREAD__  // which does not know fences
  static std::atomic<int> one_for_all;
  one_for_all.exchange(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Wakes the process that sleeps on a front page.
class ShmWaker {
 public:
  virtual ~ShmWaker() = default;
  virtual void wake() = 0;
};

class ShmMemory {
 public:
  /// The lane that begins with `head`; the other side has the front page `page` and hears our
  /// bell `bell` there.
  ShmMemory(ShmLaneHead* head, ShmFrontPage* page, std::size_t bell, ShmWaker* waker)
      : head_(head),
        ring_(reinterpret_cast<std::byte*>(head) + kShmLaneHeadBytes),
        page_(page),
        bell_(bell),
        waker_(waker) {}

  ShmLaneHead& head() { return *head_; }
  /// For content that stands at `offset` of the ring.
  std::byte* at(std::size_t offset) { return ring_ + offset; }

  // As ring.h asks for them.

  /// Lines behind the next mark that are fetched for writing at a time: so many at least, as many
  /// as the last record had, and at most as many as leave room for two records of either limit
  /// (connection.h).  Of 1, 4, 8 and 16 lines for all records, 8 and 16 were the fastest for a row
  /// of messages of 0 to 32 bytes (perf/results.md); of 1 KiB it is a third faster to fetch all of
  /// the next one's (docs/adr/0073-streams-of-short-messages.md).
  static constexpr std::size_t kFetchedLines = 8, kMostFetchedLines = 28;
  std::uint64_t load_mark(std::size_t offset) {
    return mark(offset).load(std::memory_order_acquire);
  }
  void store_mark(std::size_t offset, std::uint64_t word) {
    mark(offset).store(word, std::memory_order_release);
  }
  void store_mark_relaxed(std::size_t offset, std::uint64_t word) {
    mark(offset).store(word, std::memory_order_relaxed);
  }
  std::uint64_t load_tail() { return head_->tail.load(std::memory_order_acquire); }
  void store_tail(std::uint64_t tail) { head_->tail.store(tail, std::memory_order_release); }
  Attention load_attention() {
    return static_cast<Attention>(head_->attention.load(std::memory_order_relaxed));
  }
  void store_attention(Attention attention) {
    head_->attention.store(static_cast<std::uint32_t>(attention), std::memory_order_relaxed);
  }
  void store_wants(bool wants) { head_->wants.store(wants, std::memory_order_relaxed); }
  std::uint64_t load_pulled() { return head_->pulled.load(std::memory_order_acquire); }
  void store_pulled(std::uint64_t count) { head_->pulled.store(count, std::memory_order_release); }
  bool take_wants() {
    return head_->wants.load(std::memory_order_relaxed) != 0 &&
           head_->wants.exchange(0, std::memory_order_acq_rel) != 0;
  }
  /// Who rings at the same time writes the same news: a store in place of the exchange would hide
  /// the other's bell from who reads only the second.
  void ring_bell() {
    page_->bells[bell_].store(1, std::memory_order_release);
    page_->news.exchange(1, std::memory_order_acq_rel);
  }
  bool load_asleep() { return page_->asleep.load(std::memory_order_relaxed) != 0; }
  bool take_asleep() { return page_->asleep.exchange(0, std::memory_order_acq_rel) != 0; }
  void fence() { shm_fence(); }
  void wake() { waker_->wake(); }

 private:
  std::atomic<std::uint64_t>& mark(std::size_t offset) {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(ring_ + offset);
  }

  ShmLaneHead* head_;
  std::byte* ring_;
  ShmFrontPage* page_;
  std::size_t bell_;
  ShmWaker* waker_;
};

/// Memory for the content of a record, as far behind the beginning of a line as that stands in a
/// ring: what is copied from here to there is aligned alike.
class ShmStaging {
 public:
  std::byte* content() { return bytes_.data() + RingShape::kMarkBytes; }

 private:
  alignas(kShmLine) std::array<std::byte, RingShape::record_bytes(kShmPieceBytes)> bytes_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_MEMORY_H_
