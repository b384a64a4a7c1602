// How connections come, until their control socket stands.
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ucx/driver.h"
#include "madlike/driver/ucx/names.h"

namespace mad {
namespace {

constexpr DoorMagic kMagic{'M', 'A', 'D', 'U', 'C', 'X'};

}  // namespace

UcxDriver::UcxDriver(const UcxOptions& options, Door door)
    : DoorDriver(std::move(door), options), options_(options), received_(options.receive_chunks) {}

Result<std::unique_ptr<Driver>> open_ucx(const UcxOptions& options) {
  try {
    return UcxDriver::open(options);
  } catch (const std::exception& error) {
    return Status(StatusCode::kNoMemory, std::string("opening ucx: ") + error.what());
  }
}

Result<std::unique_ptr<Driver>> UcxDriver::open(const UcxOptions& options) {
  if (!options.posix && (options.cma || !options.tcp)) {
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
  caps_.beyond_host = options_.tcp;
  caps_.remote_write = true;
  caps_.scattered_writes = true;
  caps_.links.clear();
  for (const UcxTransport transport : {UcxTransport::kPosix, UcxTransport::kTcp}) {
    if (fabric_->limits(transport) != nullptr) add_kind(transport);
  }
  return {};
}

// Neighbours are the nearest, and what the fabric's own prices are for.
void UcxDriver::add_kind(UcxTransport transport) {
  const UcxLimits& limits = *fabric_->limits(transport);
  LinkCaps link;
  link.kind = caps_.links.size();
  link.prices = link.kind == 0 ? caps_.name : "ucx:tcp";
  link.max_iov = limits.max_iov;
  link.max_packet_bytes = limits.max_message_bytes - UcxHeader::kTagBytes;
  link.inject_bytes = limits.inject_bytes;
  link.max_write_iov = limits.max_iov;
  link.max_write_bytes = limits.max_message_bytes - sizeof(UcxHeader);
  if (transport == UcxTransport::kPosix) {
    link.piece_bytes = link.lent_bytes = limits.max_message_bytes - sizeof(UcxPieceHeader);
  } else {
    link.write_runs_from = 0;
  }
  if (transport == UcxTransport::kPosix && options_.cma) {  // a list of runs is sent in one message
    link.max_write_iov = std::min(
        {link.max_write_iov, ProcessReader::kMostRuns, link.max_write_bytes / sizeof(Segment)});
  }
  caps_.links.push_back(link);
}

void UcxDriver::set_state(UcxConnection& connection, State state) {
  const bool was = connection.unsettled();
  connection.state = state;
  if (connection.unsettled() == was) return;
  if (was) {
    unsettled_.erase(std::find(unsettled_.begin(), unsettled_.end(), connection.id));
  } else {
    unsettled_.push_back(connection.id);
    look_soon_ = true;
  }
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
