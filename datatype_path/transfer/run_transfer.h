// RunSource, RunSink: a payload that is one run of memory.  No cursor, no state but a place.
#ifndef DATATYPE_PATH_TRANSFER_RUN_TRANSFER_H_
#define DATATYPE_PATH_TRANSFER_RUN_TRANSFER_H_

#include <cstddef>
#include <cstdint>

#include "madlike/base/segment.h"
#include "madlike/message/messenger.h"

namespace mad {

class RunSource final : public PayloadSource {
 public:
  /// Pieces of at least `reference_from` bytes are referenced, shorter ones copied into the packet.
  RunSource(Segment run, std::uint64_t reference_from)
      : next_(run), reference_from_(reference_from) {}

  void fill(Packet& packet, std::uint64_t limit) override;

 private:
  Segment next_;
  std::uint64_t reference_from_;
};

class RunSink final : public PayloadSink {
 public:
  explicit RunSink(Segment run) : run_(run) {}

  void place(std::uint64_t offset, Segment bytes) override;
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                   std::size_t capacity) override;

 private:
  Segment run_;
};

}  // namespace mad

#endif  // DATATYPE_PATH_TRANSFER_RUN_TRANSFER_H_
