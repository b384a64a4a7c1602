#include "madlike/driver/ucx/uct_double.h"

#include <dlfcn.h>
#include <ucs/async/async_fwd.h>
#include <uct/api/tl.h>

namespace mad {
namespace {

UctDouble* current = nullptr;

/// The function of this name in UCX's library, or its refusal.
template <typename... Parameters, typename... Arguments>
ucs_status_t call(ucs_status_t (*)(Parameters...), const char* name, Arguments... arguments) {
  if (current != nullptr && current->refused == name) return current->status;
  using Function = ucs_status_t (*)(Parameters...);
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name))(arguments...);
}

}  // namespace

UctDouble::UctDouble() { current = this; }
UctDouble::~UctDouble() { current = nullptr; }

void UctDouble::refuse_sends(const UcxLane* lane) {
  uct_iface_ops_t& ops = opened.at(lane).interface->ops;
  ops.ep_am_short = [](uct_ep_h, std::uint8_t, std::uint64_t, const void*, unsigned) {
    return current->status;
  };
  ops.ep_am_bcopy = [](uct_ep_h, std::uint8_t, uct_pack_callback_t, void*, unsigned) -> ssize_t {
    return current->status;
  };
  ops.ep_am_zcopy = [](uct_ep_h, std::uint8_t, const void*, unsigned, const uct_iov_t*, std::size_t,
                       unsigned, uct_completion_t*) { return current->status; };
  ops.ep_pending_add = [](uct_ep_h, uct_pending_req_t*, unsigned) { return UCS_OK; };
}

void UctDouble::bring(const UcxLane* lane, std::uint8_t kind, void* message, std::size_t size) {
  (void)opened.at(lane).handlers.at(kind)(const_cast<UcxLane*>(lane), message, size, 0);
}

extern "C" {

ucs_status_t ucs_async_context_create(ucs_async_mode_t mode, ucs_async_context_t** async) {
  return call(ucs_async_context_create, __func__, mode, async);
}

ucs_status_t uct_worker_create(ucs_async_context_t* async, ucs_thread_mode_t mode,
                               uct_worker_h* worker) {
  return call(uct_worker_create, __func__, async, mode, worker);
}

ucs_status_t uct_query_components(uct_component_h** components, unsigned* count) {
  return call(uct_query_components, __func__, components, count);
}

ucs_status_t uct_md_open(uct_component_h component, const char* name, const uct_md_config_t* config,
                         uct_md_h* md) {
  return call(uct_md_open, __func__, component, name, config, md);
}

ucs_status_t uct_md_query_tl_resources(uct_md_h md, uct_tl_resource_desc_t** resources,
                                       unsigned* count) {
  return call(uct_md_query_tl_resources, __func__, md, resources, count);
}

ucs_status_t uct_iface_query(uct_iface_h interface, uct_iface_attr_t* attributes) {
  const ucs_status_t status = call(uct_iface_query, __func__, interface, attributes);
  if (current != nullptr && current->change_attributes) current->change_attributes(attributes);
  return status;
}

ucs_status_t uct_iface_get_device_address(uct_iface_h interface, uct_device_addr_t* address) {
  return call(uct_iface_get_device_address, __func__, interface, address);
}

ucs_status_t uct_iface_get_address(uct_iface_h interface, uct_iface_addr_t* address) {
  return call(uct_iface_get_address, __func__, interface, address);
}

ucs_status_t uct_iface_set_am_handler(uct_iface_h interface, std::uint8_t kind,
                                      uct_am_callback_t callback, void* lane, std::uint32_t flags) {
  if (current != nullptr) {
    current->opened[lane].interface = interface;
    current->opened[lane].handlers[kind] = callback;
  }
  return call(uct_iface_set_am_handler, __func__, interface, kind, callback, lane, flags);
}

ucs_status_t uct_iface_event_arm(uct_iface_h interface, unsigned events) {
  return call(uct_iface_event_arm, __func__, interface, events);
}

ucs_status_t uct_iface_event_fd_get(uct_iface_h interface, int* fd) {
  return call(uct_iface_event_fd_get, __func__, interface, fd);
}

ucs_status_t uct_ep_create(const uct_ep_params_t* parameters, uct_ep_h* endpoint) {
  return call(uct_ep_create, __func__, parameters, endpoint);
}

ucs_status_t uct_ep_get_address(uct_ep_h endpoint, uct_ep_addr_t* address) {
  return call(uct_ep_get_address, __func__, endpoint, address);
}

}  // extern "C"

}  // namespace mad
