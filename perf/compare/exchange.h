// Exchange: the buffers of one cell on one rank, and what must stand in them.
//
// What arrives is verified against the literal expansion of the layout, never by a datatype:
// the bytes of the type map are the sender's, all others are untouched.
#ifndef PERF_COMPARE_EXCHANGE_H_
#define PERF_COMPARE_EXCHANGE_H_

#include <cstdint>
#include <string>

#include "perf/micro/cell.h"
#include "perf/micro/expansion.h"
#include "perf/micro/layouts.h"

namespace compare {

class Exchange {
 public:
  Exchange(const micro::LayoutKind& kind, std::int64_t bytes);

  const micro::Layout& layout() const { return layout_; }
  /// What MPI calls the buffers.
  void* out() const { return out_.data() - low_; }
  void* in() const { return in_.data() - low_; }

  /// New bytes to send, and nothing received yet.
  void prepare(std::uint64_t stamp, int rank) const;
  /// Empty, or which byte of what `rank` received is wrong.
  std::string verify(std::uint64_t stamp, int rank) const;

 private:
  micro::Layout layout_;
  micro::Expansion expansion_;
  std::int64_t low_;
  micro::Memory out_;
  micro::Memory in_;
};

}  // namespace compare

#endif  // PERF_COMPARE_EXCHANGE_H_
