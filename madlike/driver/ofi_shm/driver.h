// OfiShmDriver: the class behind open_ofi_shm().  Its parts stand in one file each: setup.cc
// (connections come), agreement.cc (and open their memory), ending.cc (and end), post.cc (sends),
// progress.cc (the poll path).
#ifndef MADLIKE_DRIVER_OFI_SHM_DRIVER_H_
#define MADLIKE_DRIVER_OFI_SHM_DRIVER_H_

#include <memory>
#include <utility>
#include <vector>

#include "madlike/driver/connections/table.h"
#include "madlike/driver/door/door.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/chunk_pool.h"
#include "madlike/driver/ofi_shm/connection.h"
#include "madlike/driver/ofi_shm/fabric.h"
#include "madlike/driver/ofi_shm/ofi_shm.h"

namespace mad {

class OfiShmDriver : public Driver {
 public:
  static Result<std::unique_ptr<Driver>> open(const OfiShmOptions& options);
  /// Peers that were not disconnected see an engine that died.
  ~OfiShmDriver() override;

  const DriverCaps& caps() const override { return caps_; }
  const std::vector<std::byte>& address() const override { return door_.address(); }
  Result<ConnectionId> connect(const std::byte* address, std::size_t size) override;
  const std::vector<std::byte>& peer_address(ConnectionId connection) const override;
  Status post_send(ConnectionId connection, SegmentList packet, void* context) override;
  Result<ExposureToken> expose(ConnectionId connection, Segment memory) override;
  void withdraw(ConnectionId connection, const ExposureToken& token) override;
  Status post_write(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                    std::uint64_t offset, void* context) override;
  std::size_t poll(Completion* out, std::size_t capacity) override;
  Status watch(std::vector<pollfd>* out) override;
  void watched_by(std::vector<int>* out) const override { out->push_back(door_.watch().fd()); }
  void release(void* buffer) override { chunks_.drop_user(*static_cast<Chunk*>(buffer)); }
  void disconnect(ConnectionId connection) override;

 private:
  using State = OfiShmConnection::State;
  using Kind = OfiShmTag::Kind;

  OfiShmDriver(const OfiShmOptions& options, Door door, std::shared_ptr<OfiShmFabric> fabric);

  OfiShmConnection* find(ConnectionId id) { return connections_.find(id); }

  // setup.cc
  OfiShmConnection& add_connection(const DoorAddress& address);
  void set_state(OfiShmConnection& connection, State state);
  void on_door(Door::Event& event);
  void check_deadlines();

  // agreement.cc
  bool makes_gate(const OfiShmConnection& connection) const;
  void offer(OfiShmConnection& connection);
  Status make_offer(OfiShmConnection& connection);
  void send_note(OfiShmConnection& connection, OfiShmNote::Kind kind);
  void on_control(OfiShmConnection& connection);
  bool on_offer(OfiShmConnection& connection);
  bool on_note(OfiShmConnection& connection);
  Status open_offered(OfiShmConnection& connection);
  void open_if_ready(OfiShmConnection& connection);
  void greet(OfiShmConnection& connection);
  void connect_if_greeted(OfiShmConnection& connection);

  // ending.cc
  void close_memory(OfiShmConnection& connection);
  void send_last(OfiShmConnection& connection);
  void on_hang_up(OfiShmConnection& connection);
  void end_hung_up();
  void end_soon(ConnectionId connection, Status why) {
    connections_.end_soon(connection, std::move(why));
  }
  Status end_broken(OfiShmConnection& connection);
  void end_all_due() {
    connections_.end_due(
        [this](OfiShmConnection& connection, const Status& why) { end(connection, why); });
  }
  void end(OfiShmConnection& connection, Status why);
  void forget_left();

  // post.cc
  Status post(OfiShmConnection& connection, Kind kind, SegmentList packet, std::size_t bytes,
              void* context);
  void finish(OfiShmConnection& connection, Status status);
  void call(OfiShmConnection& connection);

  // progress.cc
  bool looking_is_due();
  void look();
  void advance_unsettled();
  bool may_post(const OfiShmConnection& connection) const;
  void post_buffers(OfiShmConnection& connection);
  std::size_t progress(OfiShmConnection& connection);
  bool take(OfiShmConnection& connection, const fi_cq_data_entry& entry);
  void take_message(OfiShmConnection& connection, Chunk& chunk, const fi_cq_data_entry& entry);
  void take_error(OfiShmConnection& connection);

  OfiShmOptions options_;
  DriverCaps caps_;
  Door door_;
  std::shared_ptr<OfiShmFabric> fabric_;
  ChunkPool chunks_;                               // that packets are received into
  ConnectionTable<OfiShmConnection> connections_;  // live: not kClosing, not kGone
  std::vector<OfiShmConnection*> opened_;          // whose memory is open on both sides

  std::vector<Door::Event> arrivals_;    // what look() found
  std::vector<ConnectionId> ready_;      // and whose control sockets have something
  std::vector<ConnectionId> unsettled_;  // connections agreeing or closing
  std::vector<ConnectionId> advancing_;  // scratch of advance_unsettled()
  std::vector<ConnectionId> hung_up_;    // whose last messages may not be received yet
  CompletionQueue completions_;
  bool look_soon_ = false;
  std::uint32_t polls_ = 0;
  CoarseTimer look_timer_;
  CoarseTimer deadline_timer_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_SHM_DRIVER_H_
