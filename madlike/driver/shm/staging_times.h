// StagingTimes: whether short runs are better collected beside the ring and copied there as one, or
// written to it one by one, by the time that both took so far (ADR 39).
//
// Between cores that share a cache the second copy is work for nothing.  Between others the lines
// of the ring are the reader's, and one long copy takes them over without waiting for what they
// had.  Nobody knows where the system runs the two processes, nor for how long it stays so.
#ifndef MADLIKE_DRIVER_SHM_STAGING_TIMES_H_
#define MADLIKE_DRIVER_SHM_STAGING_TIMES_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace mad {

/// Of pieces to one peer whose runs are about as long.
class StagingTimes {
 public:
  using Clock = std::chrono::steady_clock;

  /// Of a period's pieces, so many at first, the last two go the other way, the second of them
  /// timed: the one before finds other lines in the caches than it leaves.  The one in the middle
  /// is timed, too: the very first of all also pays for memory that nobody had touched.  As long as
  /// that changes nothing the next period is twice as long, up to kLongest; they are odd, since
  /// messages of two kinds may alternate.
  static constexpr std::uint32_t kPeriod = 31, kLongest = 255;
  /// The way changes for one that takes less than this share of the time.
  static constexpr double kFaster = 0.9;

  /// How the next piece goes.
  struct Way {
    bool staged;
    bool timed;
  };
  Way next() {
    if (piece_ == period_) begin(std::min(2 * period_ + 1, kLongest));
    const std::uint32_t left = period_ - piece_++;
    const bool other = left <= 2;
    return {staged_ != other, left == 1 || left == (period_ + 1) / 2};
  }
  /// A piece that was to be timed took so long.
  void took(Way way, std::size_t bytes, Clock::duration time) {
    // One that took long says less, and counts as twice as long at most: somebody else was on the
    // core.
    constexpr double kOfFaster = 0.5, kOfSlower = 0.125, kMost = 2;
    const double last = std::chrono::duration<double, std::nano>(time).count() /
                        static_cast<double>(std::max<std::size_t>(bytes, 1));
    std::optional<double>& known = per_byte_[way.staged];
    if (!known) {
      known = last;
    } else {
      const double change = std::min(last, kMost * *known) - *known;
      *known += change * (change < 0 ? kOfFaster : kOfSlower);
    }
    const std::optional<double>&mine = per_byte_[staged_], &others = per_byte_[!staged_];
    if (!mine || !others || *others >= kFaster * *mine) return;
    staged_ = !staged_;
    begin(kPeriod);
  }

 private:
  void begin(std::uint32_t period) {
    period_ = period;
    piece_ = 0;
  }

  bool staged_ = true;
  std::uint32_t piece_ = 0;  // of its period
  std::uint32_t period_ = kPeriod;
  std::array<std::optional<double>, 2> per_byte_;  // ns, by whether it was staged
};

/// For runs of up to kMostRun bytes, by their length.
class StagingTimesByRun {
 public:
  static constexpr std::uint64_t kMostRun = 4096;

  StagingTimes& of(std::uint64_t run_bytes) {
    constexpr std::array<std::uint64_t, 2> kEnds{64, 512};
    std::size_t place = 0;
    while (place < kEnds.size() && run_bytes > kEnds[place]) ++place;
    return each_[place];
  }

 private:
  std::array<StagingTimes, 3> each_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_STAGING_TIMES_H_
