// UcxFabric: the UCX objects of one engine, opened together and closed in order.
#ifndef MADLIKE_DRIVER_UCX_FABRIC_H_
#define MADLIKE_DRIVER_UCX_FABRIC_H_

#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/ucx/domain.h"
#include "madlike/driver/ucx/lane.h"
#include "madlike/driver/ucx/manners.h"
#include "madlike/driver/ucx/ucx.h"

namespace mad {

class UcxFabric {
 public:
  /// Opens the transports that the options ask for, tcp on the network interface `device`, others
  /// on the RDMA device behind it, or the first one.  Who asks for tcp, too, can do without others.
  static Result<std::unique_ptr<UcxFabric>> open(const UcxOptions& options,
                                                 const std::string& device, UcxEvents& events);

  /// Null: this engine does not have it.
  const UcxLimits* limits(UcxTransport transport) const;
  /// Why it does not, though it was asked for; or ok.
  const Status& why_not(UcxTransport transport) const { return entry(transport).why_not; }
  /// For one connection: that of all over a network, or one of shared memory of its own.  Of those
  /// that nobody else points to nothing is kept but what was not released.
  Result<std::shared_ptr<UcxLane>> lane(UcxTransport transport);

  /// Those that all connections share, in the order of UcxTransport.
  const std::vector<std::shared_ptr<UcxLane>>& shared() const { return shared_; }
  const std::vector<std::shared_ptr<UcxLane>>& posix() const { return posix_; }
  /// Closes lanes of shared memory whose connections ended.
  void close_unused();
  /// Whether a connection goes over an RDMA device.
  bool uses_device() const;
  /// Whether tend() is to be called now and then though nobody is expected: datagrams are sent
  /// again by UCX's timers.
  bool has_timers() const;
  /// Does what progress() does not: accepts connections of tcp, `expected` of which may come, and
  /// has UCX's timers run.  Does nothing while this process could not open their files.
  void tend(std::size_t expected);

 private:
  struct AsyncCloser {
    void operator()(ucs_async_context_t* async) const { ucs_async_context_destroy(async); }
  };
  struct Entry {
    std::unique_ptr<UcxDomain> domain;
    std::optional<UcxLimits> limits;
    Status why_not;
  };
  explicit UcxFabric(UcxEvents& events) : events_(events) {}
  const Entry& entry(UcxTransport transport) const {
    return entries_[static_cast<std::size_t>(transport)];
  }
  Status open_transport(const UcxDomain::Options& options);
  Status open_rdma(const UcxOptions& options, const std::string& device);
  Result<std::shared_ptr<UcxLane>> open_lane(const UcxDomain& domain);

  // In the order of opening: members are destroyed in the opposite one.
  UcxEvents& events_;
  UcxLog log_;
  std::unique_ptr<ucs_async_context_t, AsyncCloser> async_;
  UctPtr<uct_worker_h> worker_;
  std::array<Entry, kUcxTransports> entries_;
  std::vector<std::shared_ptr<UcxLane>> shared_;
  std::vector<std::shared_ptr<UcxLane>> posix_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_FABRIC_H_
