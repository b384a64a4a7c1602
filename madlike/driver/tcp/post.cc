// Posting: packets and remote writes, and the memory they go to.
#include <utility>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/tcp/driver.h"

namespace mad {

Status TcpDriver::post_send(ConnectionId id, SegmentList packet, void* context) {
  TcpConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  const std::size_t bytes = packet.bytes();
  if (packet.count > found->link.max_iov || bytes > found->link.max_packet_bytes || bytes == 0) {
    return Status(StatusCode::kInvalidArgument, "packet beyond the limits of " + caps_.name);
  }
  TcpRecord record;
  record.bytes = static_cast<std::uint32_t>(bytes);
  return post(*found, record, packet, Completion::Kind::kSent, context);
}

Status TcpDriver::post_lent(ConnectionId id, PacketWriter& writer) {
  TcpConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  if (writer.left() > found->link.short_bytes || writer.left() == 0) {
    return Status(StatusCode::kInvalidArgument, "no short packet of " + caps_.name);
  }
  switch (found->outbox.send_short(found->socket.fd(), writer)) {
    case TcpOutbox::Outcome::kSent:
      return {};
    case TcpOutbox::Outcome::kWaits:
      wait_to_send(*found);
      return {};
    case TcpOutbox::Outcome::kFull:
      return StatusCode::kAgain;
    case TcpOutbox::Outcome::kBroken:
      break;
  }
  return broke(*found);
}

Status TcpDriver::post_write(ConnectionId id, SegmentList packet, const ExposureToken& token,
                             std::uint64_t offset, void* context) {
  TcpConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  const std::size_t bytes = packet.bytes();
  if (packet.count > found->link.max_write_iov || bytes > found->link.max_write_bytes ||
      bytes == 0) {
    return Status(StatusCode::kInvalidArgument, "write beyond the limits of " + caps_.name);
  }
  TcpRecord record;
  record.kind = TcpRecord::Kind::kWrite;
  record.bytes = static_cast<std::uint32_t>(bytes);
  record.key = token.key;
  record.offset = token.address + offset;
  return post(*found, record, packet, Completion::Kind::kWritten, context);
}

Status TcpDriver::post(TcpConnection& connection, const TcpRecord& record, SegmentList packet,
                       Completion::Kind kind, void* context) {
  const TcpOutbox::Finished tell{kind, context};
  const auto outcome = connection.outbox.send(connection.socket.fd(), record, packet, &tell);
  wait_to_send(connection);
  if (connection.outbox.ripe()) flush(connection);
  switch (outcome) {
    case TcpOutbox::Outcome::kSent:
      return {};
    case TcpOutbox::Outcome::kWaits:
      return StatusCode::kInProgress;
    case TcpOutbox::Outcome::kFull:
      return StatusCode::kAgain;
    case TcpOutbox::Outcome::kBroken:
      break;
  }
  return broke(connection);
}

Status TcpDriver::broke(const TcpConnection& connection) {
  look_soon_ = true;  // its end follows what came before
  return {StatusCode::kPeerFailed,
          "the connection to " + to_text(connection.peer.socket) + " broke"};
}

void TcpDriver::cork(ConnectionId id) {
  TcpConnection* const connection = find(id);
  if (connection) connection->outbox.cork();
}

void TcpDriver::uncork(ConnectionId id) {
  TcpConnection* const connection = find(id);
  if (!connection) return;
  connection->outbox.uncork();
  if (connection->outbox.ripe()) flush(*connection);
}

// poll() sends what the socket did not take.
void TcpDriver::wait_to_send(TcpConnection& connection) {
  if (connection.outbox.empty() || connection.waits_to_send) return;
  connection.waits_to_send = true;
  sending_.push_back(connection.id);
}

}  // namespace mad
