// ShmDriver: the class behind open_shm().  Its parts stand in one file each: setup.cc (connections
// come), meeting.cc (the two sides map each other's memory), ending.cc (and end), post.cc (sends),
// room.cc (how much memory a lane uses), pulls.cc (remote
// writes), progress.cc (the poll path).
#ifndef MADLIKE_DRIVER_SHM_DRIVER_H_
#define MADLIKE_DRIVER_SHM_DRIVER_H_

#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "madlike/base/clock.h"
#include "madlike/driver/connections/connected_driver.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/process_reader.h"
#include "madlike/driver/shm/connection.h"
#include "madlike/driver/shm/shm.h"

namespace mad {

/// What the epoll set tells of that is not the process of a connection, which has its number there.
inline constexpr std::uint64_t kShmLetters = ~std::uint64_t{0}, kShmWakes = kShmLetters - 1,
                               kShmTimer = kShmLetters - 2;
/// Between two looks whether a peer that has not answered is still there.
inline constexpr std::chrono::milliseconds kShmProbeEvery{250};
/// So many bytes of records, of which half are forgotten at each look, are worth a longer lap.
inline constexpr std::size_t kShmBusy = std::size_t{1} << 20;
/// Who finds a full box leaves its owner so much time to read.
inline constexpr std::chrono::milliseconds kShmBoxFull{1};

class ShmDriver final : public ConnectedDriver<ShmConnection> {
 public:
  static Result<std::unique_ptr<Driver>> open(const ShmOptions& options);
  /// Peers that were not disconnected see an engine that died.
  ~ShmDriver() override;

  const std::vector<std::byte>& address() const override { return address_; }
  Result<ConnectionId> connect(const std::byte* address, std::size_t size) override;
  Status post_send(ConnectionId connection, SegmentList packet, void* context) override;
  Status post_lent(ConnectionId connection, PacketWriter& writer) override;
  Status post_write(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                    std::uint64_t offset, void* context) override;
  Status read_offered(ConnectionId connection, std::uint64_t address, std::uint64_t bytes,
                      ScatteredMemory& memory) override;
  Segment next_packet(ConnectionId* connection, Look look) override;
  Segment next_packet_of(ConnectionId connection, bool waits) override;
  void drop_packet() override;
  std::size_t poll(Completion* out, std::size_t capacity) override;
  Status watch(std::vector<pollfd>* out) override;
  void watched_by(std::vector<int>* out) const override { out->push_back(watch_.fd()); }
  void release(void* buffer) override;
  bool arrived(ConnectionId connection) const override;
  void disconnect(ConnectionId connection) override;

  /// For tests: bytes of the memory limit that are used.
  std::size_t charged() const { return charged_; }
  /// For tests: a connection, or null.
  ShmConnection* connection(ConnectionId id) { return find(id); }

 private:
  /// Bytes of one write: so long one poll may take for a peer.
  static constexpr std::size_t kMostPull = std::size_t{1} << 20;
  /// Bytes of an offer, which is read at once, in 1 to 3 ms.
  static constexpr std::size_t kMostOffered = std::size_t{16} << 20;
  // Runs that a write is read to at once.
  static constexpr std::size_t kMaxRuns = 128;
  bool reads_memory() const { return *options_.single_copy != ShmOptions::SingleCopy::kNever; }
  bool reads_all() const { return *options_.single_copy == ShmOptions::SingleCopy::kAlways; }
  /// A greeting of a peer whose earlier connection has not ended here yet.
  struct Waiting {
    ShmGreeting greeting;
    ShmFile file;
    pid_t pid;
  };
  /// A place whose lane the peer may still read.
  struct Leaving {
    std::size_t place;
    std::uint64_t session;
    ShmFile process;
  };

  ShmDriver(const ShmOptions& options, const DoorSecret& secret, ShmSegment segment,
            ShmPostbox postbox, ShmFile watch, ShmFile timer);

  ShmConnection* find(ConnectionId id) {
    if (last_ != nullptr && last_->id == id) return last_;
    return last_ = connections_.find(id);
  }

  // setup.cc
  ShmConnection& add_connection(const ShmAddress& address);
  Status prepare(ShmConnection& connection);
  Status watch_process(ShmConnection& connection);
  void unwatch_process(ShmConnection& connection);
  void set_state(ShmConnection& connection, State state);

  // meeting.cc
  void greet(ShmConnection& connection);
  void read_letters();
  bool may_greet(const ShmConnection& connection) const;
  bool finds_full_box();
  void on_greeting(ShmPostbox::Letter& letter, const ShmGreeting& greeting);
  void meet(const ShmGreeting& greeting, ShmFile file, pid_t pid);
  void let_wait(Waiting newest);
  void meet_waiting();
  Status map(ShmConnection& connection, const ShmGreeting& greeting, const ShmFile& file);
  void refuse(const ShmGreeting& greeting, ShmGreeting::Reason reason);
  void on_refusal(const ShmGreeting& refusal);
  void wake_peer(ShmConnection& connection);
  bool is_met(const ShmConnection& connection) const;
  void greet_again();
  void advance_unsettled();

