// Messenger: the message layer of one engine.
//
// It turns messages (a header, then a payload of any length) into frames in packets, and packets
// back into messages: order per peer, eager heads within a credit, rendezvous by clear-to-send,
// remote writes where the fabric has them, back-pressure, and the end of peers.  It knows nothing
// of datatypes: a payload is pulled from a PayloadSource and put into a PayloadSink.  The frames
// are described in docs/wire_protocol.md.
//
// One thread at a time.  Callbacks of MessageEvents run inside progress() (and close()) only and
// may call send_header(), send(), accept() and discard(), never progress().
#ifndef MADLIKE_MESSAGE_MESSENGER_H_
#define MADLIKE_MESSAGE_MESSENGER_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/driver/driver.h"
#include "madlike/match/envelope.h"
#include "madlike/message/packet.h"
#include "madlike/message/window.h"

namespace mad {

/// Where a message's payload is read from; called once per packet.
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;
  /// Appends the next bytes of the payload, at most `limit` (> 0), to `packet`, in order, by
  /// staging and by reference.  Appends at least one byte.  Called again for the following bytes.
  virtual void fill(Packet& packet, std::uint64_t limit) = 0;
};

/// A payload that is read all at once.
class WholePayload {
 public:
  explicit WholePayload(std::size_t bytes) : bytes_(bytes) {}
  virtual ~WholePayload() = default;
  std::size_t bytes() const { return bytes_; }
  /// How long its runs are in memory, about.
  virtual std::uint64_t run_bytes() const = 0;
  /// Writes all of it.
  virtual void write(std::byte* out) const = 0;

 private:
  std::size_t bytes_;
};

/// Where a message's payload goes.
class PayloadSink : public ScatteredMemory {
 public:
  /// Takes `bytes`, which stand at `offset` of the payload.  Fragments may come in any order and
  /// end anywhere.
  virtual void place(std::uint64_t offset, Segment bytes) = 0;
  /// Whether what was placed is what was sent, as far as this can tell; for its owner, the
  /// messenger does not ask.
  virtual Status result() const { return {}; }
  // runs() lets a peer write in place.
};

/// One way to an engine: its address on one of the messenger's drivers.
struct Route {
  std::size_t driver = 0;  // index
  std::vector<std::byte> address;
};

class Endpoint;         // one peer; owned by the messenger, lives as long as it does (or release())
class IncomingMessage;  // a message with payload that has arrived; owned by the messenger until it
                        // is done

/// One message on its way out, or one put or get of memory that the peer shares; owned by the
/// caller, who keeps it (and its source) until on_sent().
class OutgoingMessage {
 public:
  OutgoingMessage() = default;
  OutgoingMessage(const OutgoingMessage&) = delete;
  OutgoingMessage& operator=(const OutgoingMessage&) = delete;

  PayloadSource* source = nullptr;
  std::uint64_t payload_bytes = 0;
  std::uint64_t flush_bytes =
      0;  // payload bytes at which a data packet is posted; 0: as many as fit
  std::uint64_t run_bytes = UINT64_MAX;  // how long the payload's runs in memory are, about
  const void* run = nullptr;             // where all of it stands; null: it is not one run
  bool answered = false;  // tagged messages: it is not complete before its receiver has taken it
  bool may_wait = false;  // a small one, unless it is the first since a turn, until the next turn

 private:
  friend struct OutgoingAccess;
  enum class Phase {
    kNone,       // not with the messenger
    kStarting,   // inside send()
    kQueued,     // its first frame waits for its turn
    kWaiting,    // the head left, the receiver has not said where the rest goes
    kStreaming,  // the rest leaves packet by packet
    kFinished,   // everything is posted; packets of it may be in the driver's hands
    kFailed      // will never leave; packets of it may be in the driver's hands
  };
  // Intrusive state of the messenger: place in queues, ids, offsets, window.
  struct State {
    OutgoingMessage* next = nullptr;
    Endpoint* endpoint = nullptr;
    Phase phase = Phase::kNone;
    bool has_window = false;
    bool offered = false;            // the receiver may read the payload itself
    bool wants_window = false;       // or is to say where it may be written
    bool one_sided = false;          // a put or a get: nobody is told of it at the peer
    std::byte* into = nullptr;       // a get's: where its bytes belong
    std::uint32_t id = 0;            // ours, while the receiver may name it; else 0
    std::uint32_t peer_id = 0;       // the receiver's
    std::uint32_t posts = 0;         // packets not yet complete that it waits for
    std::uint64_t sent = 0;          // payload bytes put into packets
    std::uint64_t accepted = 0;      // payload bytes the receiver wants (known from clear-to-send)
    std::uint64_t window_start = 0;  // payload byte that stands at the window's start
    Window window;
  } state_;
};

