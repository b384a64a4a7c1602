#include "madlike/driver/ofi/rdm_fabric.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <string>
#include <utility>

#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/header.h"
#include "madlike/driver/ofi/provider.h"
#include "madlike/driver/ofi/rdm_offer.h"

namespace mad {
namespace {

// More than there are buffers to receive in and to send from.
constexpr std::size_t kCompletions = 512;

}  // namespace

Result<std::unique_ptr<RdmFabric>> RdmFabric::open(const OfiOptions& options) {
  prepare_libfabric();
  Result<InfoPtr> info = find_datagrams(options);
  if (!info.ok()) return info.status();
  const std::size_t inject = (*info)->tx_attr->inject_size;
  if (inject < OfiHeader::kBytes) {
    return Status(StatusCode::kNotFound, "libfabric's " + options.provider + " sends at most " +
                                             std::to_string(inject) + " bytes in line, and " +
                                             std::to_string(OfiHeader::kBytes) + " are needed");
  }
  const int registers = (*info)->domain_attr->mr_mode;
  if ((registers & FI_MR_ENDPOINT) != 0 && (registers & FI_MR_LOCAL) != 0) {
    return Status(StatusCode::kNotFound,
                  "libfabric's " + options.provider +
                      " wants memory to be registered with an endpoint, which is not done here");
  }
  if ((*info)->rx_attr->size == 0) {
    return Status(StatusCode::kNotFound,
                  "libfabric's " + options.provider + " does not say how much it can receive into");
  }
  std::unique_ptr<RdmFabric> fabric(new RdmFabric());
  fabric->info_ = std::move(*info);
  fabric->facts_ = OfiFacts::of(*fabric->info_, options);
  Status status = fabric->open_objects();
  if (!status.error()) status = fabric->enable();
  if (status.error()) return status;
  return fabric;
}

Status RdmFabric::open_objects() {
  fi_cq_attr cq_attr{};
  cq_attr.format = FI_CQ_FORMAT_MSG;
  cq_attr.wait_obj = FI_WAIT_NONE;
  cq_attr.size = kCompletions;
  fi_av_attr av_attr{};
  const fi_av_type type = info_->domain_attr->av_type;
  av_attr.type = type == FI_AV_UNSPEC ? FI_AV_TABLE : type;
  Status status = open_one(fabric_, "fi_fabric", [&](fid_fabric** out) {
    return fi_fabric(info_->fabric_attr, out, nullptr);
  });
  if (status.error()) return status;
  status = open_one(domain_, "fi_domain", [&](fid_domain** out) {
    return fi_domain(fabric_.get(), info_.get(), out, nullptr);
  });
  if (status.error()) return status;
  status = open_one(cq_, "fi_cq_open", [&](fid_cq** out) {
    return fi_cq_open(domain_.get(), &cq_attr, out, nullptr);
  });
  if (status.error()) return status;
  status = open_one(av_, "fi_av_open", [&](fid_av** out) {
    return fi_av_open(domain_.get(), &av_attr, out, nullptr);
  });
  if (status.error()) return status;
  return open_one(endpoint_, "fi_endpoint", [&](fid_ep** out) {
    return fi_endpoint(domain_.get(), info_.get(), out, nullptr);
  });
}

Status RdmFabric::enable() {
  int error = fi_ep_bind(endpoint_.get(), &cq_->fid, FI_TRANSMIT | FI_RECV);
  if (error == 0) error = fi_ep_bind(endpoint_.get(), &av_->fid, 0);
  if (error == 0) error = fi_enable(endpoint_.get());
  name_.resize(RdmOffer::kMostName);
  std::size_t size = name_.size();
  if (error == 0) error = fi_getname(&endpoint_->fid, name_.data(), &size);
  if (error != 0) return ofi_status(StatusCode::kInternal, "an endpoint for datagrams", error);
  name_.resize(size);
  return {};
}

}  // namespace mad
