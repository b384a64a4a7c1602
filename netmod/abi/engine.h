// mad_engine: the composition root - one engine's drivers, message layer, peers and operations.
//
// It chooses the concrete classes, gives every message its plan, keeps the operation of each
// message in flight, and tells the caller through the C callbacks what the message layer tells it.
// Checks of what a C caller can get wrong stand in the *_api.cc files; here arguments are right.
#ifndef NETMOD_ABI_ENGINE_H_
#define NETMOD_ABI_ENGINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datatype_path/convert/architecture.h"
#include "datatype_path/plan/plan.h"
#include "datatype_path/transfer/receive_transfer.h"
#include "datatype_path/transfer/send_transfer.h"
#include "madlike/base/copy_bytes.h"
#include "madlike/base/status.h"
#include "madlike/message/messenger.h"
#include "madlike/message/session/operations.h"
#include "madlike/message/session/session_hub.h"
#include "netmod/abi/foreign_receives.h"
#include "netmod/abi/mad.h"
#include "netmod/abi/peer_table.h"
#include "netmod/abi/slab_pool.h"
#include "netmod/abi/tagged_messages.h"
#include "netmod/abi/trace.h"

namespace mad {

/// The operations behind the slots (mad_op) of C callers.
struct SendOperation final : OutgoingOperation {
  SendOperation(mad_engine* owner, mad_op* slot) : engine(owner), op(slot) {}
  void finished(const Status& status) override;
  SendTransfer transfer;
  Trace::Message traced;
  mad_engine* engine;
  mad_op* op;
};

struct ReceiveOperation final : IncomingOperation {
  ReceiveOperation(mad_engine* owner, mad_op* slot, mad_receive* its_receive)
      : engine(owner), op(slot), receive(its_receive) {}
  void finished(std::uint64_t bytes, const Status& status) override;
  ReceiveTransfer transfer;
  Trace::Message traced;
  mad_engine* engine;
  mad_op* op;
  mad_receive* receive;  // of a tagged message; else null
};

/// Marks that a callback of the caller is running.
class InCallback {
 public:
  explicit InCallback(int* depth) : depth_(depth) { ++*depth_; }
  ~InCallback() { --*depth_; }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;

 private:
  int* depth_;
};

/// The counter of a message: the path it took, not the one asked for.
inline mad_path path_taken(Path path, mad_path asked) {
  switch (path) {
    case Path::kContiguous:
      return asked == MAD_PATH_OFF ? MAD_PATH_OFF : MAD_PATH_AUTO;
    case Path::kGather:
      return MAD_PATH_GATHER;
    case Path::kHybrid:
      return MAD_PATH_HYBRID;
    case Path::kPipeline:
      return MAD_PATH_PIPELINE;
    case Path::kPack:
      return MAD_PATH_PACK;
  }
  return MAD_PATH_AUTO;
}

}  // namespace mad

struct mad_region {
  std::size_t fabric = 0;  // number of the one that shares it
  mad::ExposureToken token;
  mad_region_key key;
};

struct mad_engine final : private mad::MessageEvents {
 public:
  /// `told` is what peers are told of this machine; tests play others.
  static mad::Result<std::unique_ptr<mad_engine>> open(
      const mad_config& config, const mad::Architecture& told = mad::Architecture::local());
  ~mad_engine() override;

  /// Its fabrics' names, e.g. "ucx:posix;tcp".
  const std::string& fabric_names() const { return fabric_names_; }
  std::size_t fabrics() const { return address().fabrics.size(); }
  const mad::EngineAddress& address() const { return peers_.own(); }
  /// The epoll sets that watch its sockets.
  const std::vector<int>& epoll_sets() const { return epoll_sets_; }
  /// Of a fabric by its number, or of the self fabric behind them.
  const mad::DriverCaps& caps(std::size_t fabric) const {
    return messenger_->driver(fabric).caps();
  }
  const mad::Policy& policy(const mad_peer& peer) const {
    return policies_[mad::route(*peer.endpoint).driver][mad::link(*peer.endpoint).kind];
  }
  bool is_self(const mad_peer& peer) const { return peer.self; }
  std::size_t max_header_bytes() const { return messenger_->max_header_bytes(); }
  bool idle() const { return messenger_->idle() && tagged_.own().senders() == 0; }
  bool flushed() const { return messenger_->flushed(); }
  bool arrived() const { return messenger_->arrived(); }
  /// Inside a callback nothing may wait, progress or close.
  bool in_callback() const { return callback_depth_ > 0; }
  /// mad_engine_close() is at work: callbacks still give slots back, but nothing new starts.
  bool closing() const { return closing_; }

