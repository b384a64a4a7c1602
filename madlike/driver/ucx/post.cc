// Posting: packets and remote writes, and the memory they go to.
#include <utility>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ucx/driver.h"
#include "madlike/driver/ucx/status.h"

namespace mad {

Status UcxDriver::post_send(ConnectionId id, SegmentList packet, void* context) {
  UcxConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  const std::size_t bytes = packet.bytes();
  if (packet.count > found->link.max_iov || bytes > found->link.max_packet_bytes || bytes == 0) {
    return {StatusCode::kInvalidArgument, "packet beyond the limits of " + caps_.name};
  }
  const UcxHeader header{found->offered->tag, 0, 0};
  return post(*found, UcxMessage::kPacket, header, packet, bytes, context);
}

const LinkCaps& UcxDriver::kind_of(const UcxConnection& connection) const {
  return caps_.links[kinds_[static_cast<std::size_t>(connection.way.lane->transport())]];
}

// Reading shorter runs from the sender's memory takes longer than copying them twice, and saves its
// core little.
LinkCaps UcxDriver::link_of(const UcxConnection& connection) const {
  LinkCaps link = kind_of(connection);
  if (!connection.they_read) return link;
  link.max_write_bytes = kMostPull;
  link.write_runs_from = options_.least_pull_bytes;
  return link;
}

Status UcxDriver::post_lent(ConnectionId id, PacketWriter& writer) {
  UcxConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  if (found->operation.busy) return StatusCode::kAgain;
  return outcome(
      *found, found->way.lane->send_piece(found->way.endpoint.get(), found->offered->tag, writer));
}

Status UcxDriver::post_write(ConnectionId id, SegmentList packet, const ExposureToken& token,
                             std::uint64_t offset, void* context) {
  UcxConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  const std::size_t bytes = packet.bytes();
  if (packet.count > found->link.max_write_iov || bytes > found->link.max_write_bytes ||
      bytes == 0) {
    return {StatusCode::kInvalidArgument, "write beyond the limits of " + caps_.name};
  }
  if (found->puts()) return post_put(*found, packet, token, offset, context);
  const UcxHeader header{found->offered->tag, token.key, token.address + offset};
  const bool is_long =
      bytes >= options_.least_pull_bytes || bytes > kind_of(*found).max_write_bytes;
  if (found->they_read && is_long) return post_pull(*found, header, packet, context);
  return post(*found, UcxMessage::kWrite, header, packet, bytes, context);
}

Status UcxDriver::post_pull(UcxConnection& connection, const UcxHeader& header, SegmentList packet,
                            void* context) {
  if (connection.pulls.size() == UcxPulls::kMost) return StatusCode::kAgain;
  const Segment list{const_cast<Segment*>(packet.first), packet.count * sizeof(Segment)};
  Status posted = post(connection, UcxMessage::kPull, header, {&list, 1}, list.size, context);
  if (!posted.ok()) return posted;
  connection.pulls.push(context);
  return StatusCode::kInProgress;
}

Status UcxDriver::post(UcxConnection& connection, UcxMessage kind, const UcxHeader& header,
                       SegmentList packet, std::size_t bytes, void* context) {
  UcxOperation& operation = connection.operation;
  if (operation.busy) return StatusCode::kAgain;
  UcxLane& lane = *connection.way.lane;
  const uct_ep_h endpoint = connection.way.endpoint.get();
  ucs_status_t status = lane.send(endpoint, kind, header, packet, bytes, &operation);
  bool waits = false;
  if (status == UCS_OK) {
    status = lane.has_left(endpoint, &operation.copied, &operation);
    waits = status == UCS_ERR_NO_RESOURCE;
  }
  if (status != UCS_INPROGRESS && !waits) return outcome(connection, status);
  operation.begin(kind == UcxMessage::kWrite ? Completion::Kind::kWritten : Completion::Kind::kSent,
                  context);
  operation.waits = waits;
  if (waits) going_on_.push_back(connection.id);
  return StatusCode::kInProgress;
}

// Of what is over at once.
Status UcxDriver::outcome(const UcxConnection& connection, ucs_status_t status) {
  if (status == UCS_OK) return {};
  if (status == UCS_ERR_NO_RESOURCE) return StatusCode::kAgain;
  Status broke = ucx_status(StatusCode::kPeerFailed,
                            "the connection to " + to_text(connection.peer.socket), status);
  end_soon(connection.id, broke);
  return broke;
}

}  // namespace mad
