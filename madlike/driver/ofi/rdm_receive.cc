// Packets come: each is found its connection by its tag, and its turn by its number.
#include <string>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ofi/rdm_driver.h"

namespace mad {

void RdmDriver::receive(ReceiveBuffer* buffer, std::size_t bytes) {
  receives_.taken();
  const std::optional<OfiHeader> header = OfiHeader::read({buffer->bytes, bytes});
  RdmConnection* const found = header ? find(OfiTag::connection(header->tag)) : nullptr;
  const bool known = found && header->tag == found->tag && !found->doomed &&
                     found->state != State::kGone && found->state != State::kCalling;
  if (!known) return receives_.give_back(buffer);  // of a connection that ended, or of nobody
  RdmConnection& connection = *found;
  if (const char* const wrong = connection.arrived(*header)) {
    receives_.give_back(buffer);
    return refuse(connection, wrong);
  }
  using Place = PacketOrder<ReceiveBuffer>::Place;
  buffer->connection = connection.id;
  buffer->size = bytes;
  switch (connection.order.place(header->number)) {
    case Place::kNever:
      refuse(connection, "a packet twice, or none of those that it may");
      return drop(buffer);
    case Place::kEarly:
      return connection.order.keep(header->number, buffer);
    case Place::kNext:
      break;
  }
  ReceiveBuffer* next = buffer;
  do {
    connection.order.advance();
    take(connection, next);
  } while (!connection.doomed && (next = connection.order.next()) != nullptr);
}

// The next in order.
void RdmDriver::take(RdmConnection& connection, ReceiveBuffer* buffer) {
  const OfiHeader header = *OfiHeader::read({buffer->bytes, buffer->size});
  const Segment packet{buffer->bytes + OfiHeader::kBytes, buffer->size - OfiHeader::kBytes};
  const char* const wrong = connection.take(header, packet.size);
  if (wrong != nullptr) refuse(connection, wrong);
  if (header.kind == OfiHeader::Kind::kLast) {
    receives_.give_back(buffer);
    return on_last(connection);
  }
  const bool is_told =
      header.kind == OfiHeader::Kind::kPacket && connection.state == State::kConnected;
  if (wrong != nullptr || !is_told) {
    release(buffer);
    connection.hello_received = true;
    if (connection.state == State::kAgreeing) connect_if_greeted(connection);
    return;
  }
  Completion received;
  received.kind = Completion::Kind::kReceived;
  received.connection = connection.id;
  received.bytes = packet;
  received.rest = header.rest;
  received.buffer = buffer;
  completions_.push(std::move(received));
}

void RdmDriver::on_last(RdmConnection& connection) {
  connection.peer_finished = true;
  if (connection.state != State::kClosing) {
    end_soon(connection.id, StatusCode::kClosed);
  } else if (connection.last_sent) {
    end_soon(connection.id, connection.gone);
  }
}

void RdmDriver::refuse(const RdmConnection& connection, const char* what) {
  end_soon(connection.id,
           Status(StatusCode::kProtocol, to_text(connection.peer.socket) + " sent " + what));
}

// A packet that nobody gets.
void RdmDriver::drop(ReceiveBuffer* buffer) {
  const bool is_last =
      OfiHeader::read({buffer->bytes, buffer->size})->kind == OfiHeader::Kind::kLast;
  if (is_last) return receives_.give_back(buffer);  // which takes no credit
  release(buffer);
}

void RdmDriver::release(void* released) {
  auto* const buffer = static_cast<ReceiveBuffer*>(released);
  receives_.give_back(buffer);
  receives_.replenish(fabric_->endpoint(), 0);  // it stands before it is granted
  RdmConnection* const connection = find(buffer->connection);
  if (!connection || connection->state == State::kGone) return credits_.give_back(1);
  connection->credit.released(&credits_);
  if (connection->credit.is_much_owed()) look_after(*connection);
}

}  // namespace mad
