// PacketOrder: packets of one peer in the order sent, where the fabric may bring them in another.
//
// Packets are numbered modulo 256.  As a peer has at most CreditPool::kMost of them on the way, and
// a last one, a number says which it is.  One that comes early waits in its buffer, of those that
// were granted to the peer.
#ifndef MADLIKE_DRIVER_OFI_ORDER_H_
#define MADLIKE_DRIVER_OFI_ORDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "madlike/driver/ofi/credit.h"

namespace mad {

/// Packet is what names one that waits.
template <typename Packet>
class PacketOrder {
 public:
  enum class Place {
    kNext,   // it is its turn: take it, then advance()
    kEarly,  // others are to come before: keep() it
    kNever   // no such packet is on the way
  };

  Place place(std::uint8_t number) const {
    const std::uint8_t distance = ahead(number);
    if (distance == 0) return Place::kNext;
    return distance <= CreditPool::kMost && find(number) == early_.end() ? Place::kEarly
                                                                         : Place::kNever;
  }
  void keep(std::uint8_t number, Packet* packet) { early_.push_back({number, packet}); }
  void advance() { ++next_; }
  /// The one that waited and whose turn it is now, which does not wait any more; or null.
  Packet* next() {
    const auto found = find(next_);
    if (found == early_.end()) return nullptr;
    Packet* const packet = found->packet;
    early_.erase(found);
    return packet;
  }
  /// One that waits, whatever its number, which does not any more; or null.
  Packet* drop() {
    if (early_.empty()) return nullptr;
    Packet* const packet = early_.back().packet;
    early_.pop_back();
    return packet;
  }
  std::size_t waiting() const { return early_.size(); }

 private:
  struct Early {
    std::uint8_t number;
    Packet* packet;
  };
  std::uint8_t ahead(std::uint8_t number) const {
    return static_cast<std::uint8_t>(number - next_);
  }
  typename std::vector<Early>::const_iterator find(std::uint8_t number) const {
    return std::find_if(early_.begin(), early_.end(),
                        [=](const Early& each) { return each.number == number; });
  }

  std::uint8_t next_ = 0;
  std::vector<Early> early_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_ORDER_H_
