// OfiShmFabric: what the endpoints of one engine share of libfabric.
#ifndef MADLIKE_DRIVER_OFI_SHM_FABRIC_H_
#define MADLIKE_DRIVER_OFI_SHM_FABRIC_H_

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <memory>

#include "madlike/base/status.h"
#include "madlike/driver/libfabric/fid.h"

namespace mad {

class OfiShmFabric {
 public:
  /// Places in an endpoint's queue: messages on their way to it.
  static constexpr std::size_t kPlaces = 64;

  /// kNotFound: libfabric has no provider shm that does what we need.
  static Result<std::unique_ptr<OfiShmFabric>> open();

  const fi_info& info() const { return *info_; }
  fid_domain* domain() { return domain_.get(); }
  /// An endpoint, not yet enabled.  What that does to the signals of the process is undone.
  Result<FidPtr<fid_ep>> open_endpoint();

 private:
  OfiShmFabric() = default;

  // In the order of opening: members are destroyed in the opposite one.
  InfoPtr info_;
  FidPtr<fid_fabric> fabric_;
  FidPtr<fid_domain> domain_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_SHM_FABRIC_H_
