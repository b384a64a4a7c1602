#include "madlike/driver/ucx/lane.h"

#include <errno.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <utility>

#include "madlike/driver/door/sockets.h"
#include "madlike/driver/ucx/manners.h"
#include "madlike/driver/ucx/settings.h"
#include "madlike/driver/ucx/status.h"

namespace mad {
namespace {

constexpr std::size_t kCopiedIov = 256;  // our callback copies any number
// Copying so much is cheaper than a list of segments and a completion; with tcp it leaves at once
// or is kept by UCX.
constexpr std::size_t kTcpInject = 2048;
// Whatever is injected was copied together before, and is copied again where all is.
constexpr std::size_t kCopiedInject = 512;
constexpr std::size_t kAlignment = 64;

/// Of the library that is loaded, whatever the headers were.
std::uint32_t ucx_version() {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  return major << 24 | minor << 16 | release;
}

/// What sizes do not say: places in the queue of shared memory; which of UCX's transports of a
/// device, which do not understand each other's addresses.
std::uint32_t layout_of(const UcxDomain& domain) {
  const UcxTransport transport = domain.options().transport;
  if (transport == UcxTransport::kPosix) return UcxLane::kPlaces;
  if (transport == UcxTransport::kTcp) return 0;
  std::uint32_t number = 0;
  for (const char letter : domain.options().uct_name) {
    number = number * 31 + static_cast<unsigned char>(letter);
  }
  return number;
}

/// Of a message with UCX's header: whole packets, whatever the path's MTU.  UCX's own is 8 KiB and
/// some bytes, which go in a packet of their own.
constexpr std::size_t kMostRcBytes = 8192;

/// Bytes of UCX's header that stand before a message of a reliable connection.
std::size_t rc_header_bytes(const UcxDomain& domain) {
  return domain.options().uct_name == "rc_verbs" ? 1 : 2;
}

std::size_t pad_of(const UcxDomain& domain) {
  return domain.options().transport == UcxTransport::kRc ? 8 - rc_header_bytes(domain) : 0;
}

}  // namespace

Result<std::shared_ptr<UcxLane>> UcxLane::open(const UcxDomain& domain, uct_worker_h worker,
                                               UcxEvents& events) {
  std::shared_ptr<UcxLane> lane(new UcxLane);
  lane->domain_ = &domain;
  lane->transport_ = domain.options().transport;
  lane->worker_ = worker;
  lane->events_ = &events;
  Status status = lane->open_interface(domain, worker);
  if (status.ok()) status = lane->read_attributes();
  if (!status.ok()) return status;
  return lane;
}

UcxLane::~UcxLane() = default;

Status UcxLane::open_interface(const UcxDomain& domain, uct_worker_h worker) {
  uct_iface_params_t parameters{};
  parameters.field_mask =
      UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
      UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS | UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT |
      UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET;
  parameters.err_handler_arg = this;
  parameters.err_handler = [](void* lane, uct_ep_h endpoint, ucs_status_t) {
    static_cast<UcxLane*>(lane)->events_->on_failed(endpoint);
    return UCS_OK;
  };
  parameters.am_alignment = kAlignment;
  // So that packets are aligned.
  pad_ = pad_of(domain);
  parameters.am_align_offset = pad_ + UcxHeader::kTagBytes;
  auto interface = domain.open_interface(worker, parameters);
  if (!interface.ok()) return interface.status();
  interface_ = std::move(*interface);
  const auto handle = [this](UcxMessage kind, uct_am_callback_t callback) {
    (void)uct_iface_set_am_handler(interface_.get(), static_cast<std::uint8_t>(kind), callback,
                                   this, 0);
  };
  handle(UcxMessage::kHello, on_am<UcxMessage::kHello>);
  handle(UcxMessage::kPacket, on_am<UcxMessage::kPacket>);
  handle(UcxMessage::kWrite, on_am<UcxMessage::kWrite>);
  handle(UcxMessage::kLast, on_am<UcxMessage::kLast>);
  handle(UcxMessage::kPull, on_am<UcxMessage::kPull>);
  handle(UcxMessage::kPulled, on_am<UcxMessage::kPulled>);
  handle(UcxMessage::kPiece, on_am<UcxMessage::kPiece>);
  if (transport_ != UcxTransport::kPosix) {
    uct_iface_progress_enable(interface_.get(), UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  }
  return {};
}

template <UcxMessage kKind>
ucs_status_t UcxLane::on_am(void* self, void* data, std::size_t size, unsigned flags) {
  auto& lane = *static_cast<UcxLane*>(self);
  if (size < lane.pad_) return UCS_OK;
  const bool keepable = (flags & UCT_CB_PARAM_FLAG_DESC) != 0;
  const Segment message{static_cast<std::byte*>(data) + lane.pad_, size - lane.pad_};
  return lane.events_->on_message(lane, kKind, message, keepable) ? UCS_INPROGRESS : UCS_OK;
}

Status UcxLane::read_attributes() {
  // A later UCX may write more than the one we were compiled with knows.
  struct {
    uct_iface_attr_t known;
    std::byte later[512];
  } room{};
  const uct_iface_attr_t& attributes = room.known;
  const ucs_status_t status = uct_iface_query(interface_.get(), &room.known);
  if (status != UCS_OK) return ucx_status(StatusCode::kInternal, "asking UCX", status);
  const auto& am = attributes.cap.am;
  const auto& put = attributes.cap.put;
  wires_endpoints_ = (attributes.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_EP) != 0;
  offer_.open = true;
  offer_.geometry = {ucx_version(),
                     static_cast<std::uint32_t>(am.max_short),
                     static_cast<std::uint32_t>(am.max_bcopy),
                     static_cast<std::uint32_t>(am.max_zcopy),
                     static_cast<std::uint32_t>(am.max_hdr),
                     layout_of(*domain_)};
  if (transport_ == UcxTransport::kTcp) {
    limits_.max_message_bytes = am.max_zcopy;
    limits_.max_iov = std::min(am.max_iov, kMostIov);
    limits_.inject_bytes = kTcpInject;
    max_copied_ = kTcpInject + sizeof(UcxHeader);
    return read_addresses(attributes);
  }
  const std::size_t most = transport_ == UcxTransport::kRc
                               ? std::min(am.max_bcopy, kMostRcBytes - rc_header_bytes(*domain_))
                               : am.max_bcopy;
  max_copied_ = limits_.max_message_bytes = most - pad_;
  max_short_ = pad_ > 0 ? 0 : std::min(am.max_short, kMostShort);
  limits_.max_iov = kCopiedIov;
  limits_.inject_bytes = kCopiedInject;
  // The sender of a datagram may have to send it again.
  limits_.lends = transport_ == UcxTransport::kPosix ||
                  (transport_ == UcxTransport::kRc &&
                   put.max_bcopy == am.max_bcopy + rc_header_bytes(*domain_));
  if (transport_ == UcxTransport::kRc && domain_->can_register()) {
    limits_.max_put_bytes = put.max_zcopy;
    limits_.max_put_iov = std::min(put.max_iov, kMostIov);
    limits_.max_put_copied = put.max_bcopy;
  }
  kept_.resize(is_rdma(transport_) ? RdmaBuffers::kKept : kMostKept);
  most_at_once_ = is_rdma(transport_) ? kRdmaMessagesAtOnce : kMessagesAtOnce;
  return read_addresses(attributes);
}

Status UcxLane::read_addresses(const uct_iface_attr_t& attributes) {
  offer_.device.resize(attributes.device_addr_len);
  offer_.interface.resize(attributes.iface_addr_len);
  endpoint_bytes_ = attributes.ep_addr_len;
  if (offer_.device.size() > UcxLaneOffer::kMostDevice ||
      offer_.interface.size() > UcxLaneOffer::kMostInterface ||
      endpoint_bytes_ > UcxLaneOffer::kMostEndpoint) {
    return Status(StatusCode::kVersion, "UCX's addresses are longer than an offer has room for");
  }
  ucs_status_t status = uct_iface_get_device_address(
      interface_.get(), reinterpret_cast<uct_device_addr_t*>(offer_.device.data()));
  if (status == UCS_OK) {
    status = uct_iface_get_address(interface_.get(),
                                   reinterpret_cast<uct_iface_addr_t*>(offer_.interface.data()));
  }
  return status == UCS_OK ? Status() : ucx_status(StatusCode::kInternal, "UCX's address", status);
}

Result<UctEndpoint> UcxLane::prepare(UcxLaneOffer* offer) {
  *offer = offer_;
  if (!wires_endpoints_) return UctEndpoint();
  uct_ep_params_t parameters{};
  parameters.field_mask = UCT_EP_PARAM_FIELD_IFACE;
  parameters.iface = interface_.get();
  uct_ep_h endpoint = nullptr;
  ucs_status_t status = uct_ep_create(&parameters, &endpoint);
  if (status != UCS_OK) return ucx_status(StatusCode::kNoMemory, "a UCX endpoint", status);
  UctEndpoint created(endpoint);
  offer->endpoint.resize(endpoint_bytes_);
  status = uct_ep_get_address(endpoint, reinterpret_cast<uct_ep_addr_t*>(offer->endpoint.data()));
  if (status != UCS_OK) return ucx_status(StatusCode::kInternal, "UCX's address", status);
  return created;
}

Status UcxLane::wire(UctEndpoint* endpoint, const UcxLaneOffer& peer) {
  const UcxComplaints complaints;
  const std::string what = std::string("ucx: ") + to_string(transport_);
  const std::string needs = transport_ != UcxTransport::kPosix
                                ? ""
                                : "; both need the same user and the same ipc and pid namespaces";
  const auto* device = reinterpret_cast<const uct_device_addr_t*>(peer.device.data());
  const auto* interface = reinterpret_cast<const uct_iface_addr_t*>(peer.interface.data());
  if (peer.device.size() != offer_.device.size() ||
      peer.interface.size() != offer_.interface.size() ||
      !uct_iface_is_reachable(interface_.get(), device, interface)) {
    return Status(StatusCode::kUnreachable, what + " does not reach it" + needs);
  }
  ucs_status_t status = UCS_ERR_INVALID_ADDR;
  if (!wires_endpoints_) {
    uct_ep_params_t parameters{};
    parameters.field_mask =
        UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
    parameters.iface = interface_.get();
    parameters.dev_addr = device;
    parameters.iface_addr = interface;
    uct_ep_h created = nullptr;
    status = uct_ep_create(&parameters, &created);
    if (status == UCS_OK) endpoint->reset(created);
  } else if (*endpoint && peer.endpoint.size() == endpoint_bytes_) {
    status = uct_ep_connect_to_ep(endpoint->get(), device,
                                  reinterpret_cast<const uct_ep_addr_t*>(peer.endpoint.data()));
  }
  if (status == UCS_OK) return {};
  const std::string why = what + complaints.first() + ": " + ucs_status_string(status);
  if (!tcp_spare()) return tcp_dial_status(why, EMFILE);
  return Status(StatusCode::kUnreachable, why + needs);
}

// UCX's worker moves few interfaces well: those of shared memory are moved one by one.  tcp has
// more to do there than its interface says.
unsigned UcxLane::progress() {
  return transport_ == UcxTransport::kPosix ? uct_iface_progress(interface_.get())
                                            : uct_worker_progress(worker_);
}

UcxKept* UcxLane::keep(void* message) {
  const auto kept = std::find_if(kept_.begin(), kept_.end(),
                                 [](const UcxKept& each) { return each.message == nullptr; });
  if (kept == kept_.end()) return nullptr;
  *kept = {this, static_cast<std::byte*>(message) - pad_};
  ++kept_count_;
  return &*kept;
}

void UcxLane::release(UcxKept* kept) {
  uct_iface_release_desc(kept->message);
  kept->message = nullptr;
  --kept_count_;
}

Status UcxLane::arm(int* fd) {
  const ucs_status_t armed =
      uct_iface_event_arm(interface_.get(), UCT_EVENT_SEND_COMP | UCT_EVENT_RECV);
  if (armed != UCS_OK || uct_iface_event_fd_get(interface_.get(), fd) != UCS_OK) {
    return StatusCode::kAgain;
  }
  return {};
}

}  // namespace mad
