// CompletionQueue: what a driver found and poll() has not handed out yet, in order.
#ifndef MADLIKE_DRIVER_CONNECTIONS_COMPLETIONS_H_
#define MADLIKE_DRIVER_CONNECTIONS_COMPLETIONS_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "madlike/driver/driver.h"

namespace mad {

/// Keeps its memory, so that polls allocate nothing.
class CompletionQueue {
 public:
  bool empty() const { return items_.empty(); }
  void push(Completion completion) { items_.push_back(std::move(completion)); }
  /// One without bytes.  `context`: of the packet or write; null: it is about the connection.
  void push(Completion::Kind kind, ConnectionId connection, void* context, Status status) {
    Completion completion;
    completion.kind = kind;
    completion.connection = connection;
    completion.context = context;
    completion.status = std::move(status);
    push(std::move(completion));
  }
  /// Hands out the oldest, at most `capacity`; returns how many.
  std::size_t take(Completion* out, std::size_t capacity) {
    return empty() ? 0 : take_some(out, capacity);
  }

 private:
  // Most polls find nothing: this stays out of them.
  [[gnu::noinline]] std::size_t take_some(Completion* out, std::size_t capacity) {
    std::size_t count = 0;
    while (count < capacity && taken_ < items_.size()) out[count++] = std::move(items_[taken_++]);
    if (2 * taken_ >= items_.size()) {  // all, or so many that moving the others is cheap
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(taken_));
      taken_ = 0;
    }
    return count;
  }

  std::vector<Completion> items_;
  std::size_t taken_ = 0;  // less than there are, unless there are none
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_CONNECTIONS_COMPLETIONS_H_