/// Payload that may be read in its sender's memory.
class OfferedPayload {
 public:
  virtual ~OfferedPayload() = default;
  /// Reads all of it to `place`, and tells the sender.  False: it was not, as it is better sent or
  /// cannot be read; what is at `place` then may be anything.
  virtual bool read(void* place) = 0;
};

/// What happens, told upwards.
class MessageEvents {
 public:
  virtual ~MessageEvents() = default;
  /// The peer's first word was another than ours (MessengerConfig::greeting), and is valid during
  /// the call: it is foreign.  An error, kProtocol or kVersion, ends its connection.
  virtual Status on_greeting(Endpoint& /*from*/, Segment /*greeting*/) {
    return {StatusCode::kProtocol, "the peer sent a greeting that means nothing here"};
  }
  /// A tagged message arrived, all of it, valid during the call: whether it was received.  If not,
  /// on_message() follows.  Not called for those of foreign peers.
  virtual bool take(Endpoint& /*from*/, const TaggedHeader& /*header*/, Segment /*payload*/) {
    return false;
  }
  /// The same of a tagged message that arrived without its payload, of `bytes` > 0, which it
  /// offers.
  virtual bool take_offered(Endpoint& /*from*/, const TaggedHeader& /*header*/,
                            std::uint64_t /*bytes*/, OfferedPayload& /*payload*/) {
    return false;
  }
  /// A message arrived.  `header` is 8-byte aligned and valid during the call only.  `message` is
  /// null when there is no payload, but of tagged messages; otherwise the callee must accept() or
  /// discard() it, now or later.  std::bad_alloc, which it throws before it names `message` for
  /// later, ends the peer's connection.
  virtual void on_message(Endpoint& from, std::uint8_t handler, Segment header,
                          std::uint64_t payload_bytes, IncomingMessage* message) = 0;
  /// `message`'s memory is the caller's again: the payload left, or `status` says why it will not.
  virtual void on_sent(OutgoingMessage& message, const Status& status) = 0;
  /// The accepted payload is in place (or `status` says why not); `context` is accept()'s.
  /// kCorrupt: what is in place is not what was sent; nothing else is concerned.
  virtual void on_received(void* context, std::uint64_t bytes, const Status& status) = 0;
  /// The peer is gone.  `status` is kClosed after its goodbye, kUnreachable when it could not be
  /// connected, kProtocol or kVersion when it sent what no engine of this version sends, else
  /// kPeerFailed.  Its pending messages were completed with this status before.
  virtual void on_peer_gone(Endpoint& peer, const Status& status) = 0;
};

/// 64 KiB, or 256 KiB on a link whose receiver can take them in place.
std::size_t default_eager_limit(const LinkCaps& link);

struct MessengerConfig {
  /// Bytes of payload that may travel with the header; by default default_eager_limit().
  std::optional<std::size_t> eager_limit;
  std::size_t peer_credit =
      256 * 1024;  // bytes of unmatched heads a peer keeps for us, and we for it
  /// Staging memory of one packet, with its headers.  Each one costs some 6 us over tcp, so that
  /// twice as much makes 1 MiB of short runs a third faster.
  std::size_t packet_bytes = 129 * 1024;
  std::size_t staging_bytes = 8 * 1024 * 1024;  // all packets of this engine together
  std::size_t write_threshold = 16 * 1024;  // smallest rest of a payload worth exposing memory for
  /// How long attempts to connect a peer may fail for reasons that may pass, from the first such
  /// failure on, before it is unreachable; 0: for ever.  Time without progress() does not count,
  /// nor that of an attempt that the peer's host has answered, for a busy peer is one that lives.
  std::chrono::milliseconds connect_timeout{600000};
  /// Payload is sent with its CRC32C, and in frames only, as what is written remotely has none.
  /// Sums that arrive are checked whatever this says.
  bool checksum = false;
  /// What is said of this engine to every peer first, at most 64 bytes: how it represents data.
  std::vector<std::byte> greeting;
};

