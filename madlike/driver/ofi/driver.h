// OfiDriver: the class behind open_ofi().  Its parts stand in one file each: setup.cc (connections
// come), ending.cc (and end), events.cc (what the provider's event queue says), post.cc (packets),
// writes.cc (memory that peers write), gets.cc (memory of theirs that is read), credit.cc (what
// goes without the caller's doing), silence.cc (whether peers that say nothing are there),
// progress.cc (the poll path), receive.cc (what came).
#ifndef MADLIKE_DRIVER_OFI_DRIVER_H_
#define MADLIKE_DRIVER_OFI_DRIVER_H_

#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "madlike/base/clock.h"
#include "madlike/driver/connections/table.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/ofi/credit.h"
#include "madlike/driver/ofi/endpoint.h"
#include "madlike/driver/ofi/fabric.h"
#include "madlike/driver/ofi/greeting.h"
#include "madlike/driver/ofi/memory.h"
#include "madlike/driver/ofi/ofi.h"
#include "madlike/driver/ofi/opening.h"

namespace mad {

class OfiDriver : public Driver {
 public:
  OfiDriver(const OfiOptions& options, std::unique_ptr<OfiFabric> fabric);
  /// Peers that were not disconnected see an engine that died.
  ~OfiDriver() override;

  const DriverCaps& caps() const override { return caps_; }
  const std::vector<std::byte>& address() const override { return fabric_->address(); }
  Result<ConnectionId> connect(const std::byte* address, std::size_t size) override;
  const std::vector<std::byte>& peer_address(ConnectionId connection) const override;
  const LinkCaps& link(ConnectionId /*connection*/) const override {
    return caps_.nearest();  // all are alike
  }
  Status post_send(ConnectionId connection, SegmentList packet, void* context) override;
  Status post_lent(ConnectionId connection, PacketWriter& writer) override;
  Result<ExposureToken> expose(ConnectionId connection, Segment memory) override;
  void withdraw(ConnectionId connection, const ExposureToken& token) override;
  Status post_write(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                    std::uint64_t offset, void* context) override;
  Result<ExposureToken> share(Segment memory) override;
  void unshare(const ExposureToken& token) override { (void)shared_.remove(token); }
  Status post_put(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                  std::uint64_t offset, void* context) override;
  Result<std::size_t> post_get(ConnectionId connection, Segment memory, const ExposureToken& token,
                               std::uint64_t offset, void* context) override;
  std::size_t poll(Completion* out, std::size_t capacity) override;
  Status watch(std::vector<pollfd>* out) override;
  void watched_by(std::vector<int>* out) const override { fabric_->watched_by(out); }
  void release(void* buffer) override;
  void disconnect(ConnectionId connection) override;

  /// For tests: records of connections that exist.
  std::size_t connections() const { return connections_.size(); }

 private:
  using State = OfiConnection::State;
  using Clock = OfiConnection::Clock;

  /// One event of the provider's queue, its endpoint already resolved.
  struct Event {
    std::uint32_t type = 0;  // FI_CONNREQ, FI_CONNECTED, FI_SHUTDOWN; 0: an error
    ConnectionId connection = 0;
    std::uint32_t endpoint_number = 0;  // OfiConnection::endpoints_opened when it was read
    InfoPtr request;                    // FI_CONNREQ
    int error = 0;
    std::vector<std::byte> data;
  };

  OfiConnection* find(ConnectionId id) { return connections_.find(id); }

  // setup.cc
  OfiConnection& add_connection(const std::vector<std::byte>& address);
  void start_request(OfiConnection& connection);
  void refuse(fi_info* request, Greeting::Kind why);
  void accept(OfiConnection& connection, const Greeting& greeting, InfoPtr request);
  void set_state(OfiConnection& connection, State state);
  void take_opened();
  void ask(OfiConnection& connection);
  Status attach(OfiConnection& connection, Result<FidPtr<fid_ep>> opened);
  void check_deadlines();
  void on_deadline(OfiConnection& connection, Clock::time_point now);

