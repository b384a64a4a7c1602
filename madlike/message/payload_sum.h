// PayloadSum: the CRC32C of the payload in one frame, made at its sender and checked, piece by
// piece as it arrives, at its receiver (docs/adr/0014-payload-checksum.md).
#ifndef MADLIKE_MESSAGE_PAYLOAD_SUM_H_
#define MADLIKE_MESSAGE_PAYLOAD_SUM_H_

#include <cstdint>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/message/packet.h"
#include "madlike/message/wire.h"

namespace mad {

/// Gives a MESSAGE or DATA frame the sum of its payload: of what `packet` has behind the frame and
/// the message's header.
void add_checksum(const Packet& packet, Frame& frame);

class PayloadSum {
 public:
  /// A frame begins to arrive.
  void begin(const Frame& frame) {
    checked_ = frame.checked;
    expected_ = frame.sum;
    here_ = 0;
    first_ = next_ = frame.offset;
  }
  /// Whether it has a checksum; else nothing is to be added.
  bool checked() const { return checked_; }
  void add(Segment payload);
  /// All of its payload was added.  kCorrupt: it is not what was sent.
  Status result(std::uint64_t payload_bytes) const;

 private:
  bool checked_ = false;
  std::uint32_t expected_ = 0;
  std::uint32_t here_ = 0;   // of [first_, next_)
  std::uint64_t first_ = 0;  // offsets in the message's payload
  std::uint64_t next_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_PAYLOAD_SUM_H_
