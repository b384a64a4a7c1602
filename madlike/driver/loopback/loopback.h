// The loopback fabric: engines inside one process, for sends to oneself and for tests.
//
// A LoopbackNetwork is the fabric; every LoopbackDriver opened on it is one engine with an address
// of its own.  A packet is copied once, at post time, into a buffer of the receiver.  The limits of
// the fabric are the network's, so that a test can make it as narrow as any real one.
//
// Drivers of one network may be used from different threads, one thread per driver: everything they
// share stands under the network's mutex.
#ifndef MADLIKE_DRIVER_LOOPBACK_LOOPBACK_H_
#define MADLIKE_DRIVER_LOOPBACK_LOOPBACK_H_

#include <memory>
#include <vector>

#include "madlike/driver/driver.h"

namespace mad {

struct LoopbackOptions {
  std::size_t max_iov = 16;
  std::size_t max_packet_bytes = 64 * 1024;
  std::size_t inject_bytes = 256;
  std::size_t queue_depth = 64;  // packets per connection and direction that are not yet released
  bool remote_write = true;
  bool one_sided = true;
  std::size_t max_write_iov = 16;
  std::size_t max_write_bytes = 1024 * 1024;
  std::size_t piece_bytes = 0;                     // as in LinkCaps
  std::size_t cork_bytes = 0;                      // as in LinkCaps, but nothing is kept back
  std::size_t lent_bytes = 0;                      // of a piece of lent memory; 0: it lends none
  std::size_t short_bytes = 0;                     // as in LinkCaps, where none is lent
  std::size_t offered_from = 0, most_offered = 0;  // as in LinkCaps
  bool weighs_offers = false;                      // as in LinkCaps
};

class LoopbackPort;

/// The fabric; it lives as long as any of its drivers.
class LoopbackNetwork {
 public:
  explicit LoopbackNetwork(const LoopbackOptions& options = {});
  ~LoopbackNetwork();
  LoopbackNetwork(const LoopbackNetwork&) = delete;
  LoopbackNetwork& operator=(const LoopbackNetwork&) = delete;

  const DriverCaps& caps() const { return caps_; }

 private:
  friend class LoopbackDriver;
  friend class LoopbackPort;
  struct State;
  DriverCaps caps_;
  std::size_t queue_depth_;
  std::size_t cut_bytes_;  // longer packets are handed out in pieces; 0: none
  std::unique_ptr<State> state_;
};

class LoopbackDriver : public Driver {
 public:
  explicit LoopbackDriver(std::shared_ptr<LoopbackNetwork> network);
  /// Without a disconnect() before, peers see an engine that died.
  ~LoopbackDriver() override;

  const DriverCaps& caps() const override;
  const std::vector<std::byte>& address() const override;
  Result<ConnectionId> connect(const std::byte* address, std::size_t size) override;
  const std::vector<std::byte>& peer_address(ConnectionId connection) const override;
  Status post_send(ConnectionId connection, SegmentList packet, void* context) override;
  const LinkCaps& link(ConnectionId connection) const override;
  Status post_lent(ConnectionId connection, PacketWriter& writer) override;
  Result<ExposureToken> expose(ConnectionId connection, Segment memory) override;
  void withdraw(ConnectionId connection, const ExposureToken& token) override;
  Status post_write(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                    std::uint64_t offset, void* context) override;
  Result<ExposureToken> share(Segment memory) override;
  void unshare(const ExposureToken& token) override;
  Status post_put(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                  std::uint64_t offset, void* context) override;
  Result<std::size_t> post_get(ConnectionId connection, Segment memory, const ExposureToken& token,
                               std::uint64_t offset, void* context) override;
  Status read_offered(ConnectionId connection, std::uint64_t address, std::uint64_t bytes,
                      ScatteredMemory& memory) override;
  Status place_rest(ConnectionId connection, ScatteredMemory& memory, std::uint64_t first) override;
  std::size_t poll(Completion* out, std::size_t capacity) override;
  /// An engine that is alone on its network may sleep; others could not wake it.
  Status watch(std::vector<pollfd>* out) override;
  void release(void* buffer) override;
  void disconnect(ConnectionId connection) override;

  /// For tests: this engine dies here and now.  Peers see kPeerFailed; every further post fails.
  void fail();

  /// For tests: receive buffers that exist, in use or not.
  std::size_t buffers() const;

 private:
  /// Memory of the peer that is shared; null: it may not be accessed there.
  std::byte* shared_at(const LoopbackPort& peer, const ExposureToken& token, std::uint64_t offset,
                       std::size_t bytes) const;
  void push_written(ConnectionId connection, void* context, const Status& status);
  /// kOk: the connection can carry another write.
  Status may_write(ConnectionId connection) const;

  // Stays out of poll(), as there is mostly nothing.
  [[gnu::noinline]] std::size_t take_news(Completion* out, std::size_t capacity);

  std::shared_ptr<LoopbackNetwork> network_;
  std::shared_ptr<LoopbackPort> port_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_LOOPBACK_LOOPBACK_H_
