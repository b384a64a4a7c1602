// UcxLane: an interface of UCX's, over which an engine's messages come and go.
//
// A lane sends active messages of a few kinds and hands what arrives to UcxEvents, from inside of
// UCX's calls.  It knows which of UCX's ways of sending fits a message; whose message it is, it
// does not know.  Over a network all connections share one lane.  In shared memory each has its
// own: UCX takes a place in a lane's queue before it fills it (mm_ep.c,
// uct_mm_ep_am_common_send()), so that behind a peer that dies in between nothing arrives any more.
#ifndef MADLIKE_DRIVER_UCX_LANE_H_
#define MADLIKE_DRIVER_UCX_LANE_H_

#include <uct/api/uct.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/ucx/domain.h"
#include "madlike/driver/ucx/offer.h"

namespace mad {

enum class UcxMessage : std::uint8_t {
  kHello = 1,  // the first on a connection
  kPacket,
  kWrite,
  kLast,    // nothing follows: the sender leaves in good order
  kPull,    // a write that the receiver is to read from the sender's memory
  kPulled,  // how many of those the receiver has read
  kPiece    // of a packet, written into UCX's memory
};

/// What a message begins with: all of it where it is a write or a pull, else only the tag.
struct UcxHeader {
  static constexpr std::size_t kTagBytes = 8;
  std::uint64_t tag = 0;  // the receiver's name of the connection
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
};

/// What a piece of a packet begins with.
struct UcxPieceHeader {
  std::uint64_t tag = 0;
  std::uint64_t left = 0;  // bytes of the packet that follow in other pieces
};

class UcxLane;

/// Called from inside of UCX's calls: nothing of UCX may be called back.
class UcxEvents {
 public:
  virtual ~UcxEvents() = default;
  /// A message came.  With `keepable`, its memory may be kept by UcxLane::keep() and returning
  /// true.
  virtual bool on_message(UcxLane& lane, UcxMessage kind, Segment message, bool keepable) = 0;
  /// The endpoint broke.  Also called from inside of send().
  virtual void on_failed(uct_ep_h endpoint) = 0;
};

using UctEndpoint = UctPtr<uct_ep_h>;

/// What a transport's messages may be.
struct UcxLimits {
  std::size_t max_message_bytes = 0;  // with what it begins with
  std::size_t max_iov = 0;            // segments
  std::size_t inject_bytes = 0;       // packets of at most so many leave at once, or not at all
  /// Whether what is copied leaves at once, whatever its sender does then: memory is lent.
  bool lends = false;
  // Writes by the device, to memory that the peer has registered: bytes of one, segments, bytes of
  // one that UCX copies.  0: there are none.
  std::size_t max_put_bytes = 0, max_put_iov = 0, max_put_copied = 0;
};

/// A message whose memory is not UCX's until it is released.
struct UcxKept {
  UcxLane* lane = nullptr;
  void* message = nullptr;  // null: none
};

class UcxLane {
 public:
  // Places in the queue of shared memory: messages on their way to one peer.
  static constexpr std::size_t kPlaces = 16;
  // Messages that a receiver may keep in shared memory, see UcxEvents.  UCX must never run out of
  // buffers: it would lose what comes then (mm_iface.c, uct_mm_iface_process_recv()).
  static constexpr std::size_t kMostKept = 7;
  // Messages of at most so many bytes stand in the queue of shared memory itself.
  static constexpr std::size_t kMostShort = 256;
  // Messages at most in one progress(): of shared memory; or what these sockets have, and as many
  // messages of each lane of an RDMA device as UCX takes in one poll.
  static constexpr std::size_t kMessagesAtOnce = 4, kSocketsAtOnce = 4;
  static constexpr std::size_t kRdmaMessagesAtOnce = 16;
  // Segments of one of UCX's calls at most.
  static constexpr std::size_t kMostIov = 126;
  // Bytes that a socket may bring at once: the rest of a message, and a segment.
  static constexpr std::size_t kSocketBytes = 2 * 64 * 1024;

  /// kNotFound: UCX has no room for it, as a rule in /dev/shm.
  static Result<std::shared_ptr<UcxLane>> open(const UcxDomain& domain, uct_worker_h worker,
                                               UcxEvents& events);
  ~UcxLane();

  UcxTransport transport() const { return transport_; }
  const UcxLimits& limits() const { return limits_; }

  /// Begins an endpoint and fills the lane's part of the offer to its peer.
  Result<UctEndpoint> prepare(UcxLaneOffer* offer);
  /// Connects it to a peer that made this offer.  kUnreachable.
  Status wire(UctEndpoint* endpoint, const UcxLaneOffer& peer);
  /// Wired endpoints: progress() is of use while there are any.
  void add_user() { ++users_; }
  void drop_user() { --users_; }
  bool used() const { return users_ > 0; }

  /// Brings what has come, over a network of all lanes; 0: nothing.  Only with has_room().
  unsigned progress();
  /// Whether all that one progress() brings can be kept, where it may be.
  bool has_room() const { return kept_.empty() || kept_count_ + most_at_once_ <= kept_.size(); }
  /// Keeps the memory of a message that UCX hands out; null: too many are kept, and it is to be
  /// copied.
  UcxKept* keep(void* message);
  void release(UcxKept* kept);
  bool keeps_any() const { return kept_count_ > 0; }

  /// UCS_OK: it left, or is copied; UCS_INPROGRESS: `done` is told; UCS_ERR_NO_RESOURCE: not now;
  /// anything else: the endpoint is broken.
  ucs_status_t send(uct_ep_h endpoint, UcxMessage kind, const UcxHeader& header,
                    SegmentList content, std::size_t bytes, uct_completion_t* done);

  /// Whether what send() copied has left this process.  UCS_OK: it has; UCS_INPROGRESS: `later` or
  /// `done` is told, once, when it has; UCS_ERR_NO_RESOURCE: ask again.
  ucs_status_t has_left(uct_ep_h endpoint, uct_pending_req_t* later, uct_completion_t* done);

  /// Only where memory is lent: the next piece of a packet, one of as few as can be, all about as
  /// long. As send().
  ucs_status_t send_piece(uct_ep_h endpoint, std::uint64_t tag, PacketWriter& writer);

  const UcxDomain& domain() const { return *domain_; }

  /// For Driver::watch(): kAgain: there is something to do.
  Status arm(int* fd);

 private:
  UcxLane() = default;
  Status open_interface(const UcxDomain& domain, uct_worker_h worker);
  Status read_attributes();
  Status read_addresses(const uct_iface_attr_t& attributes);
  template <UcxMessage kKind>
  static ucs_status_t on_am(void* self, void* data, std::size_t size, unsigned flags);

  const UcxDomain* domain_ = nullptr;
  UcxTransport transport_ = UcxTransport::kPosix;
  bool wires_endpoints_ =
      false;  // not interfaces: UCX's endpoints are made before they have a peer
  uct_worker_h worker_ = nullptr;
  UcxEvents* events_ = nullptr;
  UctPtr<uct_iface_h> interface_;
  UcxLaneOffer offer_;  // without an endpoint
  std::size_t endpoint_bytes_ = 0;
  UcxLimits limits_;
  std::size_t max_short_ = 0, max_copied_ = 0;  // bytes
  // Bytes of no meaning before each message, so that what follows is as well aligned in UCX's
  // buffers as at the receiver: of reliable connections UCX's own header has a single byte.
  std::size_t pad_ = 0;
  std::size_t users_ = 0;
  std::vector<UcxKept> kept_;  // or free; none: whatever comes is to be copied
  std::size_t most_at_once_ = 0;
  std::size_t kept_count_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_LANE_H_
