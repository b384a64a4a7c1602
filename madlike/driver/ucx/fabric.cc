#include "madlike/driver/ucx/fabric.h"

#include <utility>
#include <vector>

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
  std::unique_ptr<UcxFabric> fabric(new UcxFabric);
  // No thread of UCX's: what has to be done beside progress() is done by accept().
  ucs_async_context_t* async = nullptr;
  ucs_status_t status = ucs_async_context_create(UCS_ASYNC_MODE_POLL, &async);
  if (status != UCS_OK) return ucx_status(StatusCode::kNoMemory, "opening UCX", status);
  fabric->async_.reset(async);
  uct_worker_h worker = nullptr;
  status = uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker);
  if (status != UCS_OK) return ucx_status(StatusCode::kNoMemory, "opening UCX", status);
  fabric->worker_.reset(worker);
  Status posix, tcp;
  if (options.posix) posix = fabric->open_lane(options, UcxTransport::kPosix, "", events);
  if (options.tcp) tcp = fabric->open_lane(options, UcxTransport::kTcp, device, events);
  if (!posix.ok() && !options.tcp) return posix;
  if (!tcp.ok()) return tcp;
  return fabric;
}

void UcxFabric::accept(std::size_t expected) {
  // UCX stops listening when accept() fails, and asserts in the next call that it listens
  // (tcp_iface.c, uct_tcp_iface_connect_handler()).
  std::vector<TcpSocket> spares(expected + kMoreFiles);
  for (TcpSocket& spare : spares) {
    spare = tcp_spare();
    if (!spare) return;
  }
  spares.clear();
  ucs_async_poll(async_.get());
}

Status UcxFabric::open_lane(const UcxOptions& options, UcxTransport transport,
                            const std::string& device, UcxEvents& events) {
  const UcxComplaints complaints;
  Result<std::unique_ptr<UcxLane>> lane =
      UcxLane::open({transport, device, options.posix_segment_bytes}, worker_.get(), events);
  if (!lane.ok()) {
    return {lane.status().code(), std::string(lane.status().message()) + complaints.last()};
  }
  lanes_[static_cast<std::size_t>(transport)] = std::move(*lane);
  return {};
}

}  // namespace mad
