// Driver: what the message layer asks of a fabric, and what a fabric says of itself.
//
// A driver moves packets between engines: lists of at most LinkCaps::max_iov segments, each packet
// delivered whole and in order per connection.  It publishes its capabilities first and knows
// nothing of messages, frames or datatypes.  It never calls upwards: everything that happens is a
// Completion taken by poll().  A driver is used by one thread at a time.
//
// Leaving.  What a driver says is accepted (ok), sent or written is no more this process's
// business: the system, the device or the peer's memory has all of it, and its receiver gets it
// although poll() is not called again for long.  A driver that keeps some of it, a copy too, says
// kInProgress.
//
// Ownership.  Segments of a posted packet belong to the driver until its kSent / kWritten (or
// error) completion.  The bytes of a kReceived completion belong to the driver; the caller reads
// them in place and gives them back with release().  Every packet accepted with kInProgress gets
// exactly one completion, also when the connection dies, in any order; kReceived packets of one
// connection come in the order sent, and the pieces of one without others of it between them.
#ifndef MADLIKE_DRIVER_DRIVER_H_
#define MADLIKE_DRIVER_DRIVER_H_

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"

namespace mad {

/// One connected (or connecting) remote engine; ids are small, dense and never used again.
using ConnectionId = std::uint32_t;

/// Facts of one connection, fixed when it is connected.
struct LinkCaps {
  static constexpr std::uint64_t kNever = UINT64_MAX;

  bool prefers_writes(std::uint64_t run_bytes) const {
    return write_runs_from != kNever && run_bytes >= write_runs_from;
  }

  /// Payload in runs that is written as a whole while that is faster has at most so many bytes: one
  /// write.
  std::size_t most_in_runs() const { return std::min(most_offered, max_write_bytes); }

  std::string prices;    // the fabric whose price list it is planned with
  std::size_t kind = 0;  // its index in DriverCaps::links

  std::size_t max_iov = 1;           // segments in one packet (the packet's header is one of them)
  std::size_t max_packet_bytes = 0;  // bytes of one packet, all segments together
  std::size_t inject_bytes = 0;  // post_send() of at most this many bytes never keeps the segments,
                                 // also where kSent follows
  /// Packets longer than this may arrive in pieces, the first of at least this many bytes, or of
  /// half as many where post_lent() made the pieces; 0: every packet arrives whole.
  std::size_t piece_bytes = 0;
  /// Packets of at most this many bytes leave together, posted between cork() and uncork(); 0:
  /// those do nothing.
  std::size_t cork_bytes = 0;
  /// Room that post_lent() gives a piece of a packet, which is `piece_bytes` then; 0: it makes no
  /// pieces.  Where it does the processor copies every packet to where its receiver reads it, so
  /// that who stages it elsewhere copies once more.
  std::size_t lent_bytes = 0;
  /// Packets of at most this many bytes post_lent() takes whole; 0: it does not work.
  std::size_t short_bytes = 0;

  std::size_t max_write_iov = 0;    // local segments in one post_write()
  std::size_t max_write_bytes = 0;  // bytes of one post_write()
  /// Payload in runs of about at least this many bytes is better written remotely than sent in
  /// packets, if both work; kNever: none is, or there are no writes.
  std::uint64_t write_runs_from = kNever;
  /// Payload of at least this many bytes, that is better written than sent, is best written as a
  /// whole, none of it sent before its receive is known, and less is best sent; 0: none is written
  /// as a whole, and less may be.
  std::size_t write_whole_from = 0;
  /// Payload of one run is best offered to the peer, which reads it by read_offered(), if it has
  /// from `offered_from` to `most_offered` bytes; most_offered 0: the peer cannot read.
  std::size_t offered_from = 0;
  std::size_t most_offered = 0;
  /// Whether reading what the peer offers is faster than to have it sent is to be found out: it
  /// depends on whose pages it is in; and whether the peer does so with what we offer.
  bool weighs_offers = false, offers_are_weighed = false;
};

/// Facts of a fabric, fixed once its driver is open.
struct DriverCaps {
  std::string name;               // as the user names it: "loopback", "ofi:tcp", ...
  bool beyond_host = true;        // it may reach engines of other hosts
  bool remote_write = false;      // expose() and post_write() work
  bool scattered_writes = false;  // expose_scattered() works
  bool one_sided = false;         // share(), post_put() and post_get() work
  /// The kinds of links that it may have, the nearest peers' first.  A link can do what its kind
  /// can, and perhaps more, which the two find out when they meet: what is read or written directly
  /// (write_runs_from, offered_from, most_offered, offers_are_weighed), and longer writes
  /// (max_write_bytes).
  std::vector<LinkCaps> links{1};

  const LinkCaps& nearest() const { return links.front(); }
};

/// A name for exposed memory that a peer can write to; travels by value in a clear-to-send frame.
struct ExposureToken {
  std::uint64_t address = 0;  // what the peer adds its offset to
  std::uint64_t key = 0;
};

/// Memory of many runs, seen as one row of bytes.
class ScatteredMemory {
 public:
  virtual ~ScatteredMemory() = default;
  /// Lists the runs that [offset, offset + size) stands in, in order: at most `capacity` of them,
  /// which cover a first part of it, in `out`.  Returns how many; 0: this memory is not for
  /// listing.
  virtual std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                           std::size_t capacity) = 0;
};

