// Door: how an engine and its peers come by the one TCP connection between them, and who stays out.
//
// An engine listens at one address, which names a secret; handshake.h says how whoever connects
// proves to know it.  Both sides may ask for a connection at the same time: then the request of the
// engine with the smaller address stands, that engine refuses the other's (crossing), and the other
// one accepts and drops its own.  The door knows peers by their addresses; what becomes of a
// connection's socket is its driver's affair.
#ifndef MADLIKE_DRIVER_DOOR_DOOR_H_
#define MADLIKE_DRIVER_DOOR_DOOR_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "madlike/base/clock.h"
#include "madlike/base/status.h"
#include "madlike/driver/door/handshake.h"
#include "madlike/driver/door/options.h"
#include "madlike/driver/door/silence.h"
#include "madlike/driver/door/sockets.h"

namespace mad {

/// Whose door it is.
struct DoorName {
  std::string fabric;  // as sentences name it, e.g. "tcp"
  DoorMagic magic{};   // tells its engines from those of other fabrics
};

/// Why a connection with an engine on a host that was silent for so long ends.
Status host_silent(const DoorAddress& peer, std::chrono::milliseconds timeout);

class Door {
 public:
  /// What came of a call(), or of a peer's; of one peer at most one in a look().
  struct Event {
    DoorAddress peer;
    TcpSocket socket;  // watched, and to be watched by another role and id; empty: there is none,
    Status why;        // for this reason; kAgain, kNoMemory: it may pass, call() again
  };

  /// kNotFound: no such interface (the sentence lists what there is).
  static Result<Door> open(const DoorName& name, const DoorOptions& options);

  const std::vector<std::byte>& address() const { return address_; }
  /// kInvalidArgument: not an address that this engine could connect to.
  Result<DoorAddress> parse(const std::byte* address, std::size_t size) const;

  /// Begins to get a connection to an engine that there is none with, nor a call.  An event
  /// follows, unless forget() comes before.
  void call(const DoorAddress& peer);
  /// There is no call and no connection with the engine at `address` any more: it may ask again.
  void forget(const std::vector<std::byte>& address);
  /// Nobody comes in any more.
  void close();

  /// Whether look() should be called soon: somebody on the way in or out has just moved.
  bool busy() const {
    return !events_.empty() || (eager_looks_ > 0 && !(calls_.empty() && strangers_.empty()));
  }
  /// Whether it would tell of events without anything to read.
  bool has_events() const { return !events_.empty(); }
  /// Moves everything on, appends what happened to `events`, and to `ready` the ids of sockets that
  /// are watched as connections and have something; never waits.
  void look(std::vector<Event>* events, std::vector<std::uint32_t>* ready);

  TcpWatch& watch() { return watch_; }
  const TcpWatch& watch() const { return watch_; }
  /// The time that deadlines are made of and compared with, without the pause before this call.
  PolledClock::time_point now() {
    clock_.tick();
    return clock_.now();
  }

 private:
  struct Call {
    enum class State {
      kDialing,    // the host has not answered
      kAsking,     // our request left, the engine's challenge is awaited
      kAnswering,  // our answer left, its verdict is awaited
      kAwaiting    // refused because another connection of the two is under way or ends; that must
                   // come, or we ask again
    };
    DoorAddress peer;
    std::vector<std::byte> address;  // its bytes
    State state = State::kDialing;
    TcpSocket socket;
    DoorReader reader;
    Silence silence;  // kAsking, kAnswering
    DoorNonce nonce{};
    DoorKey key{};
    PolledClock::time_point deadline;  // kDialing, kAwaiting
  };
  struct Stranger {
    enum class State { kRequesting, kAnswering };
    State state = State::kRequesting;
    TcpSocket socket;
    DoorReader reader;
    DoorKey key{};
    PolledClock::time_point came;
    PolledClock::time_point deadline;
  };
  using Calls = std::map<std::uint32_t, Call>;

  Door(const DoorName& name, const DoorOptions& options, TcpSocket listener,
       std::vector<std::byte> socket_address, TcpWatch watch);

  Calls::iterator find_call(const std::vector<std::byte>& address);
  void dial(std::uint32_t id, Call& call);
  void on_call(std::uint32_t id);
  void on_dialed(std::uint32_t id, Call& call);
  void on_challenge(std::uint32_t id, Call& call);
  void on_verdict(std::uint32_t id, Call& call);
  void call_broke(std::uint32_t id, Call& call);
  void ask_again_soon(Call& call);
  void fail(std::uint32_t id, Status why);
  void enter(const DoorAddress& peer, TcpSocket socket);
  void drop(Calls::iterator call);
  void drop_events(const std::vector<std::byte>& address);

  void accept_strangers();
  bool make_room();
  void accept_later();
  void on_stranger(std::uint32_t id);
  bool challenge(Stranger& stranger);
  void admit(Stranger& stranger);
  void check_deadlines();

  DoorName name_;
  DoorOptions options_;
  DoorAddress own_;
  std::vector<std::byte> address_;
  TcpWatch watch_;
  TcpSocket listener_;
  PolledClock clock_;
  CoarseTimer deadline_timer_;

  Calls calls_;
  std::map<std::vector<std::byte>, std::uint32_t> called_;  // their numbers by address
  std::uint32_t next_call_ = 0;
  std::set<std::vector<std::byte>> inside_;      // who there is a connection with
  std::map<std::uint32_t, Stranger> strangers_;  // the oldest first
  std::uint32_t next_stranger_ = 0;
  std::optional<PolledClock::time_point> accept_at_;  // the listener is not watched until then
  bool said_lack_ = false;
  std::uint32_t eager_looks_ = 0;  // that are to come soon
  std::vector<Event> events_;
  std::vector<TcpWatch::Ready> ready_;  // scratch of look()
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_DOOR_DOOR_H_
