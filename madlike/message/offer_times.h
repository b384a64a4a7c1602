// OfferTimes: whether payload that a peer offers is better read by us or sent by it, by the time
// that both took so far.
//
// Nobody knows that beforehand.  To read costs the kernel work for each page, which is little where
// pages are huge and most of the time where they are not; to send takes two copies, of cores that
// are near each other or far.  The receiver finds out; the sender sees what it does, and soon
// offers little to one that has all sent.  Short payload is weighed apart from long: what a
// reading costs before its first byte is more of it.
#ifndef MADLIKE_MESSAGE_OFFER_TIMES_H_
#define MADLIKE_MESSAGE_OFFER_TIMES_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace mad {

/// How far all that arrives was at some moment.
struct ArrivalMark {
  std::chrono::steady_clock::time_point at;
  std::chrono::steady_clock::duration reading{};  // spent so far on reading what was offered
  std::uint64_t bytes = 0;    // received so far, of all peers, without those read or written
  std::uint64_t written = 0;  // by remote writes, also those for which we read a peer's memory
};

/// Payload is weighed in four classes of lengths: shorter than each of these, and longer.
constexpr std::uint64_t kMiddlePayload = 64 * 1024, kLongPayload = 256 * 1024,
                        kHugePayload = 8 * 1024 * 1024;

/// What a word to a process that waits for it takes at most, there and back.
constexpr std::chrono::microseconds kMostOfAWord{2};

/// Since when an offer that was to be sent is being sent.  `asked`: then that was asked for;
/// `placing`, `placed`: the first of its packets, of `bytes`, was placed between these.  The word
/// that asks is no part of it, as it would not be where nothing is offered; that its sender had
/// something else to do is.  The sender took about as long to copy what came first as its receiver.
/// Where others came meanwhile, or were read, all of the time was theirs.
inline ArrivalMark sent_since(const ArrivalMark& asked, const ArrivalMark& placing,
                              std::chrono::steady_clock::time_point placed, std::uint64_t bytes) {
  const bool others =
      placing.bytes - asked.bytes > bytes + bytes / 4 || placing.reading != asked.reading;
  if (others) return asked;
  ArrivalMark since = asked;
  since.at = std::clamp(placing.at - (placed - placing.at), asked.at, asked.at + kMostOfAWord);
  return since;
}

class OfferTimes {
 public:
  using Clock = std::chrono::steady_clock;
  /// So many of each way are tried first, and the least of their times counts: the first one of all
  /// also pays for pages that nobody had touched.
  static constexpr std::uint32_t kFirst = 8;
  /// Then the slower way is tried by runs of so many offers: a single reading among copies takes
  /// several times as long as one that follows another, and so does a single copy among readings.
  static constexpr std::uint32_t kRun = 8;
  /// Of runs that are better read one in so many is sent, and as long as that changes nothing the
  /// next is twice as far, up to kRareSend.
  static constexpr std::uint32_t kSendEvery = 16, kRareSend = 256;
  /// Of runs that are better sent, which are few by then (OffersMade), one in so many is read: so
  /// that more are sent in a row than a try has, by which the sender knows.
  static constexpr std::uint32_t kReadEvery = 3;

  /// Once reading is known to be faster the clock is looked at for one reading in so many, the last
  /// of them, for each one behind a slow one, and for the first run behind one that was sent, some
  /// of which may still be on its way: two looks may cost as much as 2 KiB.
  static constexpr std::uint32_t kTimeEvery = 4;

  /// Whether the next one, of so many bytes, is to be read.
  bool reads(std::uint64_t bytes, bool in_runs = false) {
    if (read_.count < kFirst) return true;
    if (sent_.count < kFirst) return false;
    const double share = in_runs ? 1 : share_of(bytes);
    const bool faster = read_.per_byte < share * sent_.per_byte;
    const double now = faster ? read_.per_byte : sent_.per_byte;
    const std::uint32_t least = faster ? kSendEvery : kReadEvery;
    if (std::exchange(faster_, faster) != faster || every_ == 0) {
      settle(now, least);
    } else if (asked_ >= every_ * kRun) {
      settle(now, faster ? std::min(2 * every_, kRareSend) : least);
    } else if (now > kMuchSlower * then_) {
      settle(now, least);
      asked_ = (every_ - 1) * kRun;  // so that the next ones go the other way
    }
    return asked_ < (every_ - 1) * kRun ? faster : !faster;
  }
  /// Whether the time of the next one is wanted if it is read.
  bool wants_time() const {
    return !faster_ || slow_ || asked_ < kRun || asked_ % kTimeEvery == kTimeEvery - 1;
  }
  /// One was read.
  void was_read(std::uint64_t bytes, Clock::duration took) {
    ++asked_;
    was_read_later(bytes, took);
  }
  /// One that was asked for was read.
  void was_read_later(std::uint64_t bytes, Clock::duration took) {
    slow_ = took > kMuchSlower * read_.time_of(bytes);
    read_.add(bytes, took);
  }
  /// What reading so much takes, by what is known.
  Clock::duration time_of_reading(std::uint64_t bytes) const {
    return std::chrono::duration_cast<Clock::duration>(read_.time_of(bytes));
  }
  /// One was read and not timed.  Returns how long it took, by those that were.
  Clock::duration was_read_untimed(std::uint64_t bytes) {
    ++asked_;
    return time_of_reading(bytes);
  }
  /// One is to be sent, or to be read later.
  void was_asked_for() { ++asked_; }
  /// One that was to be sent since `from` is here.  Others came meanwhile, of any peer, and shared
  /// the time: what counts is the time for a byte of all of them.  Readings that were not timed
  /// may seem to have taken all of it: then it says nothing.
  void was_sent(const ArrivalMark& from, const ArrivalMark& to) {
    const Clock::duration took = (to.at - from.at) - (to.reading - from.reading);
    if (took > Clock::duration::zero()) sent_.add(to.bytes - from.bytes, took);
  }

