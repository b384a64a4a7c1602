// What the parts of a list, in packed order, could be instead: one loop over all of them, or loops
// over some.
//
// A `List` has size(), offset(i), and alike(i, j): whether two parts differ in their places at
// most.
#ifndef DATATYPE_PATH_PROGRAM_JOINS_H_
#define DATATYPE_PATH_PROGRAM_JOINS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mad {

/// A list repeats itself after at most so many parts, or is not looked at as a loop; and a list of
/// at most so many is the body of the loop that repeats it.  A longer one is referred to: a list
/// may be shared.
constexpr std::size_t kMaxPeriod = 64;
/// A stretch of at most so many parts stays as it is: a short straight body walks faster than a
/// nest.
constexpr std::size_t kShortStretch = 8;
/// Equal-stride stretches inside a list become loops only if the list shrinks by this factor: a
/// plain list of runs walks faster than a list of loops and runs.
constexpr std::size_t kWorthwhileShrink = 4;

template <typename List>
bool alike_but_moved(const List& list, std::size_t i, std::size_t j, std::int64_t by) {
  return list.alike(i, j) && list.offset(j) - list.offset(i) == by;
}

/// The least p such that the list, which is not empty, is its first p parts over and over at one
/// stride; 0: there is none.
template <typename List>
std::size_t period(const List& list) {
  const std::size_t n = list.size();
  for (std::size_t p = 1; p <= std::min(kMaxPeriod, n / 2); ++p) {
    const std::int64_t stride = list.offset(p) - list.offset(0);
    // The last pair is unequal in most lists, which is sooner seen than a remainder.
    if (!alike_but_moved(list, n - 1 - p, n - 1, stride) || n % p != 0) continue;
    std::size_t i = 0;
    while (i + p < n && alike_but_moved(list, i, i + p, stride)) ++i;
    if (i + p == n) return p;
  }
  return 0;
}

/// End of the longest stretch from `from` on of parts that are alike at one stride; one of few
/// parts is taken part by part.
template <typename List>
std::size_t stretch_end(const List& list, std::size_t from) {
  std::size_t end = from + 1;
  if (end == list.size()) return end;
  const std::int64_t stride = list.offset(end) - list.offset(from);
  while (end < list.size() && alike_but_moved(list, end - 1, end, stride)) ++end;
  return end - from > kShortStretch ? end : from + 1;
}

/// How many stretches the list consists of, if that is worth loops; else 0.
template <typename List>
std::size_t worthwhile_stretches(const List& list) {
  const std::size_t worthwhile = list.size() / kWorthwhileShrink;
  std::size_t stretches = 0;
  for (std::size_t i = 0; i < list.size(); i = stretch_end(list, i)) {
    if (++stretches > worthwhile) return 0;
  }
  return stretches;
}

}  // namespace mad

#endif  // DATATYPE_PATH_PROGRAM_JOINS_H_
