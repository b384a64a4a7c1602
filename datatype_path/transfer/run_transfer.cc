#include "datatype_path/transfer/run_transfer.h"

#include <algorithm>

#include "madlike/base/copy_bytes.h"

namespace mad {

void RunSource::fill(Packet& packet, std::uint64_t limit) {
  std::size_t left = static_cast<std::size_t>(std::min<std::uint64_t>(limit, next_.size));
  while (left > 0) {
    const Segment room = packet.staging_room();
    std::size_t taken = 0;
    if ((left >= reference_from_ || room.size == 0) && packet.can_reference()) {
      taken = packet.reference({next_.data, left});
    } else if (room.size > 0) {
      taken = std::min(left, room.size);
      copy_bytes(room.data, next_.data, taken);
      packet.stage(taken);
    }
    if (taken == 0) return;
    next_ = {next_.begin() + taken, next_.size - taken};
    left -= taken;
  }
}

void RunSink::place(std::uint64_t offset, Segment bytes) {
  if (offset >= run_.size) return;
  copy_bytes(run_.begin() + offset, bytes.data, std::min(bytes.size, run_.size - offset));
}

std::size_t RunSink::runs(std::uint64_t offset, std::uint64_t size, Segment* out, std::size_t) {
  if (offset > run_.size || size > run_.size - offset) return 0;
  *out = {run_.begin() + offset, static_cast<std::size_t>(size)};
  return 1;
}

}  // namespace mad
