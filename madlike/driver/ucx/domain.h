// UcxDomain: one of UCX's transports on one device, with our options: what lanes are opened on.
#ifndef MADLIKE_DRIVER_UCX_DOMAIN_H_
#define MADLIKE_DRIVER_UCX_DOMAIN_H_

#include <uct/api/uct.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "madlike/base/status.h"
#include "madlike/driver/ucx/offer.h"

namespace mad {

struct UctCloser {
  void operator()(uct_md_h md) const { uct_md_close(md); }
  void operator()(uct_iface_h iface) const { uct_iface_close(iface); }
  void operator()(uct_ep_h endpoint) const { uct_ep_destroy(endpoint); }
  void operator()(uct_worker_h worker) const { uct_worker_destroy(worker); }
};
template <typename Handle>
using UctPtr = std::unique_ptr<std::remove_pointer_t<Handle>, UctCloser>;

class UcxDomain {
 public:
  struct Options {
    UcxTransport transport = UcxTransport::kPosix;
    std::string device;  // a network interface, or that of the RDMA device; not for posix
    std::size_t segment_bytes = 0;  // posix only; at most 61440
    std::string uct_name = {};      // of an RDMA device's transport, "rc_verbs"
  };
  /// kNotFound: UCX does not have it here; kInvalidArgument.
  static Result<std::unique_ptr<UcxDomain>> open(const Options& options);

  const Options& options() const { return options_; }
  /// UCX's name of the transport: where "rc" is one of several.
  const char* uct_name() const { return device_.tl_name; }
  uct_md_h md() const { return md_.get(); }
  uct_component_h component() const { return component_; }
  /// Whether memory can be registered for a peer's device to write, by a key of 8 bytes.
  bool can_register() const;
  /// Opens one interface, by the fields of `parameters` that say nothing of the device.
  Result<UctPtr<uct_iface_h>> open_interface(uct_worker_h worker,
                                             uct_iface_params_t parameters) const;
  /// Of memory that peers write to, for one interface; 0 but for posix.
  std::size_t shared_bytes() const;

 private:
  struct ConfigReleaser {
    void operator()(uct_iface_config_t* config) const { uct_config_release(config); }
  };
  explicit UcxDomain(const Options& options) : options_(options) {}
  Status open_any_md();
  Status open_md(uct_component_h component, const char* name);
  Status find_device();
  Status configure();

  Options options_;
  std::string device_name_;  // as UCX names it; empty: any
  int gid_index_ = -1;       // of an RDMA device; -1: UCX's choice
  uct_component_h component_ = nullptr;
  UctPtr<uct_md_h> md_;
  uct_tl_resource_desc_t device_{};
  std::unique_ptr<uct_iface_config_t, ConfigReleaser> config_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_DOMAIN_H_