/// What one driver carried, frames and payload.
struct DriverCounters {
  std::uint64_t packets_sent = 0;
  std::uint64_t bytes_sent = 0;  // with those of remote writes
  std::uint64_t packets_received = 0;
  std::uint64_t bytes_received = 0;  // without those that peers wrote
};

struct MessageCounters {
  static constexpr std::size_t kMostDrivers = 8;  // of one messenger

  std::array<DriverCounters, kMostDrivers> drivers;
  std::uint64_t staged_bytes = 0;      // payload bytes copied into packets, lent memory's too
  std::uint64_t referenced_bytes = 0;  // payload bytes gathered from user memory by the driver
  std::uint64_t written_bytes = 0;     // of both, payload bytes placed by remote writes, or
                                       // read by their receiver; and what was got
  std::uint64_t unexpected_bytes =
      0;                            // payload bytes kept for messages that were not matched at once
  std::uint64_t checked_bytes = 0;  // payload bytes received with a checksum
};

class Messenger {
 public:
  /// Takes the drivers, at least one and at most MessageCounters::kMostDrivers.  `events` outlives
  /// the messenger.
  Messenger(const MessengerConfig& config, MessageEvents& events,
            std::vector<std::unique_ptr<Driver>> drivers);
  /// Peers that were not told goodbye see an engine that died; no callback is called.
  ~Messenger();
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  /// The endpoint of the engine that has these addresses, on different drivers; no packet travels
  /// before it is needed, then the first driver that reaches it carries them all.  Each of the
  /// addresses gives the same endpoint until that ends; afterwards it gives a new one, which would
  /// connect again.  Who must notice the end keeps the endpoint: sends to it fail.
  Result<Endpoint*> connect(std::vector<Route> routes);
  Driver& driver(std::size_t index);

  /// The caller names an endpoint no more that on_peer_gone() was called for; it may not be
  /// released twice.  Messages of it that arrived before can still be accepted and discarded.
  void release(Endpoint& peer);

  /// Ends the connection of a peer that broke the user's own protocol, as if it had broken ours:
  /// its messages and on_peer_gone() come with `why`, kProtocol.  Allowed in callbacks.
  void reject(Endpoint& peer, const Status& why);

  /// Starts connecting now, so that the peer's death is noticed even if nothing is sent to it.
  Status touch(Endpoint& peer);

  /// Largest header that send_header() and send() take, in bytes.
  std::size_t max_header_bytes() const;

  /// Sends a header that nobody waits for, which is copied.  Order is kept with send().  Never
  /// pushes back: what the fabric cannot take yet waits here, in memory of the size of the headers,
  /// so the caller has to bound their number.
  Status send_header(Endpoint& to, std::uint8_t handler, Segment header);

  /// Sends a message, with or without payload; the header is copied.  ok: all of it has left this
  /// process and needs no more progress() here, on_sent() is not called; kInProgress: on_sent()
  /// follows when that is so; error: nothing was sent, nothing follows.
  Status send(Endpoint& to, std::uint8_t handler, Segment header, OutgoingMessage& message);

  /// Bytes that a message to this peer may have at most, its headers with it, for send_at_once(),
  /// and for send_short(); of one run, they are as many as are not better offered to it.
  static std::size_t max_at_once(const Endpoint& to, bool one_run);
  static std::size_t max_short(const Endpoint& to, bool one_run);
  /// Whether packets to this peer are written into memory of the fabric, whatever their length.
  static bool is_lent(const Endpoint& to);

  /// Whether a message with `bytes` of payload could leave at once, to lent memory, if the peer had
  /// given back credit that it granted, which progress() may bring.
  static bool waits_for_credit(const Endpoint& to, std::uint64_t bytes);

