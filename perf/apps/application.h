// Application: a program on several ranks, apart from what carries its messages.
//
// A step is an exchange with the neighbours and then a computation.  All ranks have as much, and
// the world is periodic, so that one rank exchanges with itself.  The same program on one rank,
// with all of the world, is what the others must be a part of, bit by bit.
#ifndef PERF_APPS_APPLICATION_H_
#define PERF_APPS_APPLICATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "perf/apps/face.h"

namespace apps {

/// Message number k of every rank is the one that number k of another rank receives.
struct Route {
  int to, from;  // ranks
  Face out;      // goes to `to`
  Face in;       // is filled from `from`
  Face there;    // of the receiver's memory: what its `in` is for this message
};

class Application {
 public:
  Application() = default;
  virtual ~Application() = default;
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  /// Bytes of memory that start() is to be given; it remains the caller's.
  virtual std::int64_t bytes() const = 0;
  /// The state before the first exchange.
  virtual void start(std::byte* memory) = 0;
  /// As many for all ranks, in the order of the messages' numbers.
  const std::vector<Route>& routes() const { return routes_; }
  /// Whether compute() changes what leaves, and so the lists of routes().
  virtual bool changes() const { return false; }
  /// What follows an exchange.
  virtual void compute() = 0;
  /// Of the state; the sum over the ranks is that of the whole.
  virtual std::uint64_t checksum() const = 0;
  /// Whether the state is, bit by bit, what `whole` (the same program on one rank) has there.
  virtual bool is_part_of(const Application& whole) const = 0;

 protected:
  std::vector<Route> routes_;
};

/// Of 8 bytes and their place: sums of these tell states apart.
constexpr std::uint64_t mixed(std::uint64_t value, std::uint64_t place) {
  value = (value ^ (place * 0x9E3779B97F4A7C15U)) * 0xBF58476D1CE4E5B9U;
  return (value ^ (value >> 29U)) * 0x94D049BB133111EBU;
}

}  // namespace apps

#endif  // PERF_APPS_APPLICATION_H_
