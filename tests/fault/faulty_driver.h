// FaultyDriver: any driver, made as unpleasant as driver.h allows.
//
// It stands between its user and a real driver and, led by a seeded plan, refuses posts, hands
// completions out late, few at a time and in another order, refuses to expose memory, lets remote
// writes fail, flips bits of packets on their way, and cuts a connection at a chosen operation.
// What driver.h promises stays true: packets of one connection keep their order and come before its
// end, and every accepted packet has exactly one completion.  The same plan over the same calls
// does the same thing again.
#ifndef TESTS_FAULT_FAULTY_DRIVER_H_
#define TESTS_FAULT_FAULTY_DRIVER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "madlike/driver/driver.h"

namespace mad {

/// Sees the packets that the real driver is given, each as one run, and says what of one is
/// payload.  Of those that leave in pieces it sees the first one, which `rest` bytes follow.
class PacketTap {
 public:
  virtual ~PacketTap() = default;
  /// The part of `packet` in which a bit may flip; nothing where its size is 0.
  virtual Segment payload(Segment packet, std::size_t rest) = 0;
  /// The packet is about to be posted, perhaps again; its receiver has not seen it.
  virtual void posting(Segment packet, std::size_t rest) = 0;
  /// The packet was accepted, with a bit that is wrong.
  virtual void damaged(Segment packet, std::size_t rest) = 0;
};

/// What goes wrong and how often; rates are per thousand.
struct FaultPlan {
  std::uint64_t seed = 1;
  unsigned refuse_post = 0;    // of posts of all kinds: kAgain, nothing done
  unsigned delay = 0;          // of completions: held back for 1..max_delay polls
  unsigned max_delay = 1;      // polls
  unsigned short_poll = 0;     // of poll(): hands out one completion at most
  unsigned refuse_expose = 0;  // of expose(): kNoMemory
  unsigned fail_write =
      0;  // of post_write(): refused for good, or accepted and the connection breaks
  unsigned flip_bit = 0;     // of packets that `tap` finds payload in: one bit arrives wrong
  PacketTap* tap = nullptr;  // outlives the driver
  bool reorder = false;      // completions that may overtake one another do
  /// The post, counted from 1 over all that were accepted, at which its connection breaks (or
  /// `at_death` is called instead, once); 0: never.
  std::uint64_t dies_at = 0;
  std::function<void()> at_death;
};

/// What did go wrong.
struct FaultCounts {
  std::uint64_t refused_posts = 0;
  std::uint64_t delayed = 0;
  std::uint64_t overtakings = 0;
  std::uint64_t refused_exposures = 0;
  std::uint64_t failed_writes = 0;
  std::uint64_t flipped_bits = 0;
  std::uint64_t deaths = 0;
};

class FaultyDriver final : public Driver {
 public:
  FaultyDriver(std::unique_ptr<Driver> inner, FaultPlan plan);
  ~FaultyDriver() override;

  const FaultCounts& counts() const { return counts_; }
  std::uint64_t accepted_posts() const { return accepted_; }
  Driver& inner() { return *inner_; }

  /// The connection breaks here and now, as if the peer had died.
  void cut(ConnectionId connection);

  const DriverCaps& caps() const override { return inner_->caps(); }
  const std::vector<std::byte>& address() const override { return inner_->address(); }
  Result<ConnectionId> connect(const std::byte* address, std::size_t size) override;
  const std::vector<std::byte>& peer_address(ConnectionId connection) const override;
  Status post_send(ConnectionId connection, SegmentList packet, void* context) override;
  void cork(ConnectionId connection) override { inner_->cork(connection); }
  void uncork(ConnectionId connection) override { inner_->uncork(connection); }
  const LinkCaps& link(ConnectionId connection) const override {
    return cut_.count(connection) == 0 ? inner_->link(connection) : caps().nearest();
  }
  Status post_lent(ConnectionId connection, PacketWriter& writer) override;
  Result<ExposureToken> expose(ConnectionId connection, Segment memory) override;
  void withdraw(ConnectionId connection, const ExposureToken& token) override;
  Result<ExposureToken> expose_scattered(ConnectionId connection, ScatteredMemory& memory,
                                         std::uint64_t first, std::uint64_t size) override;
  Status post_write(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                    std::uint64_t offset, void* context) override;
  Result<ExposureToken> share(Segment memory) override { return inner_->share(memory); }
  void unshare(const ExposureToken& token) override { inner_->unshare(token); }
  Status post_put(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                  std::uint64_t offset, void* context) override;
  Result<std::size_t> post_get(ConnectionId connection, Segment memory, const ExposureToken& token,
                               std::uint64_t offset, void* context) override;
  Status read_offered(ConnectionId connection, std::uint64_t address, std::uint64_t bytes,
                      ScatteredMemory& memory) override;
  Status place_rest(ConnectionId connection, ScatteredMemory& memory, std::uint64_t first) override;
  std::size_t poll(Completion* out, std::size_t capacity) override;
  Status watch(std::vector<pollfd>* out) override;
  void release(void* buffer) override { inner_->release(buffer); }
  void disconnect(ConnectionId connection) override;

 private:
  struct Held {
    Completion completion;
    std::uint64_t taken;  // at this poll from the inner driver
    std::uint64_t due;    // the poll at which it may be handed out
  };

  class TappedWriter;

  bool happens(unsigned per_thousand) { return random_() % 1000 < per_thousand; }
  Status before_expose(ConnectionId connection);
  Status before_post(ConnectionId connection);
  bool flip(Segment packet, std::size_t rest);
  Status post_tapped(ConnectionId connection, SegmentList packet, void* context);
  Status after_post(ConnectionId connection, Status status);
  void hold(const Completion& completion);
  void drop(const Completion& completion);
  void take_from_inner();
  std::vector<std::size_t> eligible() const;

  std::deque<std::vector<std::byte>> tapped_;  // packets that inner_ may still read
  std::unique_ptr<Driver> inner_;
  const FaultPlan plan_;
  FaultCounts counts_;
  std::mt19937_64 random_;
  std::uint64_t polls_ = 0;
  std::uint64_t accepted_ = 0;
  std::vector<Held> held_;          // in order of arrival
  std::vector<void*> cut_buffers_;  // of connections that are cut: earlier pieces may stand in them
  std::set<ConnectionId> cut_;
  std::set<ConnectionId> gone_;        // ended: posts get the inner driver's error, never kAgain
  std::set<ConnectionId> unfinished_;  // of which a packet, seen by the tap, has pieces to come
  std::set<ConnectionId> in_pieces_;   // of which a piece but the last was handed out in this poll
  std::set<ConnectionId> fresh_;       // of which a piece was handed out in this poll, as it came
};

}  // namespace mad

#endif  // TESTS_FAULT_FAULTY_DRIVER_H_