struct Completion {
  enum class Kind {
    kSent,         // context's packet left; its segments are free.  status tells success
    kWritten,      // context's remote write left, or its put or get is done; its segments are free.
                   // status tells success
    kReceived,     // `bytes` arrived from `connection`, `rest` more of the same packet follow;
                   // they stay until release(buffer), or that of a later piece if this has none;
                   // with a rest, and where place_rest() works, it is the last of its connection
                   // in one poll()
    kConnected,    // connection can carry packets (informative; posting before it is allowed)
    kDisconnected  // connection is gone, status says why; nothing more arrives from it.  kAgain,
                   // kNoMemory: it did not come about, and a new connect() may fare better
  };
  Kind kind = Kind::kSent;
  ConnectionId connection = 0;
  void* context = nullptr;  // as given to post_send(), post_write(), post_put() or post_get()
  Segment bytes;            // kReceived: where a packet begins 8-byte aligned
  std::size_t rest = 0;     // kReceived: bytes
  void* buffer = nullptr;   // kReceived: what release() wants; null: nothing
  Status status;            // ok, or kPeerFailed / kUnreachable / kAgain / ...
};

/// Writes one packet into memory of a fabric, piece by piece.
class PacketWriter {
 public:
  /// Of a packet of so many bytes, at least one, that are copied from runs in memory that are about
  /// so long.
  explicit PacketWriter(std::size_t bytes, std::uint64_t run_bytes = UINT64_MAX)
      : left_(bytes), run_bytes_(run_bytes) {}
  virtual ~PacketWriter() = default;
  /// Bytes of the packet that are still to be written.
  std::size_t left() const { return left_; }
  std::uint64_t run_bytes() const { return run_bytes_; }
  /// Writes the next ones: as many as `room`, which is 8-byte aligned, has, or all that are left.
  void write(Segment room) {
    room.size = std::min(room.size, left_);
    left_ -= room.size;
    write_next(room);
  }

 private:
  /// Writes the next bytes, as many as the room has; left() counts them no more.
  virtual void write_next(Segment room) = 0;

  std::size_t left_;
  const std::uint64_t run_bytes_;
};

class Driver {
 public:
  virtual ~Driver() = default;

  virtual const DriverCaps& caps() const = 0;

  /// This engine's address on this fabric, at most 64 bytes, opaque; the same bytes identify the
  /// engine at every peer.
  virtual const std::vector<std::byte>& address() const = 0;

  /// The connection to the engine at `address`: the existing one when there is one (also when the
  /// peer connected to us), else a new one that is set up while poll() is called.  Never blocks.
  /// kInvalidArgument: not an address of this fabric.
  virtual Result<ConnectionId> connect(const std::byte* address, std::size_t size) = 0;

  /// The address of the engine behind a connection (of a peer that connected to us, too) that
  /// disconnect() was not called for.
  virtual const std::vector<std::byte>& peer_address(ConnectionId connection) const = 0;

  /// Posts one packet.  ok: it has left, no completion follows; kInProgress: accepted, kSent
  /// follows; kAgain: nothing done (queue full, or still connecting); error: nothing done and never
  /// will be.  The segments are free after ok, or with at most LinkCaps::inject_bytes.
  virtual Status post_send(ConnectionId connection, SegmentList packet, void* context) = 0;

  /// The facts of a connection that was connected and that disconnect() was not called for.
  virtual const LinkCaps& link(ConnectionId connection) const = 0;

  /// Posts a short packet, or the next piece of one: has `writer` write it into the fabric's own
  /// memory, which has room for LinkCaps::lent_bytes, or short_bytes.  ok: it has left, and if
  /// bytes are left the next post to the connection is the packet's next piece; kAgain: nothing
  /// leaves, and where there are pieces nothing was written; error: nothing ever will leave, and
  /// `writer` may have written already.
  virtual Status post_lent(ConnectionId /*connection*/, PacketWriter& /*writer*/) {
    return {StatusCode::kInvalidArgument, "this fabric lends no memory"};
  }

  /// Packets posted to the connection from now on may wait for one another, until uncork() at the
  /// latest, which must follow before the next poll().
  virtual void cork(ConnectionId /*connection*/) {}
  virtual void uncork(ConnectionId /*connection*/) {}

  /// Lets the peer write into `memory` until withdraw().  Only with caps().remote_write.
  virtual Result<ExposureToken> expose(ConnectionId connection, Segment memory) = 0;
  virtual void withdraw(ConnectionId connection, const ExposureToken& token) = 0;
  /// The same for the `size` bytes of `memory` from `first` on, which poll() asks for its runs as
  /// bytes come.  Only with caps().scattered_writes.
  virtual Result<ExposureToken> expose_scattered(ConnectionId /*connection*/,
                                                 ScatteredMemory& /*memory*/,
                                                 std::uint64_t /*first*/, std::uint64_t /*size*/) {
    return Status(StatusCode::kInvalidArgument, "this fabric's writes go to one run");
  }