  // ending.cc
  void close_endpoint(OfiConnection& connection);
  void shut_down(OfiConnection& connection);
  void post_last(OfiConnection& connection);
  void end_soon(ConnectionId connection, Status why) {
    connections_.end_soon(connection, std::move(why));
  }
  void end_all_due() {
    connections_.end_due(
        [this](OfiConnection& connection, const Status& why) { end(connection, why); });
  }
  void end(OfiConnection& connection, Status why);
  void forget_left();
  void linger();

  // events.cc
  void read_events();
  void dispatch_events();
  void on_request(Event& event);
  void on_connected(OfiConnection& connection, const Event& event);
  void on_refused(OfiConnection& connection, const Event& event);

  // post.cc
  Status post_gathered(OfiConnection& connection, SegmentList packet, void* context);
  Status post_copied(OfiConnection& connection, PacketWriter& writer);
  Status post_copy(OfiConnection& connection, OfiOperation* operation);
  ssize_t post_alone(OfiConnection& connection, OfiOperation* operation, OfiHeader::Kind kind);

  // writes.cc
  Status post_remote(ConnectionId id, SegmentList packet, const ExposureToken& token,
                     std::uint64_t offset, std::uint64_t flags, void* context);
  Status post_in_place(OfiConnection& connection, SegmentList packet, const ExposureToken& target,
                       std::uint64_t flags, void* context);
  Status post_registered(OfiConnection& connection, SegmentList packet, const ExposureToken& target,
                         void* context);
  bool post_staged(OfiConnection& connection);
  Status register_for(OfiOperation* operation, Segment memory, std::uint64_t access);

  // gets.cc
  Result<std::size_t> post_get_in_place(OfiConnection& connection, Segment memory,
                                        const ExposureToken& source, void* context);
  Result<std::size_t> post_get_registered(OfiConnection& connection, Segment memory,
                                          const ExposureToken& source, void* context);
  Result<std::size_t> post_get_staged(OfiConnection& connection, Segment memory,
                                      const ExposureToken& source, void* context);

  // credit.cc
  void is_due(OfiConnection& connection);
  void post_due();
  void look_after(OfiConnection& connection);
  bool post_earlier(OfiConnection& connection);
  bool post_unposted(OfiConnection& connection);
  void post_credit(OfiConnection& connection);

  // silence.cc
  void ask_the_silent();
  Status silent(const OfiConnection& connection) const;
  void ask_whether_there(OfiConnection& connection);

  // progress.cc
  bool events_due();
  void slow_progress();
  bool translate(const fi_cq_msg_entry& entry, Completion* out);
  bool returned(OfiOperation* operation, Status status, Completion* out);
  bool finish(OfiOperation* operation, Status status, Completion* out);
  void read_error();
  void drain_completions();

  // receive.cc
  bool translate_receive(ReceiveBuffer* buffer, std::size_t bytes, Completion* out);
  bool take_header(OfiConnection& connection, const OfiHeader& header, std::size_t bytes);
  void on_last(OfiConnection& connection);

  OfiOptions options_;
  DriverCaps caps_;
  std::unique_ptr<OfiFabric> fabric_;
  std::uint64_t incarnation_;
  std::uint32_t next_sequence_ = 1;

  // Declared after fabric_: regions close before their domain, endpoints before their queues.
  ReceivePool receives_;
  SendPool sends_;
  CreditPool credits_;
  RegisteredRegions regions_;   // exposed to a peer
  RegisteredRegions shared_;    // with all of them
  std::size_t registered_ = 0;  // bytes of the caller's that are registered for what is under way
  ConnectionTable<OfiConnection> connections_;  // live: not kClosing, not kGone
  OfiOpenings openings_;
  std::vector<ConnectionId> due_;  // OfiConnection::is_due
  std::unordered_map<const fid*, ConnectionId> endpoints_;

  std::deque<Event> events_;
  CompletionQueue completions_;  // not found by reading the provider's queue for the caller
  std::size_t unsettled_ = 0;    // connections under way, accepting or closing
  bool events_soon_ = false;
  std::uint32_t polls_ = 0;
  CoarseTimer look_timer_;
  CoarseTimer deadline_timer_;
  PolledClock silence_clock_;
  PolledClock::time_point look_at_;  // whether peers are silent
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_DRIVER_H_
