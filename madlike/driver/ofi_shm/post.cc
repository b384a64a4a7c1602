// Posting packets.
#include <rdma/fi_errno.h>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ofi_shm/driver.h"

namespace mad {

Status OfiShmDriver::post_send(ConnectionId id, SegmentList packet, void* context) {
  OfiShmConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  const std::size_t bytes = packet.bytes();
  if (packet.count > caps_.max_iov || bytes > caps_.max_packet_bytes || bytes == 0) {
    return {StatusCode::kInvalidArgument, "packet beyond the limits of " + caps_.name};
  }
  return post(*found, Kind::kPacket, packet, bytes, context);
}

Status OfiShmDriver::post(OfiShmConnection& connection, Kind kind, SegmentList packet,
                          std::size_t bytes, void* context) {
  const bool injected = bytes <= OfiShmEndpoint::kMostInjected;
  OfiShmOperation& operation = connection.operation;
  if (!injected && operation.busy) return StatusCode::kAgain;
  const std::uint64_t data = OfiShmTag::with(connection.offered->tag, kind);
  ssize_t error = 0;
  {
    const OfiShmGate::Visit visit(*connection.gate);
    connection.turned_away = !visit.inside();
    if (visit.broken()) return end_broken(connection);
    if (!visit.inside()) return StatusCode::kAgain;
    if (injected) {
      error = connection.endpoint->inject(packet, data);
    } else {
      error = connection.endpoint->send(packet, data);
      if (error == 0) operation = {context, true};
    }
    if (error == -FI_EAGAIN) connection.gate->want_room();
  }
  if (error == 0 || connection.state == State::kAgreeing) call(connection);
  if (error == 0) return injected ? StatusCode::kOk : StatusCode::kInProgress;
  if (error == -FI_EAGAIN) return StatusCode::kAgain;
  Status broke = ofi_status(StatusCode::kPeerFailed,
                            "the connection to " + to_text(connection.peer.socket), error);
  end_soon(connection.id, broke);
  return broke;
}

void OfiShmDriver::finish(OfiShmConnection& connection, Status status) {
  connection.operation.busy = false;
  completions_.push(Completion::Kind::kSent, connection.id, connection.operation.context,
                    std::move(status));
}

void OfiShmDriver::call(OfiShmConnection& connection) {
  if (connection.gate->call() && connection.control) send_note(connection, OfiShmNote::Kind::kWake);
}

Result<ExposureToken> OfiShmDriver::expose(ConnectionId, Segment) {
  return Status(StatusCode::kInvalidArgument, caps_.name + " has no remote writes");
}

void OfiShmDriver::withdraw(ConnectionId, const ExposureToken&) {}

Status OfiShmDriver::post_write(ConnectionId, SegmentList, const ExposureToken&, std::uint64_t,
                                void*) {
  return {StatusCode::kInvalidArgument, caps_.name + " has no remote writes"};
}

}  // namespace mad
