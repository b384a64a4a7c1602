// UcxDriver: the class behind open_ucx().  Its parts stand in one file each: setup.cc (connections
// come), agreement.cc (their transport), ending.cc (and end), post.cc (sends and writes),
// receive.cc (what UCX hands to us), writes.cc (those that are remote writes), puts.cc (writes by
// devices), progress.cc (the poll path).
#ifndef MADLIKE_DRIVER_UCX_DRIVER_H_
#define MADLIKE_DRIVER_UCX_DRIVER_H_

#include <array>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "madlike/driver/door/out_of_band.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/process_reader.h"
#include "madlike/driver/ucx/endpoint.h"
#include "madlike/driver/ucx/fabric.h"
#include "madlike/driver/ucx/memory.h"
#include "madlike/driver/ucx/ucx.h"

namespace mad {

class UcxDriver final : public OutOfBandDriver<UcxConnection>, private UcxEvents {
 public:
  static Result<std::unique_ptr<Driver>> open(const UcxOptions& options);
  /// Peers that were not disconnected see an engine that died.
  ~UcxDriver() override;

  Status post_send(ConnectionId connection, SegmentList packet, void* context) override;
  Status post_lent(ConnectionId connection, PacketWriter& writer) override;
  Status post_write(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                    std::uint64_t offset, void* context) override;
  Result<ExposureToken> expose(ConnectionId connection, Segment memory) override;
  Result<ExposureToken> expose_scattered(ConnectionId connection, ScatteredMemory& memory,
                                         std::uint64_t first, std::uint64_t size) override;
  void withdraw(ConnectionId connection, const ExposureToken& token) override;
  std::size_t poll(Completion* out, std::size_t capacity) override;
  Status watch(std::vector<pollfd>* out) override;
  void release(void* buffer) override { received_.release(buffer); }
  void disconnect(ConnectionId connection) override;

  /// For tests: what carries a connection's packets, or null: nothing yet, or any more.
  const UcxLane* lane(ConnectionId connection) const {
    return connections_.at(connection).way.lane.get();
  }

 private:
  // Runs that a write is copied to at once.
  static constexpr std::size_t kMaxRuns = 128;
  // Bytes of a write that are read from the peer's memory at once; longer ones save little of a
  // call's price, and all others wait for it.
  static constexpr std::size_t kMostPull = 256 * 1024;

  /// A peer that hung up without a last message, and how often, or how long, we still look for what
  /// it sent before.
  struct HungUp {
    ConnectionId connection;
    std::size_t looks;                 // but for tcp
    PolledClock::time_point deadline;  // tcp
  };

  UcxDriver(const UcxOptions& options, Door door);

  // setup.cc
  Status open_fabric();
  void add_kind(UcxTransport transport);
  UcxConnection& add_connection(const DoorAddress& address) override;
  void on_socket(UcxConnection& connection) override { make_offer(connection); }

  // agreement.cc
  void make_offer(UcxConnection& connection);
  Status prepare(UcxConnection& connection, UcxTransport transport);
  void try_reading(UcxConnection& connection);
  void go_without(UcxConnection& connection, UcxTransport transport, Status why);
  bool has(UcxTransport transport) const;
  void on_readable(UcxConnection& connection) override;
  bool on_offer(UcxConnection& connection);
  bool on_note(UcxConnection& connection);
  void try_candidate(UcxConnection& connection);
  void judge_candidate(UcxConnection& connection);
  void greet(UcxConnection& connection) override;
  void connect_if_greeted(UcxConnection& connection);

  // ending.cc
  void drop_way(UcxConnection& connection);
  void send_last(UcxConnection& connection) override;
  void on_hang_up(UcxConnection& connection);
  bool has_all(HungUp& each, const UcxConnection& connection);
  void end_hung_up();
  void end(UcxConnection& connection, const Status& why) override;

  // receive.cc
  bool on_message(UcxLane& lane, UcxMessage kind, Segment message, bool keepable) override;
  void on_failed(uct_ep_h endpoint) override;
  static void on_sent(uct_completion_t* operation);
  bool take_packet(UcxConnection& connection, UcxLane& lane, Segment message, std::size_t begins,
                   bool keepable);

  // writes.cc
  template <typename Move>
  bool place(const UcxConnection& connection, const UcxHeader& header, std::uint64_t bytes,
             const Move& move);
  void take_write(UcxConnection& connection, Segment message);
  void take_pull(UcxConnection& connection, Segment message);
  void answer_pulls();
  void take_answer(UcxConnection& connection, Segment message);

  // puts.cc
  Status post_put(UcxConnection& connection, SegmentList packet, const ExposureToken& token,
                  std::uint64_t offset, void* context);
  void go_on();
  bool go_on(UcxConnection& connection);

  // progress.cc
  [[gnu::noinline]] void look();  // most polls do without
  std::size_t agreeing_on_tcp() const;
  unsigned progress_shared();
  void progress();

  // post.cc
  const LinkCaps& kind_of(const UcxConnection& connection) const;
  LinkCaps link_of(const UcxConnection& connection) const;
  Status post_pull(UcxConnection& connection, const UcxHeader& header, SegmentList packet,
                   void* context);
  Status outcome(const UcxConnection& connection, ucs_status_t status);
  Status post(UcxConnection& connection, UcxMessage kind, const UcxHeader& header,
              SegmentList packet, std::size_t bytes, void* context);

  UcxOptions options_;
  std::unique_ptr<UcxFabric> fabric_;
  ReceivedMemory received_;
  std::unordered_map<uct_ep_h, ConnectionId> endpoints_;

  std::vector<HungUp> hung_up_;
  std::vector<ConnectionId> going_on_;    // operations wait for room, or puts are under way
  std::vector<ConnectionId> owing_;       // pulls are to be answered
  std::array<Segment, kMaxRuns> places_;  // scratch of place()
  ProcessReader reader_;                  // scratch of take_pull()
  ListedRuns listed_;                     // the same
  std::vector<pollfd> armed_;             // scratch of watch()
  std::array<std::size_t, kUcxTransports> kinds_{};  // of links, by transport
  std::array<bool, kUcxTransports> said_without_{};  // by transport
  bool said_without_cma_ = false;
  TcpSocket timer_;  // wakes who sleeps while tcp is agreed on
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_DRIVER_H_
