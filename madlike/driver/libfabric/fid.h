// Owners of libfabric's objects.
#ifndef MADLIKE_DRIVER_LIBFABRIC_FID_H_
#define MADLIKE_DRIVER_LIBFABRIC_FID_H_

#include <rdma/fabric.h>

#include <memory>

#include "madlike/driver/libfabric/status.h"

namespace mad {

/// Closes a libfabric object of any class.
struct FidCloser {
  template <typename Fid>
  void operator()(Fid* object) const {
    fi_close(&object->fid);
  }
};
template <typename Fid>
using FidPtr = std::unique_ptr<Fid, FidCloser>;

struct InfoFreer {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using InfoPtr = std::unique_ptr<fi_info, InfoFreer>;

/// Puts the object in its place that `open(&object)`, a call of libfabric's named `what`, makes.
template <typename Fid, typename Open>
Status open_one(FidPtr<Fid>& place, const char* what, const Open& open) {
  Fid* object = nullptr;
  const int error = open(&object);
  if (error != 0) return ofi_status(StatusCode::kInternal, what, error);
  place.reset(object);
  return {};
}

}  // namespace mad

#endif  // MADLIKE_DRIVER_LIBFABRIC_FID_H_
