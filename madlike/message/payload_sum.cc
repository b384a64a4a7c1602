#include "madlike/message/payload_sum.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "madlike/checksum/crc32c.h"

namespace mad {

void add_checksum(const Packet& packet, Frame& frame) {
  std::size_t headers = kFrameBytes + padded_bytes(frame.header_bytes);
  frame.checked = true;
  frame.sum = 0;
  for (const Segment& segment : packet.segments()) {
    const std::size_t skipped = std::min(headers, segment.size);
    headers -= skipped;
    frame.sum = crc32c(frame.sum, segment.begin() + skipped, segment.size - skipped);
  }
}

void PayloadSum::add(Segment payload) {
  here_ = crc32c(here_, payload.data, payload.size);
  next_ += payload.size;
}

Status PayloadSum::result(std::uint64_t payload_bytes) const {
  if (here_ == expected_) return {};
  char sums[64];
  std::snprintf(sums, sizeof(sums), "is %08x, and was %08x at the sender", here_, expected_);
  return {StatusCode::kCorrupt, "bytes " + std::to_string(first_) + " to " +
                                    std::to_string(next_ - 1) + " of a payload of " +
                                    std::to_string(payload_bytes) +
                                    " were changed on their way: their CRC32C " + sums};
}

}  // namespace mad
