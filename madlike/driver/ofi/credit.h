// Credit: how many packets a peer may have on the way to us, and we to it.
//
// An RDMA device that finds no receive buffer for a packet refuses it, and the sender's device
// tries again after a while: everything behind the packet waits; and of reliable datagrams not all
// providers try.  So engines on devices, and all that send datagrams, send a packet only where the
// receiver has a buffer for it.  A side's *grant* is its share of the other side's buffers.  Each
// unit of it is at the peer or on its way, in a packet that our caller has not released (held), or
// to be given back (owed), which goes with the next packet to the peer, or in one of its own once
// half of the grant is owed.
//
// The last unit is kept for packets that give credit, so that they are never kept back on both
// sides: who sends one has half of the other's grant to give, and the other can then answer.  As
// such a packet takes one unit and gives at least two (kLeast / 2), two idle sides come to rest.
//
// Where a fabric holds back what its receiver has no buffer for, as TCP does, nothing is counted:
// the grant is kUncounted.
#ifndef MADLIKE_DRIVER_OFI_CREDIT_H_
#define MADLIKE_DRIVER_OFI_CREDIT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace mad {

/// The receive buffers of an engine that no peer has a right to.
class CreditPool {
 public:
  static constexpr std::uint16_t kUncounted = 0xFFFF;
  static constexpr std::uint16_t kLeast = 4, kFirst = 8, kMost = 64;  // of one peer
  /// For last packets, which take no credit.
  static constexpr std::int64_t kReserve = 8;

  /// `buffers` 0: nothing is counted.
  explicit CreditPool(std::size_t buffers)
      : counts_(buffers > 0), spare_(static_cast<std::int64_t>(buffers) - kReserve) {}

  bool counts() const { return counts_; }
  /// The grant of a new peer.  Every peer has the least one: with more than (buffers - kReserve) /
  /// kLeast of them packets may come for which no buffer is left: a device tries again.
  std::uint16_t first() {
    if (!counts_) return kUncounted;
    const auto grant =
        static_cast<std::uint16_t>(std::clamp<std::int64_t>(spare_ / 2, kLeast, kFirst));
    spare_ -= grant;
    return grant;
  }
  /// Whether a peer's first grant may be that much: both sides count, or neither does.
  bool may_be_given(std::uint16_t units) const {
    return counts_ ? units >= kLeast && units <= kMost : units == kUncounted;
  }
  void give_back(std::int64_t units) { spare_ += units; }
  bool has_plenty() const { return spare_ > 2 * kFirst; }
  bool is_short() const { return spare_ < kFirst; }

 private:
  const bool counts_;
  std::int64_t spare_;  // units; less than 0 with very many peers
};

/// Both sides of one connection.
class Credit {
 public:
  // What we may send.
  void set_given(std::uint16_t units) { ours_ = units; }
  /// False: more than any peer has.
  bool add_given(std::uint16_t units) {
    if (ours_ == CreditPool::kUncounted) return true;
    if (units > CreditPool::kMost || ours_ + units > CreditPool::kMost) return false;
    ours_ = static_cast<std::uint16_t>(ours_ + units);
    return true;
  }
  bool may_send() const { return ours_ > 1; }
  bool may_give() const { return ours_ > 0; }
  void spend() {
    if (ours_ != CreditPool::kUncounted) --ours_;
  }

  // What the peer may send.
  void set_grant(std::uint16_t units) { grant_ = units; }
  std::uint16_t grant() const { return grant_; }
  /// A packet has come; false: the peer had no right to send it.
  bool arrived() {
    if (grant_ == CreditPool::kUncounted) return true;
    if (held_ + owed_ >= grant_) return false;
    ++held_;
    return true;
  }
  /// Its buffer is free again.  Who sends much gets more while there is plenty, and less when there
  /// is too little for others.
  void released(CreditPool* pool) {
    if (grant_ == CreditPool::kUncounted) return;
    --held_;
    ++owed_;
    if (grant_ < CreditPool::kMost && pool->has_plenty()) {
      ++grant_;
      ++owed_;
      pool->give_back(-1);
    } else if (grant_ > CreditPool::kLeast && pool->is_short()) {
      --grant_;
      --owed_;
      pool->give_back(1);
    }
  }
  bool is_much_owed() const { return owed_ > 0 && owed_ >= grant_ / 2; }
  /// What a packet to the peer gives it, which is then not owed any more.
  std::uint16_t give() { return std::exchange(owed_, std::uint16_t{0}); }
  /// The packet did not leave.
  void take_back(std::uint16_t units) { owed_ += units; }
  /// The connection has ended.  What is held comes back to the pool when it is released.
  void end(CreditPool* pool) {
    if (grant_ == CreditPool::kUncounted) return;
    pool->give_back(grant_ - held_);
    grant_ = held_ = owed_ = 0;
  }

 private:
  std::uint16_t ours_ = 0;
  std::uint16_t grant_ = 0, held_ = 0, owed_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_CREDIT_H_
