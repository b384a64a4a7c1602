// ShmKeptRecords: received records that are not released yet, of one connection, in order: their
// memory is given back to the writer in order, whatever the order they are released in.
#ifndef MADLIKE_DRIVER_SHM_KEPT_H_
#define MADLIKE_DRIVER_SHM_KEPT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mad {

struct ShmConnection;

struct ShmKept {
  ShmConnection* connection = nullptr;
  ShmKept* next = nullptr;  // the one received after it, or the next free one
  std::uint64_t begin = 0;  // the reader's position before it
  bool released = false;
};

/// Those of all connections that stand for nothing now; allocates only when it has none.
class ShmKeptPool {
 public:
  ShmKept* take() {
    if (free_ == nullptr) add();
    ShmKept* const kept = free_;
    free_ = kept->next;
    return kept;
  }
  void put(ShmKept* kept) {
    kept->next = free_;
    free_ = kept;
  }

 private:
  using Block = std::array<ShmKept, 64>;
  [[gnu::noinline]] void add() {
    blocks_.push_back(std::make_unique<Block>());
    for (ShmKept& each : *blocks_.back()) put(&each);
  }
  ShmKept* free_ = nullptr;
  std::vector<std::unique_ptr<Block>> blocks_;
};

class ShmKeptRecords {
 public:
  bool empty() const { return first_ == nullptr; }
  ShmKept* add(ShmKeptPool& pool, ShmConnection* connection, std::uint64_t begin) {
    ShmKept* const kept = pool.take();
    *kept = {connection, nullptr, begin, false};
    (empty() ? first_ : last_->next) = kept;
    last_ = kept;
    return kept;
  }
  /// Forgets the oldest ones that are released.
  void drop_released(ShmKeptPool& pool) {
    while (first_ != nullptr && first_->released) {
      ShmKept* const next = first_->next;
      pool.put(first_);
      first_ = next;
    }
  }
  const ShmKept& oldest() const { return *first_; }

 private:
  ShmKept* first_ = nullptr;
  ShmKept* last_ = nullptr;  // if there is a first one
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_KEPT_H_
