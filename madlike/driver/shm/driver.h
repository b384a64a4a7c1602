// ShmDriver: the class behind open_shm().  Its parts stand in one file each: setup.cc (connections
// come), agreement.cc (and open their memory), ending.cc (and end), post.cc (sends), progress.cc
// (the poll path).
#ifndef MADLIKE_DRIVER_SHM_DRIVER_H_
#define MADLIKE_DRIVER_SHM_DRIVER_H_

#include <memory>
#include <utility>
#include <vector>

#include "madlike/driver/connections/table.h"
#include "madlike/driver/door/door.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/chunk_pool.h"
#include "madlike/driver/shm/connection.h"
#include "madlike/driver/shm/fabric.h"
#include "madlike/driver/shm/shm.h"

namespace mad {

class ShmDriver : public Driver {
 public:
  static Result<std::unique_ptr<Driver>> open(const ShmOptions& options);
  /// Peers that were not disconnected see an engine that died.
  ~ShmDriver() override;

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
  using State = ShmConnection::State;
  using Kind = ShmTag::Kind;

  ShmDriver(const ShmOptions& options, Door door, std::shared_ptr<ShmFabric> fabric);

  ShmConnection* find(ConnectionId id) { return connections_.find(id); }

  // setup.cc
  ShmConnection& add_connection(const DoorAddress& address);
  void set_state(ShmConnection& connection, State state);
  void on_door(Door::Event& event);
  void check_deadlines();

  // agreement.cc
  bool makes_gate(const ShmConnection& connection) const;
  void offer(ShmConnection& connection);
  Status make_offer(ShmConnection& connection);
  void send_note(ShmConnection& connection, ShmNote::Kind kind);
  void on_control(ShmConnection& connection);
  bool on_offer(ShmConnection& connection);
  bool on_note(ShmConnection& connection);
  Status open_offered(ShmConnection& connection);
  void open_if_ready(ShmConnection& connection);
  void greet(ShmConnection& connection);
  void connect_if_greeted(ShmConnection& connection);

  // ending.cc
  void close_memory(ShmConnection& connection);
  void send_last(ShmConnection& connection);
  void on_hang_up(ShmConnection& connection);
  void end_hung_up();
  void end_soon(ConnectionId connection, Status why) {
    connections_.end_soon(connection, std::move(why));
  }
  Status end_broken(ShmConnection& connection);
  void end_all_due() {
    connections_.end_due(
        [this](ShmConnection& connection, const Status& why) { end(connection, why); });
  }
  void end(ShmConnection& connection, Status why);
  void forget_left();

  // post.cc
  Status post(ShmConnection& connection, Kind kind, SegmentList packet, std::size_t bytes,
              void* context);
  void finish(ShmConnection& connection, Status status);
  void call(ShmConnection& connection);

  // progress.cc
  bool looking_is_due();
  void look();
  void advance_unsettled();
  bool may_post(const ShmConnection& connection) const;
  void post_buffers(ShmConnection& connection);
  std::size_t progress(ShmConnection& connection);
  bool take(ShmConnection& connection, const fi_cq_data_entry& entry);
  void take_message(ShmConnection& connection, Chunk& chunk, const fi_cq_data_entry& entry);
  void take_error(ShmConnection& connection);

  ShmOptions options_;
  DriverCaps caps_;
  Door door_;
  std::shared_ptr<ShmFabric> fabric_;
  ChunkPool chunks_;                            // that packets are received into
  ConnectionTable<ShmConnection> connections_;  // live: not kClosing, not kGone
  std::vector<ShmConnection*> opened_;          // whose memory is open on both sides

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

#endif  // MADLIKE_DRIVER_SHM_DRIVER_H_
