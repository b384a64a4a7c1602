#include "madlike/driver/ucx/domain.h"

#include <vector>

#include "madlike/driver/ucx/lane.h"
#include "madlike/driver/ucx/status.h"

namespace mad {
namespace {

// Variables of the environment are UCX_... or, before those, MAD_UCX_...
constexpr const char* kPrefix = "MAD";
// The length of a message is in 16 bits there (mm_iface.h, uct_mm_fifo_element).
constexpr std::size_t kMostSegment = 61440;
constexpr std::size_t kBuffers = UcxLane::kPlaces + 1 + UcxLane::kMostKept;

struct Option {
  const char* name;
  std::string value;
};

// What both sides must have alike, and what our bounds rely on.
std::vector<Option> options_of(const UcxDomain::Options& options) {
  if (options.transport == UcxTransport::kTcp) {
    return {{"MAX_IOV", "128"},
            {"CONN_NB", "y"},
            {"TX_SEG_SIZE", "8192"},
            {"RX_SEG_SIZE", "65536"},
            {"MAX_POLL", std::to_string(UcxLane::kSocketsAtOnce)}};
  }
  return {{"MM_SEG_SIZE", std::to_string(options.segment_bytes)},
          {"MM_FIFO_SIZE", std::to_string(UcxLane::kPlaces)},
          {"MM_FIFO_ELEM_SIZE", std::to_string(UcxLane::kMostShort)},
          {"MM_FIFO_MAX_POLL", std::to_string(UcxLane::kMessagesAtOnce)},
          {"MM_FIFO_RELEASE_FACTOR", "0.125"},  // a sender sees early that its peer takes messages
          {"MM_FIFO_HUGETLB", "n"},             // small, see shared_bytes()
          {"MM_RX_MAX_BUFS", "-1"},             // any number
          {"MM_RX_BUFS_GROW", std::to_string(kBuffers)}};
}

}  // namespace

Result<std::unique_ptr<UcxDomain>> UcxDomain::open(const Options& options) {
  if (options.transport == UcxTransport::kPosix &&
      (options.segment_bytes < 1024 || options.segment_bytes > kMostSegment)) {
    return Status(StatusCode::kInvalidArgument,
                  "ucx: segments of shared memory too small or large");
  }
  std::unique_ptr<UcxDomain> domain(new UcxDomain(options));
  Status status = domain->open_md();
  if (status.ok()) status = domain->find_device();
  if (status.ok()) status = domain->configure();
  if (!status.ok()) return status;
  return domain;
}

// The memory domain of the component that is named like the transport; its own name is the same.
Status UcxDomain::open_md() {
  const std::string name = to_string(options_.transport);
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
    uct_md_h md = nullptr;
    status = uct_md_open(list[i], name.c_str(), config, &md);
    uct_config_release(config);
    if (status != UCS_OK) return ucx_status(StatusCode::kNotFound, "opening " + name, status);
    md_.reset(md);
    return {};
  }
  return {StatusCode::kNotFound, "UCX has no transport \"" + name + "\" here"};
}

// The device of that name, or the only one if there is none; or what there is instead.
Status UcxDomain::find_device() {
  uct_tl_resource_desc_t* list = nullptr;
  unsigned count = 0;
  const ucs_status_t status = uct_md_query_tl_resources(md_.get(), &list, &count);
  if (status != UCS_OK) return ucx_status(StatusCode::kInternal, "asking UCX", status);
  const std::unique_ptr<uct_tl_resource_desc_t, decltype(&uct_release_tl_resource_list)> kept(
      list, uct_release_tl_resource_list);
  std::string devices;
  for (unsigned i = 0; i < count; ++i) {
    device_ = list[i];
    if (options_.device.empty() || options_.device == device_.dev_name) return {};
    devices += std::string(" ") + device_.dev_name;
  }
  return {StatusCode::kNotFound,
          "UCX has no device \"" + options_.device + "\" here; it has:" + devices};
}

Status UcxDomain::configure() {
  uct_iface_config_t* config = nullptr;
  ucs_status_t status =
      uct_md_iface_config_read(md_.get(), device_.tl_name, kPrefix, nullptr, &config);
  if (status != UCS_OK) return ucx_status(StatusCode::kInvalidArgument, "UCX_ options", status);
  config_.reset(config);
  for (const Option& option : options_of(options_)) {
    status = uct_config_modify(config, option.name, option.value.c_str());
    if (status == UCS_OK) continue;
    return ucx_status(StatusCode::kNotFound, std::string("UCX's option ") + option.name, status);
  }
  return {};
}

Result<UctPtr<uct_iface_h>> UcxDomain::open_interface(uct_worker_h worker,
                                                      uct_iface_params_t parameters) const {
  parameters.field_mask |= UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE;
  parameters.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  parameters.mode.device.tl_name = device_.tl_name;
  parameters.mode.device.dev_name = device_.dev_name;
  uct_iface_h interface = nullptr;
  const ucs_status_t status =
      uct_iface_open(md_.get(), worker, &parameters, config_.get(), &interface);
  if (status == UCS_OK) return UctPtr<uct_iface_h>(interface);
  return ucx_status(StatusCode::kNotFound,
                    std::string("opening ") + device_.tl_name + " on " + device_.dev_name, status);
}

std::size_t UcxDomain::shared_bytes() const {
  if (options_.transport == UcxTransport::kTcp) return 0;
  return kBuffers * options_.segment_bytes + UcxLane::kPlaces * UcxLane::kMostShort;
}

}  // namespace mad
