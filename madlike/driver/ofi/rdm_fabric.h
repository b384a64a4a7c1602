// RdmFabric: the libfabric objects of an engine that has one endpoint for all peers, opened
// together and closed in order.
#ifndef MADLIKE_DRIVER_OFI_RDM_FABRIC_H_
#define MADLIKE_DRIVER_OFI_RDM_FABRIC_H_

#include <rdma/fabric.h>
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

class RdmFabric {
 public:
  /// kNotFound: no such provider, or it cannot do what the driver needs.
  static Result<std::unique_ptr<RdmFabric>> open(const OfiOptions& options);

  const fi_info& info() const { return *info_; }
  const OfiFacts& facts() const { return facts_; }
  /// By which peers send to the endpoint.
  const std::vector<std::byte>& name() const { return name_; }
  fid_domain& domain() { return *domain_; }
  fid_cq* completions() { return cq_.get(); }
  fid_av& addresses() { return *av_; }
  fid_ep* endpoint() { return endpoint_.get(); }
  /// Whatever was posted is the caller's again.
  void close_endpoint() { endpoint_.reset(); }

 private:
  RdmFabric() = default;
  Status open_objects();
  Status enable();

  // In the order of opening: members are destroyed in the opposite one.
  InfoPtr info_;
  OfiFacts facts_;
  FidPtr<fid_fabric> fabric_;
  FidPtr<fid_domain> domain_;
  FidPtr<fid_cq> cq_;
  FidPtr<fid_av> av_;
  FidPtr<fid_ep> endpoint_;
  std::vector<std::byte> name_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_RDM_FABRIC_H_
