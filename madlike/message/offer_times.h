// OfferTimes: whether payload that a peer offers is better read by us or sent by it, by the time
// that both took so far.
//
// Nobody knows that beforehand.  To read costs the kernel work for each page, which is little where
// pages are huge and most of the time where they are not; to send takes two copies, of cores that
// are near each other or far.  The receiver finds out; the sender sees what it does, and soon
// offers little to one that has all sent.
#ifndef MADLIKE_MESSAGE_OFFER_TIMES_H_
#define MADLIKE_MESSAGE_OFFER_TIMES_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace mad {

class OfferTimes {
 public:
  using Clock = std::chrono::steady_clock;
  /// The slower way is gone once in so many offers: it may be the faster one by now.
  static constexpr std::uint32_t kTryEvery = 32;

  /// Whether the next one is to be read.
  bool reads() {
    if (read_ == 0) return true;
    if (sent_ == 0) return false;
    const bool faster = read_ < sent_;
    return ++asked_ % kTryEvery == 0 ? !faster : faster;
  }
  void was_read(std::uint64_t bytes, Clock::duration took) { count(bytes, took, &read_); }
  /// One that was to be sent from `since` on is here.  While others came it was not its turn.
  void was_sent(std::uint64_t bytes, Clock::time_point since, Clock::time_point now) {
    count(bytes, now - std::max(since, here_), &sent_);
    here_ = now;
  }

 private:
  // A single one that took long says little: somebody else was on the core.
  static void count(std::uint64_t bytes, Clock::duration took, double* per_byte) {
    constexpr double kFaster = 0.5, kSlower = 0.125;  // weights of the last one
    const double last = std::chrono::duration<double, std::nano>(took).count() /
                        static_cast<double>(std::max<std::uint64_t>(bytes, 1));
    const double before = *per_byte == 0 ? last : *per_byte;
    const double after = before + (last - before) * (last < before ? kFaster : kSlower);
    *per_byte = std::max(after, kLeast);
  }
  static constexpr double kLeast = 1e-6;  // 0 stands for none

  double read_ = 0, sent_ = 0;  // ns a byte; 0: none was yet
  std::uint32_t asked_ = 0;
  Clock::time_point here_;  // when the last one was
};

/// What became of payload that we offered to a peer.
class OffersMade {
 public:
  /// A peer that had some in a row sent is offered one message in so many.
  static constexpr std::uint32_t kInARow = 2, kOfferEvery = 16;

  bool is_worth_another() const { return sent_ < kInARow || messages_ % kOfferEvery == 0; }
  /// A message left, offered or not.
  void count_message() { ++messages_; }
  void was_read() { sent_ = 0; }
  void was_sent() { ++sent_; }

 private:
  std::uint32_t sent_ = 0;      // in a row
  std::uint32_t messages_ = 0;  // that could be offered
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_OFFER_TIMES_H_
