// UcxLane: one of UCX's transports, opened for an engine on one device.
//
// A lane sends active messages of four kinds and hands what arrives to UcxEvents, from inside of
// UCX's calls.  It knows which of UCX's ways of sending fits a message; whose message it is, it
// does not know.
#ifndef MADLIKE_DRIVER_UCX_LANE_H_
#define MADLIKE_DRIVER_UCX_LANE_H_

#include <uct/api/uct.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/driver/ucx/offer.h"

namespace mad {

enum class UcxMessage : std::uint8_t {
  kHello = 1,  // the first on a connection
  kPacket,
  kWrite,
  kLast  // nothing follows: the sender leaves in good order
};

/// What a message begins with: all of it where it is a write, else only the tag.
struct UcxHeader {
  static constexpr std::size_t kTagBytes = 8;
  std::uint64_t tag = 0;  // the receiver's name of the connection
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
};

class UcxLane;

/// Called from inside of UCX's calls: nothing of UCX may be called back.
class UcxEvents {
 public:
  virtual ~UcxEvents() = default;
  /// A message came.  With `keepable`, its memory may be kept until uct_iface_release_desc() by
  /// returning true.
  virtual bool on_message(const UcxLane& lane, UcxMessage kind, Segment message, bool keepable) = 0;
  /// The endpoint broke.  Also called from inside of send().
  virtual void on_failed(uct_ep_h endpoint) = 0;
};

struct UctCloser {
  void operator()(uct_md_h md) const { uct_md_close(md); }
  void operator()(uct_iface_h iface) const { uct_iface_close(iface); }
  void operator()(uct_ep_h endpoint) const { uct_ep_destroy(endpoint); }
  void operator()(uct_worker_h worker) const { uct_worker_destroy(worker); }
};
template <typename Handle>
using UctPtr = std::unique_ptr<std::remove_pointer_t<Handle>, UctCloser>;
using UctEndpoint = UctPtr<uct_ep_h>;

class UcxLane {
 public:
  // Messages that a receiver may keep in shared memory, see UcxEvents.  UCX must never run out of
  // them: it would lose what comes then (mm_iface.c, uct_mm_iface_process_recv()).
  static constexpr std::size_t kMostKept = 63;
  // Messages of at most so many bytes stand in the queue of shared memory itself.
  static constexpr std::size_t kMostShort = 128;
  // Messages at most in one progress(): of shared memory, or what these sockets have.
  static constexpr std::size_t kMessagesAtOnce = 16, kSocketsAtOnce = 4;
  // Bytes that a socket may bring at once: the rest of a message, and a segment.
  static constexpr std::size_t kSocketBytes = 2 * 64 * 1024;

  struct Options {
    UcxTransport transport = UcxTransport::kPosix;
    std::string device;             // a network interface; not for posix
    std::size_t segment_bytes = 0;  // posix only; at most 61440
  };
  /// kNotFound: UCX does not have it here; kInvalidArgument; kNoMemory.
  static Result<std::unique_ptr<UcxLane>> open(const Options& options, uct_worker_h worker,
                                               UcxEvents& events);
  ~UcxLane();

  UcxTransport transport() const { return transport_; }
  /// Bytes of a message with what it begins with.
  std::size_t max_message_bytes() const { return max_message_bytes_; }
  std::size_t max_iov() const { return max_iov_; }
  /// Packets of at most so many bytes leave at once, or not at all.
  std::size_t inject_bytes() const { return inject_bytes_; }

  /// Begins an endpoint and fills the lane's part of the offer to its peer.
  Result<UctEndpoint> prepare(UcxLaneOffer* offer);
  /// Connects it to a peer that made this offer.  kUnreachable.
  Status wire(UctEndpoint* endpoint, const UcxLaneOffer& peer);
  /// Wired endpoints: the lane makes progress while there are any.
  void add_user();
  void drop_user();
  bool used() const { return users_ > 0; }

  /// UCS_OK: it left, or is copied; UCS_INPROGRESS: `done` is told; UCS_ERR_NO_RESOURCE: not now;
  /// anything else: the endpoint is broken.
  ucs_status_t send(uct_ep_h endpoint, UcxMessage kind, const UcxHeader& header,
                    SegmentList content, std::size_t bytes, uct_completion_t* done);

  /// For Driver::watch(): kAgain: there is something to do.
  Status arm(int* fd);

 private:
  UcxLane() = default;
  Status open_interface(const Options& options, uct_worker_h worker);
  Status read_attributes(const Options& options);
  template <UcxMessage kKind>
  static ucs_status_t on_am(void* self, void* data, std::size_t size, unsigned flags);

  UcxTransport transport_ = UcxTransport::kPosix;
  UcxEvents* events_ = nullptr;
  UctPtr<uct_md_h> md_;
  UctPtr<uct_iface_h> interface_;
  UcxLaneOffer offer_;  // without an endpoint
  std::size_t endpoint_bytes_ = 0;
  std::size_t max_message_bytes_ = 0, max_short_ = 0, max_copied_ = 0, max_iov_ = 0;
  std::size_t inject_bytes_ = 0;
  std::size_t users_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_LANE_H_