  mad::Result<mad_peer*> peer(const mad::EngineAddress& address) {
    return peers_.find(*messenger_, address);
  }
  mad::Status touch(mad_peer& peer) { return messenger_->touch(*peer.endpoint); }
  void reject(mad_peer& peer, const char* why) {
    messenger_->reject(*peer.endpoint, {mad::StatusCode::kProtocol, why});
  }
  std::size_t progress() { return messenger_->progress(); }
  void wait(std::chrono::microseconds longest) { messenger_->wait(longest); }

  mad::Status send_header(mad_peer& to, std::uint8_t handler, mad::Segment header);
  /// ok: done; kInProgress: on_sent() follows.  `may_wait`: until the next progress().
  mad::Status send(mad_peer& to, std::uint8_t handler, mad::Segment header,
                   const mad::Payload& payload, mad_path path, mad_op* op, bool may_wait = false);
  /// ok: done, `*received` is set; kInProgress: on_received() follows.  Consumes `incoming`
  /// whatever it returns.
  mad::Status receive(mad_incoming* incoming, const mad::Payload& payload, mad_path path,
                      mad_op* op, std::uint64_t* received);
  void discard(mad_incoming* incoming);

  /// As send(); not before its receiver has taken it if `answered`.  kAgain: `op` is null, and it
  /// takes an operation.  To itself it is matched here, and the caller told of its receive.
  mad::Status send_tagged(mad_peer& to, const mad::TaggedHeader& header, bool answered,
                          const mad::Payload& payload, mad_path path, mad_op* op);
  /// Sends a tagged message of one run, or of a layout with a type, that nobody waits for, if all
  /// of it can leave at once in a short frame, or be received or kept by the engine itself.  False:
  /// nothing was done.
  bool send_short(mad_peer& to, const mad::TaggedHeader& header, mad::Segment run,
                  mad_path path = MAD_PATH_AUTO);
  bool send_short(mad_peer& to, const mad::TaggedHeader& header, const mad::Payload& layout,
                  mad_path path = MAD_PATH_AUTO);
  /// The same of a payload that is written when it leaves; false also to itself.
  bool send_short(mad_peer& to, const mad::TaggedHeader& header, const mad::WholePayload& payload);
  mad::TaggedMessages& tagged() { return tagged_; }
  /// What a receive of a tagged message does with one that has come, and of which it names the
  /// operation.  As receive().
  mad::Status receive_tagged(const mad_incoming& incoming, mad_receive& receive,
                             std::uint64_t* received);
  /// The same for one that is here and is nobody's any more.
  mad::Status place_tagged(mad::Endpoint& from, mad::Segment bytes, const mad::Payload& payload,
                           mad_path path) {
    if (bytes.size == 0) return {};
    if (payload.type != nullptr) return place_layout(from, bytes, payload, path);
    place_run(bytes, payload, path);
    return {};
  }
  /// The same of a run.
  void place_run(mad::Segment bytes, const mad::Payload& payload, mad_path path) {
    if (bytes.size == 0) return;
    mad::copy_bytes(payload.base, bytes.data, bytes.size);
    count_receive(mad::Path::kContiguous, path, bytes.size);
  }
  /// The same for payload that is offered, where it is placed in one run; false: it was not.
  bool place_offered(std::uint64_t bytes, mad::OfferedPayload& offered, const mad::Payload& payload,
                     mad_path path);
  /// TaggedMessages::receive_next() of a peer; null: of any.
  bool receive_next(mad_peer* from, const mad::Envelope& wanted, const mad::Payload& payload,
                    std::uint32_t how, mad_arrival* arrival) {
    if (from == nullptr) return tagged_.receive_next(nullptr, wanted, payload, how, arrival);
    return !is_self(*from) && tagged_.receive_next(from->endpoint, wanted, payload, how, arrival);
  }
  /// TaggedMessages::probe_next() the same way; of the engine itself nothing is on its way.
  bool probe_next(mad_peer* from, const mad::Envelope& wanted, std::uint32_t how,
                  mad_arrival* arrival) {
    const bool other = from != nullptr && !is_self(*from);
    return tagged_.probe_next(other ? from->endpoint : nullptr, wanted, (how & MAD_WAITS) != 0,
                              arrival);
  }
  bool take_from(mad::Endpoint* from, bool waits) {
    return from == nullptr ? messenger_->take_from_any(waits) : messenger_->take_from(*from, waits);
  }
  void discard(const mad_incoming& incoming);
  /// `status` is MAD_SUCCESS or an error of the C interface.
  void tell_tagged(mad_op* op, const mad_arrival* arrival, int status) {
    if (callbacks_.on_tagged == nullptr) return;
    const mad::InCallback scope(&callback_depth_);
    callbacks_.on_tagged(context_, op, arrival, status);
  }
  void tell_sent(mad_op* op, const mad::Status& status);

