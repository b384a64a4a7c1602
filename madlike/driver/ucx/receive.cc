// What UCX hands to us, from inside of its calls: messages, the end of sends, broken endpoints.
// Nothing here may call UCX, but for keeping its buffers.
#include <cstring>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ucx/driver.h"
#include "madlike/driver/ucx/status.h"

namespace mad {

bool UcxDriver::on_message(UcxLane& lane, UcxMessage kind, Segment message, bool keepable) {
  std::uint64_t tag = 0;
  if (message.size < sizeof(tag)) return false;
  std::memcpy(&tag, message.data, sizeof(tag));
  UcxConnection* const found = find(UcxConnection::of_tag(tag));
  // Of a connection that ended here, or of nobody that we know.
  if (!found || found->tag != tag || found->way.lane.get() != &lane || found->doomed) return false;
  switch (kind) {
    case UcxMessage::kHello:
      found->they = true;
      found->hello_received = true;
      found->they_read = options_.cma && lane.transport() == UcxTransport::kPosix &&
                         message.size > UcxHeader::kTagBytes &&
                         message.begin()[UcxHeader::kTagBytes] == std::byte{1};
      found->link = link_of(*found);
      if (found->state == State::kAgreeing) connect_if_greeted(*found);
      return false;
    case UcxMessage::kPacket:
      return take_packet(*found, lane, message, UcxHeader::kTagBytes, keepable);
    case UcxMessage::kPiece:
      return take_packet(*found, lane, message, sizeof(UcxPieceHeader), keepable);
    case UcxMessage::kWrite:
      take_write(*found, message);
      return false;
    case UcxMessage::kPull:
      take_pull(*found, message);
      return false;
    case UcxMessage::kPulled:
      take_answer(*found, message);
      return false;
    case UcxMessage::kLast:
      found->peer_finished = true;
      if (found->state == State::kConnected) end_soon(found->id, StatusCode::kClosed);
      return false;
  }
  return false;
}

// What stands behind the first `begins` bytes of the message.
bool UcxDriver::take_packet(UcxConnection& connection, UcxLane& lane, Segment message,
                            std::size_t begins, bool keepable) {
  if (connection.state != State::kConnected || message.size < begins) return false;
  UcxPieceHeader header;
  std::memcpy(&header, message.data, begins);
  const Segment packet{message.begin() + begins, message.size - begins};
  UcxKept* const as_it_is = keepable ? lane.keep(message.data) : nullptr;
  const auto kept =
      as_it_is != nullptr ? ReceivedMemory::Kept{packet, as_it_is} : received_.copy(packet);
  if (kept.buffer == nullptr) {
    end_soon(connection.id, Status(StatusCode::kNoMemory, "no memory for a received packet"));
    return false;
  }
  Completion received;
  received.kind = Completion::Kind::kReceived;
  received.connection = connection.id;
  received.bytes = kept.bytes;
  received.rest = header.left;
  received.buffer = kept.buffer;
  completions_.push(std::move(received));
  return as_it_is != nullptr;
}

void UcxDriver::on_failed(uct_ep_h endpoint) {
  const auto found = endpoints_.find(endpoint);
  if (found == endpoints_.end()) return;
  const UcxConnection& connection = *find(found->second);
  const bool stood = connection.state != State::kAgreeing;
  end_soon(connection.id,
           Status(stood ? StatusCode::kPeerFailed : StatusCode::kAgain,
                  "the connection to " + to_text(connection.peer.socket) + " broke"));
}

void UcxDriver::on_sent(uct_completion_t* completion) {
  auto& operation = *static_cast<UcxOperation*>(completion);
  const ucs_status_t status = operation.status;
  // UCX 1.13 completes twice what breaks while tcp sends it (tcp_ep.c, uct_tcp_ep_sendv()).
  operation.count = 1;
  operation.status = UCS_OK;
  if (!operation.busy) return;
  operation.busy = false;
  UcxDriver& driver = *operation.driver;
  UcxConnection& connection = *driver.find(operation.connection);
  if (connection.state == State::kClosing) {
    driver.hold_off(connection);
  }
  Status outcome;
  if (status != UCS_OK) {
    outcome = ucx_status(StatusCode::kPeerFailed, "sending to " + to_text(connection.peer.socket),
                         status);
  }
  driver.completions_.push(operation.kind, connection.id, operation.context, std::move(outcome));
}

}  // namespace mad