 private:
  // Of payload of one run: to read occupies the receiver alone; what is sent is copied by both, who
  // otherwise go on with their work, and shorter messages mostly leave before they are wanted.
  static double share_of(std::uint64_t bytes) {
    constexpr double kOfShort = 0.75;
    return bytes < kLongPayload ? kOfShort : 1;
  }

  struct Way {
    // A single one that took long says little: somebody else was on the core, or this process did
    // something else meanwhile.
    void add(std::uint64_t bytes, Clock::duration took) {
      constexpr double kFaster = 0.5, kSlower = 0.125;  // weights of the last one,
      constexpr double kMost = 2;                       // which counts as so much slower at most
      constexpr double kLeast = 1e-3;                   // ns: a clock may not have moved
      const double last =
          std::max(kLeast, std::chrono::duration<double, std::nano>(took).count() /
                               static_cast<double>(std::max<std::uint64_t>(bytes, 1)));
      if (count < kFirst) {
        per_byte = count == 0 ? last : std::min(per_byte, last);
        ++count;
      } else {
        const double change = std::min(last, kMost * per_byte) - per_byte;
        per_byte += change * (change < 0 ? kFaster : kSlower);
      }
    }
    std::chrono::duration<double, std::nano> time_of(std::uint64_t bytes) const {
      return std::chrono::duration<double, std::nano>(per_byte * static_cast<double>(bytes));
    }

    double per_byte = 0;  // ns
    std::uint32_t count = 0;
  };

  // The faster way takes `now` for a byte; one run in `every` is to go the other way.
  void settle(double now, std::uint32_t every) {
    then_ = now;
    every_ = every;
    asked_ = 0;
  }

  // Than it was when it settled: perhaps it is the faster way no more.
  static constexpr double kMuchSlower = 1.5;
  Way read_, sent_;
  bool slow_ = false;        // the last reading that was timed
  bool faster_ = false;      // reading was, when it was asked last,
  double then_ = 0;          // and the faster way took so long for a byte when it settled
  std::uint32_t every_ = 0;  // one run in so many goes the other way; 0: it has not settled yet
  std::uint32_t asked_ = 0;  // offers since it settled
};

/// What became of payload that we offered to a peer.
class OffersMade {
 public:
  /// A peer that had so many in a row sent is offered a run of messages now and then, until it
  /// reads so many in a row: fewer may be a try.
  static constexpr std::uint32_t kInARow = OfferTimes::kRun + 1;
  /// One run in so many at first; after each that changes nothing the next is twice as far, up to
  /// kRareOffer, or less for longer payload, of which an offer is no large part.
  static constexpr std::uint32_t kOfferEvery = 16, kRareOffer = 256, kRareOfOthers = 64;

  bool is_worth_another() const {
    return !few_ || messages_ - since_ >= (every_ - 1) * OfferTimes::kRun;
  }
  /// A message of so much payload left, offered or not.
  void count_message(std::uint64_t bytes) {
    if (++messages_ - since_ < every_ * OfferTimes::kRun) return;
    since_ = messages_;
    if (few_) every_ = std::min(2 * every_, bytes < kMiddlePayload ? kRareOffer : kRareOfOthers);
  }
  /// One was read, or was to be sent.
  void count_answer(bool read) {
    in_a_row_ = read == read_ ? in_a_row_ + 1 : 1;
    read_ = read;
    if (in_a_row_ < kInARow || few_ != read) return;
    few_ = !read;
    every_ = kOfferEvery;
    since_ = messages_;
  }

 private:
  bool few_ = false;                   // are offered,
  std::uint32_t every_ = kOfferEvery;  // one run of messages in so many
  bool read_ = false;                  // the last one was,
  std::uint32_t in_a_row_ = 0;         // and so many with it
  std::uint32_t messages_ = 0;         // that could be offered
  std::uint32_t since_ = 0;            // so many of these were there when the last run ended
};

/// One for each class of lengths of payload; what is offered in runs is weighed apart.
template <typename Each>
class ByLength {
 public:
  Each& of(std::uint64_t bytes, bool in_runs = false) {
    return each_[in_runs]
                [(bytes >= kMiddlePayload) + (bytes >= kLongPayload) + (bytes >= kHugePayload)];
  }
  const Each& of(std::uint64_t bytes, bool in_runs = false) const {
    return const_cast<ByLength*>(this)->of(bytes, in_runs);
  }

 private:
  std::array<std::array<Each, 4>, 2> each_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_OFFER_TIMES_H_
