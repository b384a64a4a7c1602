#include "madlike/driver/ucx/fabric.h"

#include <algorithm>
#include <utility>

#include "madlike/base/say.h"
#include "madlike/driver/door/sockets.h"
#include "madlike/driver/ucx/status.h"

namespace mad {
namespace {

// Files for connections that come besides: of peers that gave up, or of strangers.
constexpr std::size_t kMoreFiles = 16;

}  // namespace

Result<std::unique_ptr<UcxFabric>> UcxFabric::open(const UcxOptions& options,
                                                   const std::string& device, UcxEvents& events) {
  restore_signal_handlers();
  std::unique_ptr<UcxFabric> fabric(new UcxFabric(events));
  // No thread of UCX's: what has to be done beside progress() is done by accept().
  ucs_async_context_t* async = nullptr;
  ucs_status_t status = ucs_async_context_create(UCS_ASYNC_MODE_POLL, &async);
  if (status != UCS_OK) return ucx_status(StatusCode::kNoMemory, "opening UCX", status);
  fabric->async_.reset(async);
  uct_worker_h worker = nullptr;
  status = uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker);
  if (status != UCS_OK) return ucx_status(StatusCode::kNoMemory, "opening UCX", status);
  fabric->worker_.reset(worker);
  Status posix, rdma, tcp;
  if (options.posix) {
    posix = fabric->open_transport({UcxTransport::kPosix, "", options.posix_segment_bytes});
  }
  rdma = fabric->open_rdma(options, device);
  if (options.tcp) tcp = fabric->open_transport({UcxTransport::kTcp, device, 0});
  if (!posix.ok() && !options.tcp) return posix;
  if (!rdma.ok() && !options.tcp) return rdma;
  if (!tcp.ok()) return tcp;
  return fabric;
}

// A host without such a device is nothing to tell of; a device that cannot be used is.
Status UcxFabric::open_rdma(const UcxOptions& options, const std::string& device) {
  Status status;
  for (const UcxTransport transport : {UcxTransport::kRc, UcxTransport::kUd}) {
    const std::string& name = transport == UcxTransport::kRc ? options.rc : options.ud;
    if (name.empty()) continue;
    Status opened = open_transport({transport, device, 0, name});
    if (opened.ok()) continue;
    if (options.tcp && opened.code() != StatusCode::kNotFound) {
      say("ucx", "no " + name + ", but tcp: " + std::string(opened.message()));
    }
    status = std::move(opened);
  }
  return status;
}

// One lane is opened at once, so that it shows whether others can be.
Status UcxFabric::open_transport(const UcxDomain::Options& options) {
  const UcxComplaints complaints;
  Entry& entry = entries_[static_cast<std::size_t>(options.transport)];
  auto domain = UcxDomain::open(options);
  if (!domain.ok()) {
    entry.why_not = {domain.status().code(),
                     std::string(domain.status().message()) + complaints.first()};
    return entry.why_not;
  }
  const auto lane = open_lane(**domain);
  entry.why_not = lane.status();
  if (!lane.ok()) return lane.status();
  entry.domain = std::move(*domain);
  entry.limits = (*lane)->limits();
  if (options.transport != UcxTransport::kPosix) shared_.push_back(*lane);
  return {};
}

Result<std::shared_ptr<UcxLane>> UcxFabric::open_lane(const UcxDomain& domain) {
  const UcxComplaints complaints;
  auto lane = UcxLane::open(domain, worker_.get(), events_);
  if (lane.ok()) return lane;
  std::string sentence = std::string(lane.status().message()) + complaints.first();
  if (is_rdma(domain.options().transport)) {
    return Status(StatusCode::kNoMemory, sentence + "; it locks about 3 MiB of memory (ulimit -l)");
  }
  if (const std::size_t bytes = domain.shared_bytes()) {
    sentence += "; every peer of this host needs " + std::to_string(bytes / 1024) +
                " KiB of /dev/shm and 3 files: give it more (docker run --shm-size, ulimit -n)";
  }
  return Status(lane.status().code(), sentence);
}

const UcxLimits* UcxFabric::limits(UcxTransport transport) const {
  const auto& limits = entry(transport).limits;
  return limits ? &*limits : nullptr;
}

Result<std::shared_ptr<UcxLane>> UcxFabric::lane(UcxTransport transport) {
  for (const auto& each : shared_) {
    if (each->transport() == transport) return each;
  }
  auto opened = open_lane(*entry(transport).domain);
  // It could be opened before.
  if (!opened.ok()) return Status(StatusCode::kNoMemory, std::string(opened.status().message()));
  posix_.push_back(*opened);
  return opened;
}

void UcxFabric::close_unused() {
  const auto unused = [](const std::shared_ptr<UcxLane>& lane) {
    return lane.use_count() == 1 && !lane->keeps_any();
  };
  posix_.erase(std::remove_if(posix_.begin(), posix_.end(), unused), posix_.end());
}

bool UcxFabric::uses_device() const {
  return std::any_of(shared_.begin(), shared_.end(), [](const std::shared_ptr<UcxLane>& each) {
    return is_rdma(each->transport()) && each->used();
  });
}

bool UcxFabric::has_timers() const {
  return std::any_of(shared_.begin(), shared_.end(), [](const std::shared_ptr<UcxLane>& each) {
    return each->transport() == UcxTransport::kUd && each->used();
  });
}

void UcxFabric::tend(std::size_t expected) {
  // UCX stops listening when accept() fails, and asserts in the next call that it listens
  // (tcp_iface.c, uct_tcp_iface_connect_handler()).
  const bool listens = limits(UcxTransport::kTcp) != nullptr;
  std::vector<TcpSocket> spares(listens ? expected + kMoreFiles : 0);
  for (TcpSocket& spare : spares) {
    spare = tcp_spare();
    if (!spare) return;
  }
  spares.clear();
  ucs_async_poll(async_.get());
}

}  // namespace mad
