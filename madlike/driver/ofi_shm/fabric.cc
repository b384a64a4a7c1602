#include "madlike/driver/ofi_shm/fabric.h"

#include <rdma/fi_errno.h>
#include <signal.h>

#include <array>
#include <cstring>
#include <string>

namespace mad {
namespace {

constexpr std::uint32_t kApi = FI_VERSION(1, 11);

InfoPtr make_hints() {
  InfoPtr hints(fi_allocinfo());
  if (!hints) return hints;
  // FI_HMEM, memory of devices, has the provider copy through shared memory only: its other way
  // reads and writes the memory of processes by their numbers, which may be others' in another
  // namespace (smr_ep_ctrl(), smr_cma_check()).
  hints->caps = FI_MSG | FI_SEND | FI_RECV | FI_HMEM;
  hints->addr_format = FI_ADDR_STR;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_HMEM;
  hints->domain_attr->cq_data_size = 8;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = strdup("shm");
  return hints;
}

/// While one exists, signal handlers that somebody installs are undone by its end.
class KeptSignals {
 public:
  KeptSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &before_[i]);
  }
  ~KeptSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction now {};
      sigaction(kSignals[i], nullptr, &now);
      if (now.sa_sigaction == before_[i].sa_sigaction) continue;
      sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  // Those of smr_init_sig_handlers().
  static constexpr std::array<int, 4> kSignals{SIGBUS, SIGSEGV, SIGTERM, SIGINT};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace

Result<std::unique_ptr<OfiShmFabric>> OfiShmFabric::open() {
  const InfoPtr hints = make_hints();
  if (!hints) return Status(StatusCode::kNoMemory, "no memory for fi_info");
  fi_info* list = nullptr;
  const int error = fi_getinfo(kApi, nullptr, nullptr, 0, hints.get(), &list);
  std::unique_ptr<OfiShmFabric> fabric(new OfiShmFabric());
  fabric->info_.reset(list);
  if (error != 0) {
    return ofi_status(StatusCode::kNotFound,
                      "libfabric has no shared memory (shm) here, or too little: it wants 16 MiB "
                      "free in /dev/shm for each core",
                      error);
  }
  list->rx_attr->size = list->tx_attr->size = kPlaces;
  Status status = open_one(fabric->fabric_, "fi_fabric", [&](fid_fabric** out) {
    return fi_fabric(list->fabric_attr, out, nullptr);
  });
  if (status.error()) return status;
  status = open_one(fabric->domain_, "fi_domain", [&](fid_domain** out) {
    return fi_domain(fabric->fabric_.get(), list, out, nullptr);
  });
  if (status.error()) return status;
  return fabric;
}

Result<FidPtr<fid_ep>> OfiShmFabric::open_endpoint() {
  const KeptSignals kept;
  FidPtr<fid_ep> endpoint;
  const Status status = open_one(endpoint, "fi_endpoint", [&](fid_ep** out) {
    return fi_endpoint(domain_.get(), info_.get(), out, nullptr);
  });
  if (status.error()) return status;
  return endpoint;
}

}  // namespace mad
