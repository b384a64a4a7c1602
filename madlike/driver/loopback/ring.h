// Ring: a first-in first-out queue in one array that grows when it must and never shrinks.
//
// Unlike std::deque it allocates nothing once it has reached its working size.
#ifndef MADLIKE_DRIVER_LOOPBACK_RING_H_
#define MADLIKE_DRIVER_LOOPBACK_RING_H_

#include <cstddef>
#include <utility>
#include <vector>

namespace mad {

template <typename T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void push(T item) {
    if (size_ == items_.size()) grow();
    items_[(first_ + size_++) % items_.size()] = std::move(item);
  }

  T& front() { return items_[first_]; }

  T pop() {
    T item = std::move(items_[first_]);
    first_ = (first_ + 1) % items_.size();
    --size_;
    return item;
  }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 16 : 2 * items_.size());
    for (std::size_t i = 0; i < size_; ++i) {
      larger[i] = std::move(items_[(first_ + i) % items_.size()]);
    }
    items_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> items_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_LOOPBACK_RING_H_