  /// Sends a message with payload if all of it can leave at once, in one packet.  kAgain: nothing
  /// was done, though `source` may have been read, as it has to wait or to be sent by send(); else
  /// as send_header().  `run_bytes` is how long the payload's runs are in memory, about.
  Status send_at_once(Endpoint& to, std::uint8_t handler, Segment header, PayloadSource& source,
                      std::uint64_t payload_bytes, std::uint64_t run_bytes = UINT64_MAX);

  /// Sends a tagged message, whose payload is one run or is not, if it can leave at once in a short
  /// frame: then it has left, and nothing has to remember it.  False: nothing was done.
  bool send_short(Endpoint& to, const TaggedHeader& header, Segment payload);
  bool send_short(Endpoint& to, const TaggedHeader& header, const WholePayload& payload);

  /// Whether memory can be put to and got from at this peer, by the fabric that it is connected by
  /// already.
  static bool is_one_sided(const Endpoint& peer);
  /// Places the payload of `put` at `offset` of memory that the peer shares (Driver::share()) on
  /// the fabric that it is connected by; is_one_sided(to).  kInProgress: on_sent() follows when it
  /// is there for all who read that memory.
  Status put(Endpoint& to, const ExposureToken& memory, std::uint64_t offset, OutgoingMessage& put);
  /// Reads from there into `into`.  kInProgress: on_sent() follows when it is here.
  Status get(Endpoint& from, const ExposureToken& memory, std::uint64_t offset, Segment into,
             OutgoingMessage& get);

  /// Receives the first `bytes` of the payload into `sink`, the rest is dropped at the sender where
  /// possible.  ok: complete now, on_received() is not called; kInProgress: on_received(context,
  /// ...) follows; error: the peer is gone and the payload not complete, or kCorrupt.  `message` is
  /// the messenger's again in every case.
  Status accept(IncomingMessage& message, PayloadSink& sink, std::uint64_t bytes, void* context);
  void discard(IncomingMessage& message);

  /// Moves everything that can move; returns the number of completions handled.  Never blocks.
  std::size_t progress();

  /// Asks MessageEvents::take(), or take_offered(), about the next message of this peer, if that is
  /// here and its fabric can be asked: whether it was received.  Nothing else moves, and after some
  /// such messages progress() has to come first.  `waits`: the caller does nothing but wait for
  /// that message, which is looked for during a microsecond or two.
  bool take_from(Endpoint& from, bool waits);
  /// The same of the next message that is found, of any peer.
  bool take_from_any(bool waits);

  /// Sleeps until progress() may have something to do, at most `longest` and perhaps less; a moment
  /// where a fabric cannot tell.
  void wait(std::chrono::microseconds longest);

  /// Whether everything sent has left this process: no message waits for its turn or its receiver's
  /// word, no packet is in a driver's hands.
  bool idle() const;
  /// Whether every message's first frame and every answer has left: nothing waits for its turn or a
  /// connection, messages may wait for their receivers' word.
  bool flushed() const;

  /// Whether the hosts of all peers have what left, as far as the fabrics can tell: it arrives,
  /// also at a peer that does not look before this process is gone.
  bool arrived() const;

  /// Lets what was sent leave, says goodbye to every connected peer and ends all connections; takes
  /// at most `timeout_ms` (0: only what can be done at once).  Pending messages end with kClosed.
  /// An error says that not everything left in that time.  Afterwards nothing can be sent.
  Status close(int timeout_ms);

  const MessageCounters& counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a user of the messenger may hang on an endpoint (the engine: its mad_peer).
void set_user_data(Endpoint& endpoint, void* data);
void* user_data(const Endpoint& endpoint);

/// Where an endpoint is: the driver it is reached by, or tried, and its address there.
const Route& route(const Endpoint& endpoint);
/// The facts of the connection with it; the usual ones before the two have spoken.
const LinkCaps& link(const Endpoint& endpoint);

/// Whether its greeting was another than ours.  Then nothing is offered, nor written remotely.
bool is_foreign(const Endpoint& endpoint);
/// That greeting; empty if it is not foreign.
Segment foreign_greeting(const Endpoint& endpoint);

/// What of a message's payload is here, from its first byte on, and as it was sent; empty: nothing,
/// or not known yet.  Who needs no more may read it there instead of accept(), then discard().
Segment payload_here(const IncomingMessage& message);

}  // namespace mad

#endif  // MADLIKE_MESSAGE_MESSENGER_H_
