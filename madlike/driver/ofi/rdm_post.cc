// Packets leave: copied to a buffer of the driver's, one after the other to a peer.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <utility>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/rdm_driver.h"
#include "madlike/driver/ofi/segments_writer.h"

namespace mad {

Status RdmDriver::post_send(ConnectionId id, SegmentList packet, void* context) {
  RdmConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  const LinkCaps& link = caps_.nearest();
  if (packet.count > link.max_iov || packet.bytes() > link.max_packet_bytes ||
      packet.bytes() == 0) {
    return Status(StatusCode::kInvalidArgument, "packet beyond the limits of " + caps_.name);
  }
  SegmentsWriter writer(packet);
  return post_copied(*found, writer, !fabric_->facts().leaves_by_itself, context);
}

Status RdmDriver::post_lent(ConnectionId id, PacketWriter& writer) {
  RdmConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  // What leaves only while it is polled for is told of later, which nobody is of lent memory.
  if (!fabric_->facts().leaves_by_itself) return Driver::post_lent(id, writer);
  return post_copied(*found, writer, false, nullptr);
}

Status RdmDriver::post_write(ConnectionId /*connection*/, SegmentList /*packet*/,
                             const ExposureToken& /*token*/, std::uint64_t /*offset*/,
                             void* /*context*/) {
  return {StatusCode::kInvalidArgument, caps_.name + " has no remote writes"};
}

Status RdmDriver::post_copied(RdmConnection& connection, PacketWriter& writer, bool tells,
                              void* context) {
  if (!connection.credit.may_send() || !post_unposted(connection)) return StatusCode::kAgain;
  RdmSend* const send = take_send(connection);
  if (send == nullptr) return StatusCode::kAgain;
  const std::size_t room = fabric_->facts().packet_bytes;
  send->bytes = OfiHeader::kBytes + std::min(writer.left(), room);
  send->tells = tells;
  send->context = context;
  writer.write({send->buffer + OfiHeader::kBytes, room});
  OfiHeader header = connection.header(OfiHeader::Kind::kPacket, writer.left());
  header.number = connection.next_number++;
  header.write(send->buffer);
  connection.credit.spend();
  const ssize_t error = post(*send);
  if (error == -FI_EAGAIN) {
    connection.unposted = send;  // it is written, so that it is ours to post
    is_due(connection);
  } else if (error != 0) {
    send->tells = false;
    free_send(*send);
    Status failed =
        ofi_status(StatusCode::kPeerFailed, "sending to " + to_text(connection.peer.socket), error);
    end_soon(connection.id, failed);
    return failed;
  }
  return tells ? StatusCode::kInProgress : StatusCode::kOk;
}

// 0, or an error of libfabric's.
ssize_t RdmDriver::post(RdmSend& send) {
  return fi_send(fabric_->endpoint(), send.buffer, send.bytes, buffers_.descriptor(),
                 send.to->address, static_cast<OfiContext*>(&send));
}

// A packet of nothing but a header, which the provider copies.
ssize_t RdmDriver::post_alone(RdmConnection& connection, OfiHeader::Kind kind) {
  OfiHeader header = connection.header(kind);
  header.number = connection.next_number;
  std::array<std::byte, OfiHeader::kBytes> bytes;
  header.write(bytes.data());
  const ssize_t error =
      fi_inject(fabric_->endpoint(), bytes.data(), bytes.size(), connection.to->address);
  if (error != 0) {
    connection.credit.take_back(header.credit);
    return error;
  }
  ++connection.next_number;
  if (kind == OfiHeader::Kind::kCredit) connection.credit.spend();
  return 0;
}

RdmSend* RdmDriver::take_send(RdmConnection& connection) {
  if (free_sends_.empty() || connection.queued == RdmConnection::kQueueDepth) return nullptr;
  RdmSend* const send = free_sends_.back();
  free_sends_.pop_back();
  send->connection = connection.id;
  send->to = connection.to;
  PeerAddresses::use(*send->to);
  ++connection.queued;
  return send;
}

void RdmDriver::free_send(RdmSend& send) {
  if (RdmConnection* const connection = find(send.connection)) --connection->queued;
  addresses_.drop(*std::exchange(send.to, nullptr));
  free_sends_.push_back(&send);
}

// What is sent without the caller's doing: a packet that the provider did not take at once, and
// packets that give credit.

void RdmDriver::is_due(RdmConnection& connection) {
  if (std::exchange(connection.is_due, true)) return;
  due_.push_back(connection.id);
}

void RdmDriver::post_due() {
  const std::size_t count = due_.size();
  for (std::size_t i = 0; i < count; ++i) {
    RdmConnection* const connection = find(due_[i]);
    if (!connection) continue;
    connection->is_due = false;
    look_after(*connection);  // may find it due again, behind these
  }
  due_.erase(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(count));
}

// Who has left still gives credit until its last packet: its peer may have to send to end.
void RdmDriver::look_after(RdmConnection& connection) {
  const bool stands = !connection.last_sent && (connection.state == State::kConnected ||
                                                connection.state == State::kClosing);
  if (stands && post_unposted(connection)) post_credit(connection);
}

// It leaves before anything else.  False: it waits.
bool RdmDriver::post_unposted(RdmConnection& connection) {
  if (connection.unposted == nullptr) return true;
  const ssize_t error = post(*connection.unposted);
  if (error == 0) {
    connection.unposted = nullptr;
    return true;
  }
  if (error == -FI_EAGAIN) {
    is_due(connection);
  } else {
    end_soon(connection.id, ofi_status(StatusCode::kPeerFailed,
                                       "sending to " + to_text(connection.peer.socket), error));
  }
  return false;
}

void RdmDriver::post_credit(RdmConnection& connection) {
  if (!connection.credit.is_much_owed()) return;
  const ssize_t error =
      connection.credit.may_give() ? post_alone(connection, OfiHeader::Kind::kCredit) : -FI_EAGAIN;
  if (error == -FI_EAGAIN) {
    is_due(connection);
  } else if (error != 0) {
    end_soon(connection.id, ofi_status(StatusCode::kPeerFailed, "giving credit", error));
  }
}

}  // namespace mad
