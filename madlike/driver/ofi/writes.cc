// Memory that peers write: ours, and theirs.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/driver.h"
#include "madlike/driver/ofi/iovs.h"

namespace mad {

Result<ExposureToken> OfiDriver::expose(ConnectionId id, Segment memory) {
  OfiConnection* const found = find(id);
  if (!found || found->state == State::kGone || found->state == State::kClosing) {
    return not_connected(found);
  }
  Result<ExposureToken> token = regions_.add(*fabric_, memory);
  if (token.ok()) ++found->exposed;
  return token;
}

void OfiDriver::withdraw(ConnectionId id, const ExposureToken& token) {
  OfiConnection* const connection = find(id);
  if (connection && regions_.remove(token)) --connection->exposed;
}

Status OfiDriver::post_write(ConnectionId id, SegmentList packet, const ExposureToken& token,
                             std::uint64_t offset, void* context) {
  OfiConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  OfiConnection& connection = *found;
  const std::size_t bytes = packet.bytes();
  if (packet.count > caps_.nearest().max_write_iov || bytes > caps_.nearest().max_write_bytes ||
      bytes == 0) {
    return Status(StatusCode::kInvalidArgument, "write beyond the limits of " + caps_.name);
  }
  OfiOperation* operation = connection.take_operation(OfiOperation::Kind::kWrite, context);
  if (!operation) return StatusCode::kAgain;
  OfiIovs iov;
  fi_rma_iov target{token.address + offset, bytes, token.key};
  fi_msg_rma message{};
  message.msg_iov = iov.data();
  iov.add(packet);
  message.iov_count = iov.size();
  message.rma_iov = &target;
  message.rma_iov_count = 1;
  message.context = static_cast<OfiContext*>(operation);
  const ssize_t error = fi_writemsg(connection.endpoint.get(), &message, FI_COMPLETION);
  if (error == 0) return StatusCode::kInProgress;
  connection.free_operation(operation);
  if (error == -FI_EAGAIN) return StatusCode::kAgain;
  return ofi_status(StatusCode::kPeerFailed, "writing to " + to_text(connection.address), error);
}

}  // namespace mad
