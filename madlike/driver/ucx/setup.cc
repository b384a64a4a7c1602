// How connections come, until their control socket stands.
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/memory/registering.h"
#include "madlike/driver/ucx/driver.h"
#include "madlike/driver/ucx/names.h"

namespace mad {
namespace {

// Bytes of a write by a device: registering what one reads takes a millisecond at the most.
constexpr std::size_t kMostPut = 16 * 1024 * 1024;
// Shorter runs are too many segments of too many writes.
constexpr std::size_t kLeastPutRun = 64 * 1024;
constexpr DoorMagic kMagic{'M', 'A', 'D', 'U', 'C', 'X'};

}  // namespace

UcxDriver::UcxDriver(const UcxOptions& options, Door door)
    : OutOfBandDriver(std::move(door), options),
      options_(options),
      received_(options.receive_chunks) {}

Result<std::unique_ptr<Driver>> open_ucx(const UcxOptions& options) {
  try {
    return UcxDriver::open(options);
  } catch (const std::exception& error) {
    return Status(StatusCode::kNoMemory, std::string("opening ucx: ") + error.what());
  }
}

Result<std::unique_ptr<Driver>> UcxDriver::open(const UcxOptions& options) {
  const bool has_network = options.tcp || !options.rc.empty() || !options.ud.empty();
  if (!options.posix && (options.cma || !has_network)) {
    return Status(StatusCode::kInvalidArgument, "ucx: without a transport, or with cma alone");
  }
  Result<Door> door = Door::open({"ucx", kMagic}, options);
  if (!door.ok()) return door.status();
  std::unique_ptr<UcxDriver> driver(new UcxDriver(options, std::move(*door)));
  Status opened = driver->open_fabric();
  if (!opened.ok()) return opened;
  return std::unique_ptr<Driver>(std::move(driver));
}

Status UcxDriver::open_fabric() {
  if (!received_.has_room()) {
    return {StatusCode::kInvalidArgument, "ucx: too few receive chunks"};
  }
  timer_ = TcpSocket(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!timer_) return tcp_status(StatusCode::kNoMemory, "a timer for ucx", errno);
  const Result<std::string> device = interface_of(door_.address());
  if (!device.ok()) return device.status();
  auto fabric = UcxFabric::open(options_, *device, *this);
  if (!fabric.ok()) return fabric.status();
  fabric_ = std::move(*fabric);
  caps_.name = ucx_name(options_);
  caps_.beyond_host = !fabric_->shared().empty();
  caps_.remote_write = true;
  caps_.links.clear();
  for (const UcxTransport transport : kAllUcxTransports) {
    if (fabric_->limits(transport) != nullptr) add_kind(transport);
  }
  return {};
}

// Neighbours are the nearest, and what the fabric's own prices are for.
void UcxDriver::add_kind(UcxTransport transport) {
  const UcxLimits& limits = *fabric_->limits(transport);
  LinkCaps link;
  link.kind = caps_.links.size();
  kinds_[static_cast<std::size_t>(transport)] = link.kind;
  link.prices = link.kind == 0 ? caps_.name : std::string("ucx:") + to_string(transport);
  link.max_iov = limits.max_iov;
  link.max_packet_bytes = limits.max_message_bytes - UcxHeader::kTagBytes;
  link.inject_bytes = limits.inject_bytes;
  link.max_write_iov = limits.max_iov;
  link.max_write_bytes = limits.max_message_bytes - sizeof(UcxHeader);
  if (limits.lends) {
    link.piece_bytes = link.lent_bytes = link.short_bytes =
        limits.max_message_bytes - sizeof(UcxPieceHeader);
  }
  if (transport == UcxTransport::kTcp) link.write_runs_from = 0;
  if (limits.max_put_bytes > 0) {
    link.max_write_iov = std::min(limits.max_put_iov, UcxPut::kMostSegments);
    link.max_write_bytes = std::min(limits.max_put_bytes, kMostPut);
    link.write_runs_from = kLeastPutRun;
    link.write_whole_from = written_whole_from(options_.registered_from, link.max_write_bytes);
  } else {
    caps_.scattered_writes = true;
  }
  if (transport == UcxTransport::kPosix && options_.cma) {  // a list of runs is sent in one message
    link.max_write_iov = std::min(
        {link.max_write_iov, ProcessReader::kMostRuns, link.max_write_bytes / sizeof(Segment)});
  }
  caps_.links.push_back(link);
}

UcxConnection& UcxDriver::add_connection(const DoorAddress& address) {
  UcxConnection& connection = connections_.add(address, random_number<std::uint32_t>());
  if (options_.cma) connection.word = random_number<std::uint64_t>();
  UcxOperation& operation = connection.operation;
  operation.driver = this;
  operation.connection = connection.id;
  operation.func = on_sent;
  operation.count = 1;
  operation.status = UCS_OK;
  operation.copied.operation = &operation;
  operation.copied.func = [](uct_pending_req_t* copied) {
    on_sent(static_cast<UcxOperation::Copied*>(copied)->operation);
    return UCS_OK;
  };
  return connection;
}

}  // namespace mad
