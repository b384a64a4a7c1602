// UcxFabric: the UCX objects of one engine, opened together and closed in order.
#ifndef MADLIKE_DRIVER_UCX_FABRIC_H_
#define MADLIKE_DRIVER_UCX_FABRIC_H_

#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "madlike/base/status.h"
#include "madlike/driver/ucx/lane.h"
#include "madlike/driver/ucx/manners.h"
#include "madlike/driver/ucx/ucx.h"

namespace mad {

class UcxFabric {
 public:
  /// Opens the transports that the options ask for, tcp on the network interface `device`.  Who
  /// asks for both can do without posix.
  static Result<std::unique_ptr<UcxFabric>> open(const UcxOptions& options,
                                                 const std::string& device, UcxEvents& events);

  /// Null: not open.
  UcxLane* lane(UcxTransport transport) {
    return lanes_[static_cast<std::size_t>(transport)].get();
  }
  const UcxLane* lane(UcxTransport transport) const {
    return lanes_[static_cast<std::size_t>(transport)].get();
  }

  /// Moves all lanes with users on; 0: nothing happened.
  unsigned progress() { return uct_worker_progress(worker_.get()); }
  /// Accepts connections of tcp, which progress() does not; `expected` of them may come.  Does
  /// nothing while this process could not open their files.
  void accept(std::size_t expected);

 private:
  struct AsyncCloser {
    void operator()(ucs_async_context_t* async) const { ucs_async_context_destroy(async); }
  };
  UcxFabric() = default;
  Status open_lane(const UcxOptions& options, UcxTransport transport, const std::string& device,
                   UcxEvents& events);

  // In the order of opening: members are destroyed in the opposite one.
  UcxLog log_;
  std::unique_ptr<ucs_async_context_t, AsyncCloser> async_;
  UctPtr<uct_worker_h> worker_;
  std::array<std::unique_ptr<UcxLane>, kUcxTransports> lanes_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_FABRIC_H_
