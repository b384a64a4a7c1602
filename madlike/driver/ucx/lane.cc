#include "madlike/driver/ucx/lane.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "madlike/driver/ucx/manners.h"
#include "madlike/driver/ucx/status.h"

namespace mad {
namespace {

// Variables of the environment are UCX_... or, before those, MAD_UCX_...
constexpr const char* kPrefix = "MAD";
// Messages on their way to an engine in shared memory.
constexpr std::size_t kFifoSize = 64;
// The length of one is in 16 bits there (mm_iface.h, uct_mm_fifo_element).
constexpr std::size_t kMostSegment = 61440;
constexpr std::size_t kMaxIov = 126;
constexpr std::size_t kPosixIov = 256;  // our callback copies any number
// Copying so much is cheaper than a list of segments and a completion; with tcp it leaves at once
// or is kept by UCX.
constexpr std::size_t kTcpInject = 2048;
// Whatever is injected was copied together before, and shared memory copies it again.
constexpr std::size_t kPosixInject = 512;
constexpr std::size_t kAlignment = 64;

struct Option {
  const char* name;
  std::string value;
};

// What both sides must have alike, and what our bounds rely on.
std::vector<Option> options_of(const UcxLane::Options& options) {
  if (options.transport == UcxTransport::kTcp) {
    return {{"MAX_IOV", "128"},
            {"CONN_NB", "y"},
            {"TX_SEG_SIZE", "8192"},
            {"RX_SEG_SIZE", "65536"},
            {"MAX_POLL", std::to_string(UcxLane::kSocketsAtOnce)}};
  }
  return {{"MM_SEG_SIZE", std::to_string(options.segment_bytes)},
          {"MM_FIFO_SIZE", std::to_string(kFifoSize)},
          {"MM_FIFO_ELEM_SIZE", std::to_string(UcxLane::kMostShort)},
          {"MM_FIFO_MAX_POLL", std::to_string(UcxLane::kMessagesAtOnce)},
          {"MM_FIFO_RELEASE_FACTOR", "0.125"},  // a sender sees early that its peer takes messages
          {"MM_RX_MAX_BUFS", "-1"},             // any number
          {"MM_RX_BUFS_GROW", std::to_string(kFifoSize + 1 + UcxLane::kMostKept)}};
}

struct ConfigReleaser {
  void operator()(void* config) const { uct_config_release(config); }
};

/// The memory domain of the component of that name, which is named like the component.
Result<UctPtr<uct_md_h>> open_domain(const std::string& name) {
  uct_component_h* list = nullptr;
  unsigned count = 0;
  ucs_status_t status = uct_query_components(&list, &count);
  if (status != UCS_OK) return ucx_status(StatusCode::kInternal, "asking UCX", status);
  const std::unique_ptr<uct_component_h, decltype(&uct_release_component_list)> components(
      list, uct_release_component_list);
  for (unsigned i = 0; i < count; ++i) {
    uct_component_attr_t attributes{};
    attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
    if (uct_component_query(list[i], &attributes) != UCS_OK || name != attributes.name) continue;
    uct_md_config_t* config = nullptr;
    status = uct_md_config_read(list[i], kPrefix, nullptr, &config);
    if (status != UCS_OK) return ucx_status(StatusCode::kInvalidArgument, "UCX_ options", status);
    const std::unique_ptr<uct_md_config_t, ConfigReleaser> kept(config);
    uct_md_h md = nullptr;
    status = uct_md_open(list[i], name.c_str(), config, &md);
    if (status != UCS_OK) return ucx_status(StatusCode::kNotFound, "opening " + name, status);
    return UctPtr<uct_md_h>(md);
  }
  return Status(StatusCode::kNotFound, "UCX has no transport \"" + name + "\" here");
}

/// The device of that name, or the only one if there is none; or what there is instead.
Result<uct_tl_resource_desc_t> find_device(uct_md_h md, const std::string& name) {
  uct_tl_resource_desc_t* list = nullptr;
  unsigned count = 0;
  const ucs_status_t status = uct_md_query_tl_resources(md, &list, &count);
  if (status != UCS_OK) return ucx_status(StatusCode::kInternal, "asking UCX", status);
  const std::unique_ptr<uct_tl_resource_desc_t, decltype(&uct_release_tl_resource_list)> kept(
      list, uct_release_tl_resource_list);
  std::string devices;
  for (unsigned i = 0; i < count; ++i) {
    if (name.empty() || name == list[i].dev_name) return list[i];
    devices += std::string(" ") + list[i].dev_name;
  }
  return Status(StatusCode::kNotFound,
                "UCX has no device \"" + name + "\" here; it has:" + devices);
}

/// Copies the header and all segments to where UCX has room for them.
struct Gather {
  const UcxHeader& header;
  std::size_t header_bytes;
  SegmentList content;

