// RdmDriver: an ofi engine with one endpoint for reliable datagrams (FI_EP_RDM).  Peers meet at a
// door, whose socket tells of their end.  Its parts stand in one file each: rdm_setup.cc
// (connections come), rdm_ending.cc (and end), rdm_post.cc (packets leave), rdm_receive.cc (and
// come), rdm_progress.cc (the poll path).
#ifndef MADLIKE_DRIVER_OFI_RDM_DRIVER_H_
#define MADLIKE_DRIVER_OFI_RDM_DRIVER_H_

#include <memory>
#include <vector>

#include "madlike/driver/door/out_of_band.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/ofi/credit.h"
#include "madlike/driver/ofi/memory.h"
#include "madlike/driver/ofi/ofi.h"
#include "madlike/driver/ofi/peer_addresses.h"
#include "madlike/driver/ofi/rdm_connection.h"
#include "madlike/driver/ofi/rdm_fabric.h"

namespace mad {

class RdmDriver final : public OutOfBandDriver<RdmConnection> {
 public:
  static Result<std::unique_ptr<Driver>> open(const OfiOptions& options);
  RdmDriver(const OfiOptions& options, Door door, std::unique_ptr<RdmFabric> fabric);
  /// Peers that were not disconnected see an engine that died.
  ~RdmDriver() override;

  Status post_send(ConnectionId connection, SegmentList packet, void* context) override;
  Status post_lent(ConnectionId connection, PacketWriter& writer) override;
  Status post_write(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                    std::uint64_t offset, void* context) override;
  std::size_t poll(Completion* out, std::size_t capacity) override;
  /// kNotFound: nobody sleeps on such an endpoint.
  Status watch(std::vector<pollfd>* /*out*/) override { return StatusCode::kNotFound; }
  void release(void* buffer) override;
  void disconnect(ConnectionId connection) override;

  /// For tests: records of connections, and entries of the address vector.
  std::size_t connections() const { return connections_.size(); }
  std::size_t addresses() const { return addresses_.size(); }

 private:
  /// A peer that hung up without a last packet, and how long we still look for what it sent before.
  struct HungUp {
    ConnectionId connection;
    PolledClock::time_point deadline;
  };

  // rdm_setup.cc
  RdmConnection& add_connection(const DoorAddress& address) override;
  void on_socket(RdmConnection& connection) override;
  void on_readable(RdmConnection& connection) override;
  void on_offer(RdmConnection& connection);
  void greet(RdmConnection& connection) override;
  void connect_if_greeted(RdmConnection& connection);

  // rdm_ending.cc
  void send_last(RdmConnection& connection) override;
  void on_hang_up(RdmConnection& connection);
  void end_hung_up();
  void end(RdmConnection& connection, const Status& why) override;

  // rdm_post.cc
  Status post_copied(RdmConnection& connection, PacketWriter& writer, bool tells, void* context);
  ssize_t post(RdmSend& send);
  ssize_t post_alone(RdmConnection& connection, OfiHeader::Kind kind);
  RdmSend* take_send(RdmConnection& connection);
  void free_send(RdmSend& send);
  void is_due(RdmConnection& connection);
  void post_due();
  void look_after(RdmConnection& connection);
  bool post_unposted(RdmConnection& connection);
  void post_credit(RdmConnection& connection);

  // rdm_receive.cc
  void receive(ReceiveBuffer* buffer, std::size_t bytes);
  void take(RdmConnection& connection, ReceiveBuffer* buffer);
  void drop(ReceiveBuffer* buffer);
  void on_last(RdmConnection& connection);
  void refuse(const RdmConnection& connection, const char* what);

  // rdm_progress.cc
  [[gnu::noinline]] void look();  // most polls do without
  void progress();
  void sent(RdmSend& send, Status status);
  void read_error();

  const OfiOptions options_;
  std::unique_ptr<RdmFabric> fabric_;

  // Declared after fabric_: regions close before their domain.
  ReceivePool receives_;
  SendPool buffers_;
  std::vector<RdmSend> sends_;  // each with a buffer of its own
  std::vector<RdmSend*> free_sends_;
  PeerAddresses addresses_;
  CreditPool credits_;

  std::vector<HungUp> hung_up_;
  std::vector<ConnectionId> due_;  // RdmConnection::is_due
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_RDM_DRIVER_H_