  /// Memory that peers access by the first fabric that can; kAgain: none can, or what this engine
  /// sends is to be checked, and what they get would not be.
  mad::Result<mad_region*> share(mad::Segment memory);
  void unshare(const mad_region& region);
  /// Whether the peer's memory can be accessed now, by what has no checksum.
  bool reaches(const mad_peer& peer, const mad_region_key& memory) const {
    return !checks_ && mad::Messenger::is_one_sided(*peer.endpoint) &&
           caps(mad::route(*peer.endpoint).driver).name == memory.fabric;
  }
  /// kInProgress: on_sent() follows; reaches().
  mad::Status put(mad_peer& to, const mad_region_key& memory, std::uint64_t offset,
                  mad::Segment from, mad_op* op);
  mad::Status get(mad_peer& from, const mad_region_key& memory, std::uint64_t offset,
                  mad::Segment to, mad_op* op);

  const mad_counters& counters();
  mad_fabric_counters fabric_counters(std::size_t fabric) const;

  /// The Madeleine messages: those of mad::kMadeleineHandler.
  mad::SessionHub& sessions() { return *sessions_; }
  mad_peer& peer_of(mad::Endpoint& endpoint) { return peers_.of(endpoint); }
  /// The same, which the caller names from now on, also if it was released.
  mad_peer& named_peer_of(mad::Endpoint& endpoint) {
    return mad::PeerTable::named(peer_of(endpoint));
  }
  /// The caller names a peer that is gone no more.
  void release(mad_peer& peer) { peers_.release(peer); }

  /// The machine of a peer, if it represents data otherwise; else null.
  const mad::Architecture* foreign_machine(const mad::Endpoint& endpoint) const {
    return mad::is_foreign(endpoint) ? foreign_.machine_of(endpoint) : nullptr;
  }
  mad::ForeignReceives& foreign() { return foreign_; }

 private:
  friend struct mad::SendOperation;
  friend struct mad::ReceiveOperation;
  friend struct mad::ForeignReceive;
  friend class mad::ForeignReceives;

  /// Of a driver, one for each kind of its links.
  using Policies = std::vector<mad::Policy>;

  /// `drivers` are the fabrics and the self fabric, `address` and `policies` theirs.
  mad_engine(const mad_config& config, const mad::Architecture& told, mad::EngineAddress address,
             std::vector<std::unique_ptr<mad::Driver>> drivers, std::vector<Policies> policies);
  /// Whom an operation waits for beside its driver.
  enum class Waits { kForNobody, kForReceiver, kForOthers };
  mad::Status send_operation(mad_peer& to, std::uint8_t handler, mad::Segment header, Waits waits,
                             const mad::Payload& payload, mad_path path, const mad::Plan& plan,
                             mad_op* op);
  mad::Status send_at_once(mad_peer& to, std::uint8_t handler, mad::Segment header,
                           const mad::Payload& payload, mad_path path, const mad::Plan& plan);
  /// place_tagged() of at least one byte of a layout, and that by path pack.
  [[gnu::noinline]] mad::Status place_layout(mad::Endpoint& from, mad::Segment bytes,
                                             const mad::Payload& payload, mad_path path);
  static mad::Status place_collected(const mad::Policy& policy, mad::Segment bytes,
                                     const mad::Payload& payload, mad_path path);
  void count_send(mad::Path path, mad_path asked, std::uint64_t bytes) {
    if (bytes == 0) {
      ++counters_.headers;
      return;
    }
    const mad_path taken = mad::path_taken(path, asked);
    ++counters_.sends[taken];
    counters_.send_bytes[taken] += bytes;
  }
  void count_receive(mad::Path path, mad_path asked, std::uint64_t bytes) {
    const mad_path taken = mad::path_taken(path, asked);
    ++counters_.recvs[taken];
    counters_.recv_bytes[taken] += bytes;
  }
  void give_back_operations();
  void release_gone();
  mad::Trace::Message trace_send(const mad_peer& to, const mad::Payload& payload, mad_path path,
                                 const mad::Plan& plan, const mad_op& op);
  /// Of `bytes` bytes; nothing where no trace is written.
  mad::Trace::Message trace_receive(const mad_incoming& wanted, const mad::Payload& payload,
                                    mad_path path, const mad::Plan& plan, const mad_op& op,
                                    std::uint64_t bytes);
  void trace_received(const mad::Trace::Message& message, bool at_once) {
    if (trace_ != nullptr) trace_->done(message, at_once);
  }
  /// As receive(); `receive` is a tagged message's, or null.
  mad::Status receive_message(mad_incoming wanted, const mad::Payload& payload, mad_path path,
                              mad_op* op, mad_receive* receive, std::uint64_t* received);
  /// Of `wanted.payload_bytes` (> 0) bytes; as receive(), but counts nothing.
  mad::Status start_receive(const mad_incoming& wanted, const mad::Payload& payload, mad_path path,
                            const mad::Plan& plan, mad_op* op, mad_receive* receive);
  void finish_send(mad::SendOperation& operation, const mad::Status& status);
  void finish_receive(mad::ReceiveOperation& operation, std::uint64_t bytes,
                      const mad::Status& status);
  /// Of a receive that was in progress; `receive` is a tagged message's, or null.
  void tell_received(mad_op* op, mad_receive* receive, std::uint64_t bytes,
                     const mad::Status& status);
  mad_incoming arrived_from(mad::Endpoint& from, mad::IncomingMessage* message,
                            std::uint64_t payload_bytes);
  void changed_header(mad_peer& from, mad::IncomingMessage& message);

