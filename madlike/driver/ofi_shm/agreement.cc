// How the two sides of a connection come by memory that both have open, over its control socket.
//
// Each makes memory and offers it, opens the other's, and says so; then the names are removed, so
// that nothing is left behind by who dies later, and each sends a hello through the memory.  Who
// has sent one and got one is connected.
#include <array>
#include <cstdio>
#include <utility>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ofi_shm/driver.h"

namespace mad {
namespace {

// Of one control socket: an offer, a note, and wakes.
constexpr int kMessagesAtOnce = 8;
static_assert(OfiShmOffer::kBytes <= DoorReader::kMostBytes);

/// The name of a new object in /dev/shm.
std::string new_name(const char* what) {
  std::array<char, 48> name{};
  std::snprintf(name.data(), name.size(), "mad-%s-%016llx", what,
                static_cast<unsigned long long>(random_number<std::uint64_t>()));
  return name.data();
}

}  // namespace

// Of two, one has to.
bool OfiShmDriver::makes_gate(const OfiShmConnection& connection) const {
  return door_.address() < connection.address;
}

// Until it is our turn to make memory, advance_unsettled() tries again.
void OfiShmDriver::offer(OfiShmConnection& connection) {
  Status made = make_offer(connection);
  if (made.error()) end_soon(connection.id, std::move(made));
}

Status OfiShmDriver::make_offer(OfiShmConnection& connection) {
  OfiShmOffer& own = connection.own;
  own.tag = connection.tag;
  own.geometry = {fi_version(),
                  fabric_->info().fabric_attr->prov_version,
                  static_cast<std::uint32_t>(OfiShmGate::kPageBytes),
                  static_cast<std::uint32_t>(OfiShmFabric::kPlaces),
                  static_cast<std::uint32_t>(options_.max_packet_bytes),
                  static_cast<std::uint32_t>(sizeof(void*))};
  const bool in_turn = door_.now() < connection.deadline;
  auto endpoint =
      OfiShmEndpoint::open(fabric_, new_name("shm"), options_.max_packet_bytes, in_turn);
  if (!endpoint.ok()) return endpoint.status();
  connection.endpoint = std::move(*endpoint);
  own.endpoint = connection.endpoint->name().text();
  if (makes_gate(connection)) {
    own.gate = new_name("gate");
    own.secret = random_number<std::uint64_t>();
    auto gate = OfiShmGate::make(own.gate, own.secret);
    if (!gate.ok()) return gate.status();
    connection.gate = std::make_unique<OfiShmGate>(std::move(*gate));
  }
  const auto bytes = own.pack();
  connection.reader.expect(OfiShmOffer::kBytes);
  (void)tcp_send(connection.control.fd(), bytes.data(), bytes.size());  // else its end is read
  return {};
}

void OfiShmDriver::send_note(OfiShmConnection& connection, OfiShmNote::Kind kind) {
  const auto bytes = OfiShmNote{kind}.pack();
  (void)tcp_send(connection.control.fd(), bytes.data(), bytes.size());  // else its end is read
}

void OfiShmDriver::on_control(OfiShmConnection& connection) {
  if (!connection.endpoint) return;  // first ours is to be offered
  for (int i = 0; i < kMessagesAtOnce && connection.control && !connection.doomed; ++i) {
    switch (connection.reader.read(connection.control.fd())) {
      case DoorReader::Outcome::kWaiting:
        return;
      case DoorReader::Outcome::kEnded:
        return on_hang_up(connection);
      case DoorReader::Outcome::kComplete:
        break;
    }
    const bool understood = connection.offered ? on_note(connection) : on_offer(connection);
    if (!understood) {
      return end_soon(connection.id, Status(StatusCode::kProtocol,
                                            to_text(connection.peer.socket) +
                                                " sent what no shm engine of this version sends"));
    }
    connection.reader.expect(OfiShmNote::kBytes);
  }
}

bool OfiShmDriver::on_offer(OfiShmConnection& connection) {
  connection.offered = OfiShmOffer::parse(connection.reader.bytes());
  if (!connection.offered) return false;
  const Status opened = open_offered(connection);
  if (opened.error()) {
    end_soon(connection.id, Status(opened.code(), to_text(connection.peer.socket) + ": " +
                                                      std::string(opened.message())));
    return true;
  }
  connection.ready = true;
  send_note(connection, OfiShmNote::Kind::kReady);
  open_if_ready(connection);
  return true;
}

Status OfiShmDriver::open_offered(OfiShmConnection& connection) {
  const OfiShmOffer& offered = *connection.offered;
  if (offered.geometry != connection.own.geometry) {
    return {StatusCode::kVersion,
            "its libfabric is of another version, or it lays out shared "
            "memory differently"};
  }
  if (!makes_gate(connection)) {
    auto gate = OfiShmGate::join(offered.gate, offered.secret);
    if (!gate.ok()) return gate.status();
    connection.gate = std::make_unique<OfiShmGate>(std::move(*gate));
  }
  return connection.endpoint->reach(offered.endpoint);
}

bool OfiShmDriver::on_note(OfiShmConnection& connection) {
  const auto note = OfiShmNote::parse(connection.reader.bytes());
  if (!note) return false;
  if (note->kind == OfiShmNote::Kind::kWake) return true;
  if (std::exchange(connection.peer_ready, true)) return false;
  open_if_ready(connection);
  return true;
}

void OfiShmDriver::open_if_ready(OfiShmConnection& connection) {
  if (!connection.open()) return;
  connection.endpoint->name().remove();
  connection.gate->name().remove();
  chunks_.allow_one_more();
  opened_.push_back(&connection);
}

void OfiShmDriver::greet(OfiShmConnection& connection) {
  if (!connection.open() || connection.hello_sent) return;
  std::uint64_t word = 0;
  const Segment segment{&word, sizeof(word)};
  // kAgain: the peer has not looked yet, or is there itself.
  const Status status = post(connection, Kind::kHello, {&segment, 1}, sizeof(word), nullptr);
  if (!status.ok()) return;
  connection.hello_sent = true;
  connect_if_greeted(connection);
}

void OfiShmDriver::connect_if_greeted(OfiShmConnection& connection) {
  if (!connection.hello_sent || !connection.hello_received) return;
  set_state(connection, State::kConnected);
  connection.told = true;
  completions_.push(Completion::Kind::kConnected, connection.id, nullptr, {});
}

}  // namespace mad
