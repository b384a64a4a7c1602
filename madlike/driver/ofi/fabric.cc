#include "madlike/driver/ofi/fabric.h"

#include <rdma/fi_errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "madlike/driver/door/sockets.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/header.h"
#include "madlike/driver/ofi/provider.h"

namespace mad {
namespace {

// Of what is received and sent: more than there are buffers, and last packets.
constexpr std::size_t kCompletions = 2048;

// Sends and writes of one connection, its last packet, and one that waits for credit.
constexpr std::size_t kQueueOfDevice = 64;

// What a device is asked for.  Its queues are locked memory, too, and one of each is enough for
// what the driver keeps in it.
void fit_to_device(const OfiFacts& facts, fi_info* info) {
  // A thread of its own opens endpoints (opening.h).
  info->domain_attr->threading = FI_THREAD_SAFE;
  info->tx_attr->size = std::min(info->tx_attr->size, kQueueOfDevice);
  info->rx_attr->size = facts.receive_buffers;
}

}  // namespace

Result<std::unique_ptr<OfiFabric>> OfiFabric::open(const OfiOptions& options) {
  prepare_libfabric();
  Result<InfoPtr> info = find_connected(options);
  if (!info.ok()) return info.status();
  std::unique_ptr<OfiFabric> fabric(new OfiFabric());
  fabric->info_ = std::move(*info);
  fabric->info_->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  fabric->facts_ = OfiFacts::of(*fabric->info_, options);
  if (fabric->facts_.by_device) {
    if (fabric->info_->tx_attr->inject_size < OfiHeader::kBytes) {
      return Status(StatusCode::kNotFound, "the device of libfabric's " + options.provider +
                                               " sends at most " +
                                               std::to_string(fabric->info_->tx_attr->inject_size) +
                                               " bytes in line, and 16 are needed");
    }
    fit_to_device(fabric->facts_, fabric->info_.get());
  }
  // tcp polls descriptors anyway.  Others would pay for them at every completion.
  if (options.provider == "tcp") fabric->wait_object_ = FI_WAIT_FD;
  Status status = fabric->open_objects();
  if (!status.error()) status = fabric->listen();
  if (status.error()) return status;
  return fabric;
}

Status OfiFabric::open_objects() {
  fi_eq_attr eq_attr{};
  eq_attr.wait_obj = wait_object_;
  fi_cq_attr cq_attr{};
  cq_attr.format = FI_CQ_FORMAT_MSG;
  cq_attr.wait_obj = wait_object_;
  cq_attr.size = kCompletions;
  Status status = open_one(fabric_, "fi_fabric", [&](fid_fabric** out) {
    return fi_fabric(info_->fabric_attr, out, nullptr);
  });
  if (status.error()) return status;
  status = open_one(eq_, "fi_eq_open", [&](fid_eq** out) {
    return fi_eq_open(fabric_.get(), &eq_attr, out, nullptr);
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
  return open_one(srx_, "fi_srx_context", [&](fid_ep** out) {
    return fi_srx_context(domain_.get(), info_->rx_attr, out, nullptr);
  });
}

Status OfiFabric::listen() {
  Status status = open_one(listener_, "fi_passive_ep", [&](fid_pep** out) {
    return fi_passive_ep(fabric_.get(), info_.get(), out, nullptr);
  });
  if (status.error()) return status;
  int error = fi_pep_bind(listener_.get(), &eq_->fid, 0);
  if (error == 0) error = fi_listen(listener_.get());
  sockaddr_storage name{};
  std::size_t size = sizeof(name);
  if (error == 0) error = fi_getname(&listener_->fid, &name, &size);
  if (error != 0) return ofi_status(StatusCode::kInternal, "listening for peers", error);
  Result<std::vector<std::byte>> address = to_address(&name, size);
  if (!address.ok()) return address.status();
  address_ = std::move(*address);
  return {};
}

Result<FidPtr<fid_ep>> OfiFabric::open_endpoint(const std::vector<std::byte>& peer) {
  const InfoPtr info(fi_dupinfo(info_.get()));
  if (info) info->dest_addr = std::malloc(peer.size());
  if (!info || info->dest_addr == nullptr) {
    return Status(StatusCode::kNoMemory, "no memory for fi_info");
  }
  std::memcpy(info->dest_addr, peer.data(), peer.size());
  info->dest_addrlen = peer.size();
  return open_endpoint(info.get());
}

Result<FidPtr<fid_ep>> OfiFabric::open_endpoint(fi_info* request) {
  fid_ep* object = nullptr;
  const int error = fi_endpoint(domain_.get(), request, &object, nullptr);
  if (error != 0) return tcp_dial_status("opening an endpoint", std::abs(error));
  return FidPtr<fid_ep>(object);
}

Status OfiFabric::enable(fid_ep* endpoint) {
  int error = fi_ep_bind(endpoint, &eq_->fid, 0);
  // Bound apart: sends are completed only where they ask for it, receives always.
  if (error == 0) error = fi_ep_bind(endpoint, &cq_->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
  if (error == 0) error = fi_ep_bind(endpoint, &cq_->fid, FI_RECV);
  if (error == 0) error = fi_ep_bind(endpoint, &srx_->fid, 0);
  if (error == 0) error = fi_enable(endpoint);
  if (error == -FI_ENOMEM) return ofi_status(StatusCode::kNoMemory, "enabling an endpoint", error);
  if (error != 0) return ofi_status(StatusCode::kInternal, "enabling an endpoint", error);
  return {};
}

Status OfiFabric::watch(std::vector<pollfd>* out) {
  if (wait_object_ != FI_WAIT_FD) return StatusCode::kNotFound;
  fid* queues[] = {&cq_->fid, &eq_->fid};
  const int error = fi_trywait(fabric_.get(), queues, 2);
  if (error != 0) return error == -FI_EAGAIN ? StatusCode::kAgain : StatusCode::kNotFound;
  for (fid* queue : queues) {
    pollfd descriptor{-1, POLLIN, 0};
    if (fi_control(queue, FI_GETWAIT, &descriptor.fd) != 0) return StatusCode::kNotFound;
    out->push_back(descriptor);
  }
  return StatusCode::kOk;
}

void OfiFabric::watched_by(std::vector<int>* out) const {
  if (wait_object_ != FI_WAIT_FD) return;
  for (fid* const queue : {&cq_->fid, &eq_->fid}) {
    int set = -1;
    if (fi_control(queue, FI_GETWAIT, &set) == 0) out->push_back(set);
  }
}

}  // namespace mad
