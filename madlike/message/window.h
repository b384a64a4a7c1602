// Window: memory of a receiver in which its peer places the rest of a payload.
//
// The memory is one run, or runs of one length that lie one distance apart (the rows of a matrix's
// part, say), as fabrics without scattered writes need it: the sender then writes run by run.
#ifndef MADLIKE_MESSAGE_WINDOW_H_
#define MADLIKE_MESSAGE_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "madlike/base/segment.h"
#include "madlike/driver/driver.h"

namespace mad {

struct Window {
  struct Place {
    std::uint64_t offset;  // from the token's address
    std::uint64_t bytes;   // that stand there in one run
  };
  /// Where the byte `offset` of what belongs into the window stands.
  Place place(std::uint64_t offset) const;
  /// Whether no two bytes share a place.
  bool valid() const;

  ExposureToken token{};
  std::uint64_t run = 0;     // bytes of a run; 0: everything is one
  std::uint64_t stride = 0;  // bytes from one run's start to the next one's
  std::uint64_t lead = 0;    // bytes of the first run that stand before the token's address
};

/// Bytes between the first and the last of `size` bytes of runs, and how these lie in it.
struct StridedMemory {
  Segment span;
  Window window;  // without token
};

/// The bytes [first, first + size) of `memory`, if they are at least two runs of one length, of
/// which the first and the last may be cut, in ascending order and one distance apart; and if that
/// length is at least `least_run`.  Looks at every run.
std::optional<StridedMemory> strided_memory(ScatteredMemory& memory, std::uint64_t first,
                                            std::uint64_t size, std::uint64_t least_run);

}  // namespace mad

#endif  // MADLIKE_MESSAGE_WINDOW_H_