  std::size_t to(std::byte* out) const {
    std::byte* const first = out;
    std::memcpy(out, &header, header_bytes);
    out += header_bytes;
    for (const Segment& segment : content) {
      if (segment.size > 0) std::memcpy(out, segment.data, segment.size);
      out += segment.size;
    }
    return static_cast<std::size_t>(out - first);
  }
  static std::size_t pack(void* out, void* gather) {
    return static_cast<const Gather*>(gather)->to(static_cast<std::byte*>(out));
  }
};

}  // namespace

Result<std::unique_ptr<UcxLane>> UcxLane::open(const Options& options, uct_worker_h worker,
                                               UcxEvents& events) {
  if (options.transport == UcxTransport::kPosix &&
      (options.segment_bytes < 1024 || options.segment_bytes > kMostSegment)) {
    return Status(StatusCode::kInvalidArgument,
                  "ucx: segments of shared memory too small or large");
  }
  std::unique_ptr<UcxLane> lane(new UcxLane);
  lane->transport_ = options.transport;
  lane->events_ = &events;
  Result<UctPtr<uct_md_h>> md = open_domain(to_string(options.transport));
  if (!md.ok()) return md.status();
  lane->md_ = std::move(*md);
  Status status = lane->open_interface(options, worker);
  if (status.ok()) status = lane->read_attributes(options);
  if (!status.ok()) return status;
  return lane;
}

UcxLane::~UcxLane() = default;

Status UcxLane::open_interface(const Options& options, uct_worker_h worker) {
  const Result<uct_tl_resource_desc_t> device = find_device(md_.get(), options.device);
  if (!device.ok()) return device.status();
  uct_iface_config_t* config = nullptr;
  ucs_status_t status =
      uct_md_iface_config_read(md_.get(), device->tl_name, kPrefix, nullptr, &config);
  if (status != UCS_OK) return ucx_status(StatusCode::kInvalidArgument, "UCX_ options", status);
  const std::unique_ptr<uct_iface_config_t, ConfigReleaser> kept(config);
  for (const Option& option : options_of(options)) {
    status = uct_config_modify(config, option.name, option.value.c_str());
    if (status == UCS_OK) continue;
    return ucx_status(StatusCode::kNotFound, std::string("UCX's option ") + option.name, status);
  }
  uct_iface_params_t parameters{};
  parameters.field_mask =
      UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
      UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
      UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS | UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT |
      UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET;
  parameters.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  parameters.mode.device.tl_name = device->tl_name;
  parameters.mode.device.dev_name = device->dev_name;
  parameters.err_handler_arg = this;
  parameters.err_handler = [](void* lane, uct_ep_h endpoint, ucs_status_t) {
    static_cast<UcxLane*>(lane)->events_->on_failed(endpoint);
    return UCS_OK;
  };
  parameters.am_alignment = kAlignment;
  parameters.am_align_offset = UcxHeader::kTagBytes;  // so that packets are aligned
  uct_iface_h interface = nullptr;
  status = uct_iface_open(md_.get(), worker, &parameters, config, &interface);
  if (status != UCS_OK) {
    return ucx_status(StatusCode::kNotFound,
                      std::string("opening ") + device->tl_name + " on " + device->dev_name,
                      status);
  }
  interface_.reset(interface);
  const auto handle = [this](UcxMessage kind, uct_am_callback_t callback) {
    (void)uct_iface_set_am_handler(interface_.get(), static_cast<std::uint8_t>(kind), callback,
                                   this, 0);
  };
  handle(UcxMessage::kHello, on_am<UcxMessage::kHello>);
  handle(UcxMessage::kPacket, on_am<UcxMessage::kPacket>);
  handle(UcxMessage::kWrite, on_am<UcxMessage::kWrite>);
  handle(UcxMessage::kLast, on_am<UcxMessage::kLast>);
  return {};
}

template <UcxMessage kKind>
ucs_status_t UcxLane::on_am(void* self, void* data, std::size_t size, unsigned flags) {
  auto& lane = *static_cast<UcxLane*>(self);
  const bool keepable = (flags & UCT_CB_PARAM_FLAG_DESC) != 0;
  return lane.events_->on_message(lane, kKind, {data, size}, keepable) ? UCS_INPROGRESS : UCS_OK;
}

Status UcxLane::read_attributes(const Options& options) {
  // A later UCX may write more than the one we were compiled with knows.
  struct {
    uct_iface_attr_t known;
    std::byte later[512];
  } room{};
  const uct_iface_attr_t& attributes = room.known;
  ucs_status_t status = uct_iface_query(interface_.get(), &room.known);
  if (status != UCS_OK) return ucx_status(StatusCode::kInternal, "asking UCX", status);
  const auto& am = attributes.cap.am;
  const bool by_list = (attributes.cap.flags & UCT_IFACE_FLAG_AM_ZCOPY) != 0;
  offer_.open = true;
  offer_.geometry = {UCT_API,
                     static_cast<std::uint32_t>(am.max_short),
                     static_cast<std::uint32_t>(am.max_bcopy),
                     static_cast<std::uint32_t>(am.max_zcopy),
                     static_cast<std::uint32_t>(am.max_hdr),
                     static_cast<std::uint32_t>(by_list ? 0 : kFifoSize)};
  if (by_list) {
    max_message_bytes_ = am.max_zcopy;
    max_iov_ = std::min(am.max_iov, kMaxIov);
    inject_bytes_ = kTcpInject;
    max_copied_ = kTcpInject + sizeof(UcxHeader);
  } else {
    max_message_bytes_ = max_copied_ = std::min(am.max_bcopy, options.segment_bytes);
    max_iov_ = kPosixIov;
    inject_bytes_ = kPosixInject;
    max_short_ = std::min(am.max_short, kMostShort);
  }
  offer_.device.resize(attributes.device_addr_len);
  offer_.interface.resize(attributes.iface_addr_len);
  endpoint_bytes_ = attributes.ep_addr_len;
  if (offer_.device.size() > UcxLaneOffer::kMostDevice ||
      offer_.interface.size() > UcxLaneOffer::kMostInterface ||
      endpoint_bytes_ > UcxLaneOffer::kMostEndpoint) {
    return Status(StatusCode::kVersion, "UCX's addresses are longer than an offer has room for");
  }
  status = uct_iface_get_device_address(interface_.get(),
                                        reinterpret_cast<uct_device_addr_t*>(offer_.device.data()));
  if (status == UCS_OK) {
    status = uct_iface_get_address(interface_.get(),
                                   reinterpret_cast<uct_iface_addr_t*>(offer_.interface.data()));
  }
  return status == UCS_OK ? Status() : ucx_status(StatusCode::kInternal, "UCX's address", status);
}

Result<UctEndpoint> UcxLane::prepare(UcxLaneOffer* offer) {
  *offer = offer_;
  if (transport_ == UcxTransport::kPosix) return UctEndpoint();
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
  const auto* device = reinterpret_cast<const uct_device_addr_t*>(peer.device.data());
  const auto* interface = reinterpret_cast<const uct_iface_addr_t*>(peer.interface.data());
  if (peer.device.size() != offer_.device.size() ||
      peer.interface.size() != offer_.interface.size() ||
      !uct_iface_is_reachable(interface_.get(), device, interface)) {
    return Status(StatusCode::kUnreachable, what + " does not reach it");
  }
  ucs_status_t status = UCS_ERR_INVALID_ADDR;
  if (transport_ == UcxTransport::kPosix) {
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
  return ucx_status(StatusCode::kUnreachable, what + complaints.last(), status);
}

void UcxLane::add_user() {
  if (users_++ > 0) return;
  uct_iface_progress_enable(interface_.get(), UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
}

void UcxLane::drop_user() {
  if (--users_ > 0) return;
  uct_iface_progress_disable(interface_.get(), UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
}

ucs_status_t UcxLane::send(uct_ep_h endpoint, UcxMessage kind, const UcxHeader& header,
                           SegmentList content, std::size_t bytes, uct_completion_t* done) {
  const auto id = static_cast<std::uint8_t>(kind);
  const std::size_t header_bytes =
      kind == UcxMessage::kWrite ? sizeof(header) : UcxHeader::kTagBytes;
  Gather gather{header, header_bytes, content};
  if (header_bytes + bytes <= max_short_) {
    std::array<std::byte, kMostShort> gathered;
    const std::size_t size = gather.to(gathered.data()) - UcxHeader::kTagBytes;
    return uct_ep_am_short(endpoint, id, header.tag, gathered.data() + UcxHeader::kTagBytes,
                           static_cast<unsigned>(size));
  }
  if (header_bytes + bytes <= max_copied_) {
    const ssize_t packed = uct_ep_am_bcopy(endpoint, id, Gather::pack, &gather, 0);
    return packed < 0 ? static_cast<ucs_status_t>(packed) : UCS_OK;
  }
  std::array<uct_iov_t, kMaxIov> list;
  std::size_t count = 0;
  for (const Segment& segment : content) {
    if (segment.size == 0) continue;
    list[count++] = {segment.data, segment.size, UCT_MEM_HANDLE_NULL, 0, 1};
  }
  return uct_ep_am_zcopy(endpoint, id, &header, static_cast<unsigned>(header_bytes), list.data(),
                         count, 0, done);
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
