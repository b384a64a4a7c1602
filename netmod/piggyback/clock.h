// Clock: what one process knows of the order of events, and the value that says it to others.
//
// Of up to kMostRanks processes it is a vector clock, which tells exactly whether one event
// happened before another.  Of more it is Lamport's, one number: of two events the one with the
// smaller number did not happen after the other, and more it does not say.  Counted are the
// receives of a process, since races are found between those.
#ifndef NETMOD_PIGGYBACK_CLOCK_H_
#define NETMOD_PIGGYBACK_CLOCK_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mad::piggyback {

class Clock {
 public:
  static constexpr int kMostRanks = 64;  // counters of 4 bytes in a value of 256

  Clock(int rank, int ranks) : rank_(rank), counters_used_(ranks <= kMostRanks ? ranks : 1) {}

  bool exact() const { return counters_used_ > 1; }
  /// The value that messages take along: these bytes, which change as the clock does.
  const void* value() const { return counters_.data(); }
  std::size_t value_bytes() const {
    return sizeof(std::uint32_t) * static_cast<std::size_t>(counters_used_);
  }

  /// A receive is complete: the number that it has among those of this process.
  std::uint32_t tick() { return ++counters_[own()]; }

  /// What the sender of a message knew goes before what this process does from now on.
  void merge(const void* value, std::size_t bytes) {
    for (std::size_t i = 0; i < std::min(bytes, value_bytes()) / sizeof(std::uint32_t); ++i) {
      counters_[i] = std::max(counters_[i], counter_in(value, i));
    }
  }

  /// Whether a message with this value may have been sent without knowledge of this process's
  /// receive `number`: exactly that, or, if the clock is not exact, only where it is certain.
  bool is_unaware(const void* value, std::size_t bytes, std::uint32_t number) const {
    return bytes == value_bytes() && counter_in(value, own()) < number;
  }

 private:
  static std::uint32_t counter_in(const void* value, std::size_t place) {
    std::uint32_t counter = 0;
    std::memcpy(&counter, static_cast<const std::byte*>(value) + place * sizeof(counter),
                sizeof(counter));
    return counter;
  }
  std::size_t own() const { return exact() ? static_cast<std::size_t>(rank_) : 0; }

  int rank_;
  int counters_used_;
  std::array<std::uint32_t, kMostRanks> counters_{};
};

}  // namespace mad::piggyback

#endif  // NETMOD_PIGGYBACK_CLOCK_H_
