// Disorder: messages of a provider that does not keep their order (FI_ORDER_SAS).
#ifndef TESTS_STRICT_DISORDER_H_
#define TESTS_STRICT_DISORDER_H_

#include <cstddef>
#include <deque>
#include <optional>

namespace mad::strict {

/// Every third message waits until two others have come, or until nothing does.
template <typename Message>
class Disorder {
 public:
  /// Whether the message is kept; if not, it comes now.
  bool keeps(const Message& message) {
    if (++count_ % 3 != 0 || late_.size() == kMost) return false;
    late_.push_back(message);
    return true;
  }
  /// One that waits no longer; `nothing_else`: nothing comes now.
  std::optional<Message> next(bool nothing_else) {
    if (late_.empty() || (!nothing_else && count_ % 3 != 2)) return std::nullopt;
    Message message = late_.front();
    late_.pop_front();
    return message;
  }

 private:
  static constexpr std::size_t kMost = 4;
  std::size_t count_ = 0;
  std::deque<Message> late_;
};

}  // namespace mad::strict

#endif  // TESTS_STRICT_DISORDER_H_
