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
    : options_(options), door_(std::move(door)), received_(options.receive_chunks) {}

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
  DoorOptions door_options;
  door_options.secret = options.secret;
  door_options.fabric = "ucx";
  door_options.magic = kMagic;
  door_options.interface = options.interface;
  door_options.connect_timeout = options.connect_timeout;
  door_options.stranger_timeout = options.stranger_timeout;
  door_options.silence_timeout = options.silence_timeout;
  Result<Door> door = Door::open(door_options);
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
  caps_.max_iov = caps_.max_packet_bytes = caps_.inject_bytes = caps_.max_write_bytes = SIZE_MAX;
  for (const UcxTransport transport : {UcxTransport::kPosix, UcxTransport::kTcp}) {
    const UcxLimits* const limits = fabric_->limits(transport);
    if (limits == nullptr) continue;
    const std::size_t most = limits->max_message_bytes;
    caps_.max_iov = std::min(caps_.max_iov, limits->max_iov);
    caps_.inject_bytes = std::min(caps_.inject_bytes, limits->inject_bytes);
    caps_.max_packet_bytes = std::min(caps_.max_packet_bytes, most - UcxHeader::kTagBytes);
    caps_.max_write_bytes = std::min(caps_.max_write_bytes, most - sizeof(UcxHeader));
  }
  if (const UcxLimits* const posix = fabric_->limits(UcxTransport::kPosix)) {
    caps_.short_bytes = posix->short_bytes;
    caps_.piece_bytes = posix->max_message_bytes - sizeof(UcxPieceHeader);
  }
  if (fabric_->limits(UcxTransport::kPosix) && fabric_->limits(UcxTransport::kTcp)) {
    caps_.other_prices = {"ucx:tcp"};
  }
  caps_.max_write_iov = caps_.max_iov;
  if (options_.cma) {
    caps_.max_write_iov = std::min(
        {caps_.max_write_iov, ProcessReader::kMostRuns, caps_.max_write_bytes / sizeof(Segment)});
  }
  return {};
}

const std::vector<std::byte>& UcxDriver::peer_address(ConnectionId connection) const {
  return connections_.at(connection).address;
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

Result<ConnectionId> UcxDriver::connect(const std::byte* address, std::size_t size) {
  const Result<DoorAddress> peer = door_.parse(address, size);
  if (!peer.ok()) return peer.status();
  if (UcxConnection* const known = connections_.live(peer->bytes())) {
    known->told = true;
    return known->id;
  }
  UcxConnection& connection = add_connection(*peer);
  connection.told = true;
  door_.call(*peer);
  look_soon_ = true;
  return connection.id;
}

void UcxDriver::on_door(Door::Event& event) {
  UcxConnection* const known = connections_.live(event.peer.bytes());
  UcxConnection& connection = known ? *known : add_connection(event.peer);
  if (!event.socket) return end_soon(connection.id, std::move(event.why));
  connection.control = std::move(event.socket);
  door_.watch().change(connection.control.fd(), TcpWatch::Role::kConnection, connection.id);
  set_state(connection, State::kAgreeing);
  ready_.push_back(connection.id);  // its peer may have gone on
  make_offer(connection);
}

void UcxDriver::check_deadlines() {
  for (const ConnectionId id : unsettled_) {
    const UcxConnection& connection = *find(id);
    const bool closing = connection.state == State::kClosing;
    if (closing && door_.now() >= connection.deadline) end_soon(id, connection.gone);
  }
}

// What stands and is idle is the keepalive's: nothing but the agreement goes over control sockets.
void UcxDriver::check_silence() {
  const PolledClock::time_point now = door_.now();
  if (now < listen_at_) return;
  listen_at_ = now + Silence::look_every(options_.silence_timeout);
  for (auto& [id, connection] : connections_) {
    if (!connection.control) continue;
    if (connection.silence.lasts(connection.control.fd(), now, options_.silence_timeout)) {
      end_soon(id, host_silent(connection.peer, options_.silence_timeout));
    }
  }
}

}  // namespace mad
