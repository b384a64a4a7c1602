// How connections come: the door's socket stands, each side offers its endpoint by it, and each has
// had a packet of the other by the fabric.
//
// The engine of the smaller address is the first to send, and the other answers, as providers that
// keep connections of their own below would otherwise make two at once.
#include <string>

#include "madlike/driver/door/handshake.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/rdm_driver.h"
#include "madlike/driver/ofi/rdm_offer.h"

namespace mad {
namespace {

constexpr DoorMagic kMagic{'M', 'A', 'D', 'O', 'F', 'I'};
// Of the caller's packets, which are copied.
constexpr std::size_t kSegmentsCopied = 4;
static_assert(RdmOffer::kBytes <= DoorReader::kMostBytes);

std::string provider_of(const fi_info& info) {
  return std::string(info.fabric_attr->prov_name).substr(0, RdmOffer::kMostProvider);
}

}  // namespace

RdmDriver::RdmDriver(const OfiOptions& options, Door door, std::unique_ptr<RdmFabric> fabric)
    : OutOfBandDriver(std::move(door), options),
      options_(options),
      fabric_(std::move(fabric)),
      receives_(fabric_->domain(), fabric_->facts()),
      buffers_(fabric_->domain(), fabric_->facts()),
      sends_(fabric_->facts().send_buffers),
      addresses_(fabric_->addresses()),
      credits_(fabric_->facts().receive_buffers) {
  for (RdmSend& send : sends_) {
    send.buffer = buffers_.take();
    free_sends_.push_back(&send);
  }
  const OfiFacts& facts = fabric_->facts();
  caps_.name = "ofi:" + options.provider;
  LinkCaps& link = caps_.links.front();
  link.prices = caps_.name;
  link.max_iov = kSegmentsCopied;
  link.max_packet_bytes = link.inject_bytes = facts.packet_bytes;
  if (facts.leaves_by_itself) {
    link.piece_bytes = link.lent_bytes = link.short_bytes = facts.packet_bytes;
  }
  receives_.replenish(fabric_->endpoint(), 0);
}

Result<std::unique_ptr<Driver>> RdmDriver::open(const OfiOptions& options) {
  auto fabric = RdmFabric::open(options);
  if (!fabric.ok()) return fabric.status();
  Result<Door> door = Door::open({"ofi", kMagic}, options);
  if (!door.ok()) return door.status();
  return std::unique_ptr<Driver>(
      std::make_unique<RdmDriver>(options, std::move(*door), std::move(*fabric)));
}

RdmConnection& RdmDriver::add_connection(const DoorAddress& address) {
  RdmConnection& added = connections_.add(address, random_number<std::uint64_t>());
  added.link = caps_.nearest();
  added.credit.set_grant(credits_.first());
  return added;
}

void RdmDriver::on_socket(RdmConnection& connection) {
  set_state(connection, State::kAgreeing);
  RdmOffer own;
  own.provider = provider_of(fabric_->info());
  own.protocol = fabric_->info().ep_attr->protocol;
  own.protocol_version = fabric_->info().ep_attr->protocol_version;
  own.packet_bytes = static_cast<std::uint32_t>(fabric_->facts().packet_bytes);
  own.tag = connection.tag;
  own.credit = connection.credit.grant();
  own.name = fabric_->name();
  const auto bytes = own.pack();
  (void)tcp_send(connection.socket.fd(), bytes.data(), bytes.size());  // else its end is read
  connection.reader.expect(RdmOffer::kBytes);
}

void RdmDriver::on_readable(RdmConnection& connection) {
  while (connection.socket && !connection.doomed) {
    const DoorReader::Outcome outcome = connection.reader.read(connection.socket.fd());
    if (outcome == DoorReader::Outcome::kWaiting) return;
    if (outcome == DoorReader::Outcome::kEnded) return on_hang_up(connection);
    if (connection.to != nullptr) {
      return end_soon(connection.id,
                      Status(StatusCode::kProtocol,
                             to_text(connection.peer.socket) + " sent more than its offer"));
    }
    on_offer(connection);
    connection.reader.expect(1);  // nothing follows but the end
  }
}

void RdmDriver::on_offer(RdmConnection& connection) {
  const std::string peer = to_text(connection.peer.socket);
  const auto offer = RdmOffer::parse(connection.reader.bytes());
  if (!offer || !credits_.may_be_given(offer->credit)) {
    return end_soon(connection.id,
                    Status(StatusCode::kVersion, peer + " is no ofi engine of this version"));
  }
  const fi_ep_attr& own = *fabric_->info().ep_attr;
  const std::string provider = provider_of(fabric_->info());
  if (offer->provider != provider || offer->protocol != own.protocol ||
      offer->protocol_version != own.protocol_version ||
      offer->packet_bytes != fabric_->facts().packet_bytes) {
    return end_soon(connection.id,
                    Status(StatusCode::kUnreachable, peer + " uses libfabric's " + offer->provider +
                                                         ", this engine " + provider +
                                                         ", or another version of it"));
  }
  // The provider reads an address of its own length, whatever came.
  if (offer->name.size() != fabric_->name().size()) {
    return end_soon(connection.id,
                    Status(StatusCode::kUnreachable,
                           peer + " has an address of " + std::to_string(offer->name.size()) +
                               " bytes in libfabric's " + provider + ", this engine of " +
                               std::to_string(fabric_->name().size())));
  }
  const auto entry = addresses_.add(offer->name);
  if (!entry.ok()) return end_soon(connection.id, entry.status());
  connection.to = *entry;
  connection.peer_tag = offer->tag;
  connection.credit.set_given(offer->credit);
  greet(connection);
}

// Called until it has left; a provider may connect to the peer first.
void RdmDriver::greet(RdmConnection& connection) {
  const bool is_first = address() < connection.address;
  if (connection.to == nullptr || connection.hello_sent ||
      !(is_first || connection.hello_received)) {
    return;
  }
  const ssize_t error = post_alone(connection, OfiHeader::Kind::kCredit);
  if (error == -FI_EAGAIN) return;
  if (error != 0) {
    return end_soon(connection.id,
                    ofi_status(StatusCode::kUnreachable, to_text(connection.peer.socket), error));
  }
  connection.hello_sent = true;
  connect_if_greeted(connection);
}

void RdmDriver::connect_if_greeted(RdmConnection& connection) {
  if (!connection.hello_sent || !connection.hello_received) return;
  set_state(connection, State::kConnected);
  connection.told = true;
  completions_.push(Completion::Kind::kConnected, connection.id, nullptr, {});
}

}  // namespace mad
