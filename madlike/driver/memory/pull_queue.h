// PullQueue: remote writes that the receiver is to read from the sender's memory, in order, until
// it says that it has.
#ifndef MADLIKE_DRIVER_MEMORY_PULL_QUEUE_H_
#define MADLIKE_DRIVER_MEMORY_PULL_QUEUE_H_

#include <array>
#include <cstddef>

namespace mad {

/// At most `Most` of them, each by the context of its post_write().
template <std::size_t Most>
class PullQueue {
 public:
  static constexpr std::size_t kMost = Most;
  std::size_t size() const { return count_; }
  void push(void* context) { contexts_[(first_ + count_++) % kMost] = context; }
  void* pop() {
    --count_;
    return contexts_[first_++ % kMost];
  }

 private:
  std::array<void*, kMost> contexts_{};
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_MEMORY_PULL_QUEUE_H_