  /// Places `packet` at `offset` in memory the peer exposed.  ok: it has left, and its segments are
  /// free; kInProgress: kWritten follows; kAgain; error.  A packet posted with post_send() after
  /// the write is received after the bytes are placed; when the write fails, none posted after it
  /// is received.
  virtual Status post_write(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                            std::uint64_t offset, void* context) = 0;

  /// Lets every peer that is told the token put into `memory` and get from it, this process doing
  /// nothing for it, until unshare(), when none is to do so any more.  Whoever does ends its own
  /// connection.  Only with caps().one_sided.
  virtual Result<ExposureToken> share(Segment /*memory*/) {
    return Status(StatusCode::kInvalidArgument, "this fabric shares no memory");
  }
  virtual void unshare(const ExposureToken& /*token*/) {}

  /// Places `packet`, within the limits of a write, at `offset` of memory that the peer shares.
  /// kInProgress: kWritten follows when it is there for all who read that memory; kAgain; error.
  /// In no order with packets, writes, or other puts and gets.
  virtual Status post_put(ConnectionId /*connection*/, SegmentList /*packet*/,
                          const ExposureToken& /*token*/, std::uint64_t /*offset*/,
                          void* /*context*/) {
    return {StatusCode::kInvalidArgument, "this fabric shares no memory"};
  }
  /// Reads what stands at `offset` of memory that the peer shares, to `memory` or a first part of
  /// it: how many bytes, at least one, which are there when kWritten follows.  kAgain; error.
  virtual Result<std::size_t> post_get(ConnectionId /*connection*/, Segment /*memory*/,
                                       const ExposureToken& /*token*/, std::uint64_t /*offset*/,
                                       void* /*context*/) {
    return Status(StatusCode::kInvalidArgument, "this fabric shares no memory");
  }

  /// Reads `bytes` of the peer's memory from `address` on, where the peer offered them, to the
  /// first bytes of `memory`, which lists its runs.  ok: they are there; else the memory may hold
  /// anything, and what failed once may also fail as a packet.
  virtual Status read_offered(ConnectionId /*connection*/, std::uint64_t /*address*/,
                              std::uint64_t /*bytes*/, ScatteredMemory& /*memory*/) {
    return {StatusCode::kInvalidArgument, "this fabric reads no memory"};
  }

  /// Has the rest of a packet, whose first piece was the last that poll() handed out of
  /// `connection`, read straight to `memory`, from its byte `first` on.  ok: when it is there, one
  /// kReceived without bytes follows; until then, or disconnect(), the memory is the driver's.
  /// kAgain: not here or not any more, and the rest comes in pieces.
  virtual Status place_rest(ConnectionId /*connection*/, ScatteredMemory& /*memory*/,
                            std::uint64_t /*first*/) {
    return StatusCode::kAgain;
  }

  /// How long a packet is looked for: for less time than poll() takes, or a microsecond or two.
  enum class Look { kOnce, kBriefly, kAWhile };
  /// The next packet of some connection, where it arrived, if it is all here and poll() has nothing
  /// older of that connection: the caller calls drop_packet() once it is done with it, or leaves it
  /// to poll().  Empty: there is none, or none for which poll() is not needed.  The next poll() may
  /// leave out a connection of which a packet was dropped.
  virtual Segment next_packet(ConnectionId* /*connection*/, Look /*look*/) { return {}; }
  /// The same of one connection; who waits looks for it a while.
  virtual Segment next_packet_of(ConnectionId /*connection*/, bool /*waits*/) { return {}; }
  virtual void drop_packet() {}

  /// Takes up to `capacity` completions, making progress; 0 when nothing happened.  Never blocks.
  virtual std::size_t poll(Completion* out, std::size_t capacity) = 0;

  /// For a caller that wants to sleep until poll() has something to do.  ok: it may sleep on what
  /// was added to `out`, by poll(2), until one of them is ready; kAgain: there is something to do
  /// now; kNotFound: this fabric cannot tell.
  virtual Status watch(std::vector<pollfd>* out) = 0;

  /// Adds the epoll sets that watch all sockets of this driver, as long as it exists, so that a
  /// child of fork() can close what it inherited: else peers would not notice our end before the
  /// child's.
  virtual void watched_by(std::vector<int>* /*epoll_sets*/) const {}

  /// Gives back the buffer of a kReceived completion; not null.
  virtual void release(void* buffer) = 0;

  /// Whether the peer's host has all that left by this connection: it arrives then, though this
  /// process ends and what the peer still sends is refused.  True where the fabric cannot tell.
  virtual bool arrived(ConnectionId /*connection*/) const { return true; }

  /// Ends a connection in good order: what was accepted is still sent.  While memory is exposed to
  /// the peer there is no good order: the connection ends at once, and no write goes on.  A rest
  /// that place_rest() was called for is dropped.  Also after kDisconnected this is the caller's
  /// last word on the connection, but for withdraw(): the driver may forget it then, and posts
  /// fail.
  virtual void disconnect(ConnectionId connection) = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_DRIVER_H_
