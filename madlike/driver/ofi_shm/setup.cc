// How connections come, until their control socket stands.
#include <algorithm>
#include <exception>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ofi_shm/driver.h"

namespace mad {
namespace {

constexpr DoorMagic kMagic{'M', 'A', 'D', 'S', 'H', 'M'};
constexpr std::size_t kLeastPacket = OfiShmEndpoint::kMostInjected;
// An engine that stops while it makes memory is not waited for longer.
constexpr std::chrono::milliseconds kTurnComes{1000};

}  // namespace

OfiShmDriver::OfiShmDriver(const OfiShmOptions& options, Door door,
                           std::shared_ptr<OfiShmFabric> fabric)
    : options_(options),
      door_(std::move(door)),
      fabric_(std::move(fabric)),
      chunks_(options.receive_buffers, (options.max_packet_bytes + 63) / 64 * 64) {
  caps_.name = "ofi:shm";
  caps_.beyond_host = false;
  caps_.max_iov = OfiShmEndpoint::kMostSegments;
  caps_.max_packet_bytes = options.max_packet_bytes;
  caps_.inject_bytes = OfiShmEndpoint::kMostInjected;
}

Result<std::unique_ptr<Driver>> open_ofi_shm(const OfiShmOptions& options) {
  try {
    return OfiShmDriver::open(options);
  } catch (const std::exception& error) {
    return Status(StatusCode::kNoMemory, std::string("opening ofi:shm: ") + error.what());
  }
}

Result<std::unique_ptr<Driver>> OfiShmDriver::open(const OfiShmOptions& options) {
  if (options.receive_buffers == 0 || options.max_packet_bytes < kLeastPacket ||
      options.max_packet_bytes > OfiShmEndpoint::kMostBytes) {
    return Status(StatusCode::kInvalidArgument,
                  "ofi:shm: no receive buffers, or packets that are too short or too long");
  }
  DoorOptions door_options;
  door_options.fabric = "ofi:shm";
  door_options.magic = kMagic;
  door_options.interface = options.interface;
  door_options.secret = options.secret;
  door_options.connect_timeout = options.connect_timeout;
  door_options.stranger_timeout = options.stranger_timeout;
  Result<Door> door = Door::open(door_options);
  if (!door.ok()) return door.status();
  auto fabric = OfiShmFabric::open();
  if (!fabric.ok()) return fabric.status();
  return std::unique_ptr<Driver>(new OfiShmDriver(options, std::move(*door), std::move(*fabric)));
}

const std::vector<std::byte>& OfiShmDriver::peer_address(ConnectionId connection) const {
  return connections_.at(connection).address;
}

void OfiShmDriver::set_state(OfiShmConnection& connection, State state) {
  const bool was = connection.unsettled();
  connection.state = state;
  if (connection.unsettled() == was) return;
  if (was) {
    unsettled_.erase(std::find(unsettled_.begin(), unsettled_.end(), connection.id));
  } else {
    unsettled_.push_back(connection.id);
  }
}

OfiShmConnection& OfiShmDriver::add_connection(const DoorAddress& address) {
  return connections_.add(address, random_number<std::uint32_t>());
}

Result<ConnectionId> OfiShmDriver::connect(const std::byte* address, std::size_t size) {
  const Result<DoorAddress> peer = door_.parse(address, size);
  if (!peer.ok()) return peer.status();
  if (OfiShmConnection* const known = connections_.live(peer->bytes())) {
    known->told = true;
    return known->id;
  }
  OfiShmConnection& connection = add_connection(*peer);
  connection.told = true;
  door_.call(*peer);
  return connection.id;
}

void OfiShmDriver::on_door(Door::Event& event) {
  OfiShmConnection* const known = connections_.live(event.peer.bytes());
  OfiShmConnection& connection = known ? *known : add_connection(event.peer);
  if (!event.socket) return end_soon(connection.id, std::move(event.why));
  connection.control = std::move(event.socket);
  door_.watch().change(connection.control.fd(), TcpWatch::Role::kConnection, connection.id);
  set_state(connection, State::kAgreeing);
  connection.deadline = door_.now() + kTurnComes;
  ready_.push_back(connection.id);  // its peer may have gone on
  offer(connection);
}

void OfiShmDriver::check_deadlines() {
  for (const ConnectionId id : unsettled_) {
    const OfiShmConnection& connection = *find(id);
    const bool closing = connection.state == State::kClosing;
    if (closing && door_.now() >= connection.deadline) end_soon(id, connection.gone);
  }
}

}  // namespace mad
