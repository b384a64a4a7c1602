#include "madlike/driver/ucx/domain.h"

#include <vector>

#include "madlike/driver/rdma/source.h"
#include "madlike/driver/ucx/lane.h"
#include "madlike/driver/ucx/settings.h"
#include "madlike/driver/ucx/status.h"

namespace mad {
namespace {

// Variables of the environment are UCX_... or, before those, MAD_UCX_...
constexpr const char* kPrefix = "MAD";
// The length of a message is in 16 bits there (mm_iface.h, uct_mm_fifo_element).
constexpr std::size_t kMostSegment = 61440;

Status set_all(void* config, const std::vector<UcxSetting>& settings) {
  for (const UcxSetting& each : settings) {
    const ucs_status_t status = uct_config_modify(config, each.name.c_str(), each.value.c_str());
    if (status == UCS_OK) continue;
    return ucx_status(StatusCode::kNotFound, "UCX's option " + each.name, status);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<UcxDomain>> UcxDomain::open(const Options& options) {
  if (options.transport == UcxTransport::kPosix &&
      (options.segment_bytes < 1024 || options.segment_bytes > kMostSegment)) {
    return Status(StatusCode::kInvalidArgument,
                  "ucx: segments of shared memory too small or large");
  }
  std::unique_ptr<UcxDomain> domain(new UcxDomain(options));
  if (!is_rdma(options.transport)) {
    domain->device_name_ = options.device;
  } else if (const auto device = rdma_source(options.device)) {
    domain->device_name_ = device->name;
    domain->gid_index_ = device->gid_index;
  }
  Status status = domain->open_any_md();
  if (status.ok()) status = domain->configure();
  if (!status.ok()) return status;
  return domain;
}

// The memory domain of the component that is named like the transport, whose own name is the same;
// or those of RDMA devices, of which the first that has the transport is taken.
Status UcxDomain::open_any_md() {
  const std::string name = is_rdma(options_.transport) ? "ib" : to_string(options_.transport);
  uct_component_h* list = nullptr;
  unsigned count = 0;
  const ucs_status_t status = uct_query_components(&list, &count);
  if (status != UCS_OK) return ucx_status(StatusCode::kInternal, "asking UCX", status);
  const std::unique_ptr<uct_component_h, decltype(&uct_release_component_list)> components(
      list, uct_release_component_list);
  Status none(StatusCode::kNotFound,
              std::string("UCX has no transport \"") + to_string(options_.transport) + "\" here");
  for (unsigned i = 0; i < count; ++i) {
    uct_component_attr_t attributes{};
    attributes.field_mask =
        UCT_COMPONENT_ATTR_FIELD_NAME | UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
    if (uct_component_query(list[i], &attributes) != UCS_OK || name != attributes.name) continue;
    std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
    attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attributes.md_resources = domains.data();
    if (uct_component_query(list[i], &attributes) != UCS_OK) continue;
    for (const uct_md_resource_desc_t& domain : domains) {
      const bool is_another = device_name_.substr(0, device_name_.find(':')) != domain.md_name;
      if (is_rdma(options_.transport) && !device_name_.empty() && is_another) continue;
      none = open_md(list[i], domain.md_name);
      if (none.ok()) return none;
    }
  }
  return none;
}

Status UcxDomain::open_md(uct_component_h component, const char* name) {
  uct_md_config_t* config = nullptr;
  ucs_status_t status = uct_md_config_read(component, kPrefix, nullptr, &config);
  if (status != UCS_OK) return ucx_status(StatusCode::kInvalidArgument, "UCX_ options", status);
  const std::unique_ptr<uct_md_config_t, void (*)(void*)> kept(config, uct_config_release);
  if (is_rdma(options_.transport)) {
    Status set = set_all(config, rdma_domain_settings(gid_index_));
    if (!set.ok()) return set;
  }
  uct_md_h md = nullptr;
  status = uct_md_open(component, name, config, &md);
  if (status != UCS_OK) {
    return ucx_status(StatusCode::kNotFound, std::string("opening ") + name, status);
  }
  md_.reset(md);
  component_ = component;
  return find_device();
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
    if (is_rdma(options_.transport) && options_.uct_name != device_.tl_name) continue;
    if (device_name_.empty() || device_name_ == device_.dev_name) return {};
    devices += std::string(" ") + device_.dev_name;
  }
  return {StatusCode::kNotFound, "UCX has no device \"" + device_name_ + "\" with " +
                                     to_string(options_.transport) + " here; it has:" + devices};
}

Status UcxDomain::configure() {
  uct_iface_config_t* config = nullptr;
  ucs_status_t status =
      uct_md_iface_config_read(md_.get(), device_.tl_name, kPrefix, nullptr, &config);
  if (status != UCS_OK) return ucx_status(StatusCode::kInvalidArgument, "UCX_ options", status);
  config_.reset(config);
  return set_all(config,
                 interface_settings(options_.transport, options_.uct_name, options_.segment_bytes));
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

bool UcxDomain::can_register() const {
  // A later UCX may write more than the one we were compiled with knows.
  struct {
    uct_md_attr_t known;
    std::byte later[512];
  } room{};
  return uct_md_query(md_.get(), &room.known) == UCS_OK &&
         (room.known.cap.flags & UCT_MD_FLAG_REG) != 0 &&
         room.known.rkey_packed_size == sizeof(std::uint64_t);
}

std::size_t UcxDomain::shared_bytes() const {
  if (options_.transport != UcxTransport::kPosix) return 0;
  return kPosixBuffers * options_.segment_bytes + UcxLane::kPlaces * UcxLane::kMostShort;
}

}  // namespace mad
