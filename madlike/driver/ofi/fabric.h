// OfiFabric: the libfabric objects of one engine, opened together and closed in order.
//
// One domain, one completion queue, one event queue, one shared receive context and one listening
// endpoint.  The active endpoints of the connections are opened and closed here but owned by their
// connections, which must close them before the fabric goes.
#ifndef MADLIKE_DRIVER_OFI_FABRIC_H_
#define MADLIKE_DRIVER_OFI_FABRIC_H_

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <memory>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/libfabric/fid.h"
#include "madlike/driver/ofi/facts.h"
#include "madlike/driver/ofi/ofi.h"

namespace mad {

class OfiFabric {
 public:
  static Result<std::unique_ptr<OfiFabric>> open(const OfiOptions& options);

  /// An endpoint that is to be connected to the engine at `peer`.  Blocks if facts().by_device, and
  /// may then be called by any thread.
  Result<FidPtr<fid_ep>> open_endpoint(const std::vector<std::byte>& peer);
  /// One for the fi_info of a connection request.
  Result<FidPtr<fid_ep>> open_endpoint(fi_info* request);
  /// Binds an endpoint to the queues, and enables it.
  Status enable(fid_ep* endpoint);

  /// The descriptors behind both queues, see Driver::watch().
  Status watch(std::vector<pollfd>* out);
  /// See Driver::watched_by(); none where the provider does not say.
  void watched_by(std::vector<int>* out) const;

  const fi_info& info() const { return *info_; }
  const OfiFacts& facts() const { return facts_; }
  const std::vector<std::byte>& address() const { return address_; }
  fid_domain* domain() { return domain_.get(); }
  fid_eq* events() { return eq_.get(); }
  fid_cq* completions() { return cq_.get(); }
  fid_ep* receives() { return srx_.get(); }
  /// What was posted to receives() is the caller's again.  All endpoints are closed.
  void end_receives() { srx_.reset(); }
  fid_pep* listener() { return listener_.get(); }

 private:
  OfiFabric() = default;
  Status open_objects();
  Status listen();

  // In the order of opening: members are destroyed in the opposite one.
  InfoPtr info_;
  OfiFacts facts_;
  FidPtr<fid_fabric> fabric_;
  FidPtr<fid_eq> eq_;
  FidPtr<fid_domain> domain_;
  FidPtr<fid_cq> cq_;
  FidPtr<fid_ep> srx_;
  FidPtr<fid_pep> listener_;
  std::vector<std::byte> address_;
  fi_wait_obj wait_object_ = FI_WAIT_NONE;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_FABRIC_H_
