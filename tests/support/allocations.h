// Counts what is allocated with operator new, in tests that prove that a path allocates nothing.
//
// Linking this target replaces the global operators.  The count is the calling thread's.
#ifndef TESTS_SUPPORT_ALLOCATIONS_H_
#define TESTS_SUPPORT_ALLOCATIONS_H_

#include <cstddef>
#include <cstdint>

namespace mad::test {

struct Allocations {
  std::size_t count = 0;
  std::size_t bytes = 0;
};

/// Of this thread, since it started.
Allocations allocations();

/// Makes every further allocation of this thread of at least `bytes`, and at most `to`, fail; 0:
/// none.
void fail_allocations_from(std::size_t bytes, std::size_t to = SIZE_MAX);

/// While it lives the thread's next `count` allocations are had, and no further one.
class AllocationsLeft {
 public:
  explicit AllocationsLeft(std::size_t count);
  ~AllocationsLeft();
  AllocationsLeft(const AllocationsLeft&) = delete;
  AllocationsLeft& operator=(const AllocationsLeft&) = delete;
  /// Whether one more was asked for.
  static bool failed();
};

}  // namespace mad::test

#endif  // TESTS_SUPPORT_ALLOCATIONS_H_