  // ending.cc
  void end(ShmConnection& connection, const Status& why) override {
    end(connection, why, ShmLaneState::kClosed);
  }
  void end(ShmConnection& connection, const Status& why, ShmLaneState last);
  void say_why_not(ShmConnection& connection, const Status& why);
  void drop_lane(ShmConnection& connection);
  void leave_place(ShmConnection& connection);
  void return_places();
  void forget_left();
  bool end_if_over(ShmConnection& connection);
  void check_deadlines();

  /// Makes room for a record, and counts it.  False: there is none.
  [[gnu::always_inline]] inline bool reserve(ShmConnection& connection, std::size_t content) {
    const bool is_long = content > kShmSmallLimit / 4;
    const bool fits =
        !is_long && !connection.shrinks && connection.out->reserve(content, connection.limit);
    if (!fits && !make_room(connection, content, is_long)) return false;
    // What is sent in turns is no stream: the shorter its lap, the sooner a line comes over.
    const std::uint64_t read = connection.in->position();
    const bool answers = std::exchange(connection.had_read, read) != read;
    if (answers && !is_long) return true;
    if (connection.lately == 0) connection.counts_since = clock_.now();
    connection.lately += RingShape::record_bytes(content);
    if (is_long) {
      connection.sent_long = true;
      connection.shrinks = false;
    }
    if (connection.lately > kShmBusy) widen_if_busy(connection, content);
    return true;
  }
  void write_runs(PacketWriter& writer, StagingTimes& times, Segment room);
  [[gnu::noinline]] Status no_room(const ShmConnection& connection);

  // pulls.cc
  LinkCaps link_of(const ShmConnection& connection) const;
  Status take_pull(ShmConnection& connection, Segment record);
  Status read_peer(ShmConnection& connection, SegmentList places);
  bool take_answers(ShmConnection& connection);
  void take_all_answers();
  bool misses_answer();

  // room.cc
  bool charge(ShmConnection& connection, std::size_t bytes);
  bool grow(ShmConnection& connection, std::size_t content);
  bool widen(ShmConnection& connection, std::size_t limit);
  bool make_room(ShmConnection& connection, std::size_t content, bool is_long);
  void widen_if_busy(ShmConnection& connection, std::size_t content);
  void widen_for_speed(ShmConnection& connection, std::size_t limit);
  void shrink_idle();
  static std::size_t choose_sustained_limit();

  // progress.cc
  bool looking_is_due();
  [[gnu::noinline]] void look();
  [[gnu::noinline]] void answer_bells();
  [[gnu::noinline]] void list(ShmConnection& connection);
  void unlist(ShmConnection& connection);
  void take_turns(std::size_t count);
  static ShmReader::Found peek(ShmConnection& connection, RingMark* mark);
  Segment whole_packet(ShmConnection& connection);
  std::size_t receive(ShmConnection& connection, Completion* out, std::size_t capacity);
  void answer_wish(ShmConnection& connection);
  bool misses_something();

  const ShmOptions options_;
  ShmAddress own_;
  std::vector<std::byte> address_;
  ShmSegment segment_;
  ShmPostbox postbox_;
  ShmFile watch_;                       // an epoll set: the postbox, the timer, peers' processes
  ShmFile timer_;                       // wakes who sleeps while peers meet
  ShmConnection* last_ = nullptr;       // that was found
  std::vector<ShmConnection*> bells_;   // by place
  std::vector<ShmConnection*> listed_;  // that every poll looks at
  ConnectionId next_ = 0;               // of what whole_packet() found
  RingMark next_mark_;
  std::vector<ConnectionId> unsettled_;  // meeting
  std::vector<ConnectionId> advancing_;  // scratch of advance_unsettled()
  std::vector<ConnectionId> grown_;      // whose lanes use more than the small limit
  std::vector<ConnectionId> pulling_;    // whose peers are to read something
  std::vector<Waiting> waiting_;         // at most one of a peer
  std::vector<Leaving> leaving_;
  ShmKeptPool kept_;
  ProcessReader reader_;  // scratch of take_pull(), as the next two
  ListedRuns runs_;
  std::array<Segment, kMaxRuns> places_;
  ShmStaging staging_;                                            // scratch of post_lent()
  const std::size_t sustained_limit_ = choose_sustained_limit();  // of a ring
  std::size_t charged_ = 0;
  std::uint32_t looked_at_ = 0;  // peers that do not ring
  std::uint32_t polls_ = 0;
  bool look_soon_ = false;
  bool asleep_ = false;
  bool said_why_not_ = false;
  CoarseTimer look_timer_;
  PolledClock clock_;
  PolledClock::time_point shrink_at_, probe_at_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_DRIVER_H_