  mad::Status on_greeting(mad::Endpoint& from, mad::Segment greeting) override;
  bool take(mad::Endpoint& from, const mad::TaggedHeader& header, mad::Segment payload) override;
  bool take_offered(mad::Endpoint& from, const mad::TaggedHeader& header, std::uint64_t bytes,
                    mad::OfferedPayload& payload) override;
  void on_message(mad::Endpoint& from, std::uint8_t handler, mad::Segment header,
                  std::uint64_t payload_bytes, mad::IncomingMessage* message) override;
  void on_sent(mad::OutgoingMessage& message, const mad::Status& status) override;
  void on_received(void* context, std::uint64_t bytes, const mad::Status& status) override;
  void on_peer_gone(mad::Endpoint& endpoint, const mad::Status& status) override;

  mad_callbacks callbacks_;
  void* context_;
  int callback_depth_ = 0;
  bool closing_ = false;
  const bool checks_;  // what it sends has checksums

  std::unique_ptr<mad::Trace> trace_;  // null: nobody asked for one
  std::vector<Policies> policies_;     // of each driver
  mad::PeerTable peers_;
  std::string fabric_names_;
  std::vector<int> epoll_sets_;
  mad::SlabPool<mad::SendOperation> sends_;
  mad::LineMemory lines_;  // of a receive
  mad::SlabPool<mad::ReceiveOperation> receives_;
  mad::SlabPool<mad_incoming> incoming_;
  mad::TaggedMessages tagged_;
  mad::ForeignReceives foreign_{*this};
  mad_counters counters_{};
  std::vector<mad::Endpoint*> gone_;  // that sessions may still name
  std::vector<std::unique_ptr<mad_region>> regions_;
  std::unique_ptr<mad::SessionHub> sessions_;
  std::unique_ptr<mad::Messenger> messenger_;  // last: what it holds lives above
};

[[gnu::always_inline]] inline bool mad_engine::send_short(mad_peer& to,
                                                          const mad::TaggedHeader& header,
                                                          mad::Segment run, mad_path path) {
  if (is_self(to)) {
    const mad::Payload payload{run.data, run.size, nullptr, run.size};
    return tagged_.send_to_self(header, false, payload, nullptr).ok();
  }
  const bool may_be = trace_ == nullptr && run.size < mad::Messenger::max_short(*to.endpoint, true);
  if (!may_be || !messenger_->send_short(*to.endpoint, header, run)) return false;
  count_send(mad::Path::kContiguous, path, run.size);
  return true;
}

inline bool mad_engine::send_short(mad_peer& to, const mad::TaggedHeader& header,
                                   const mad::WholePayload& payload) {
  const bool may_be = !is_self(to) && trace_ == nullptr &&
                      payload.bytes() < mad::Messenger::max_short(*to.endpoint, true);
  if (!may_be || !messenger_->send_short(*to.endpoint, header, payload)) return false;
  count_send(mad::Path::kContiguous, MAD_PATH_AUTO, payload.bytes());
  return true;
}

#endif  // NETMOD_ABI_ENGINE_H_
