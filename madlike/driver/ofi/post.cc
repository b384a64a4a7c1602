// Posting: packets and remote writes.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstdint>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/driver.h"

namespace mad {
namespace {

constexpr std::size_t kMostSegments = 64;
using IovArray = std::array<iovec, kMostSegments>;

// The segments that have bytes; returns their number.
std::size_t to_iov(SegmentList packet, IovArray& iov) {
  std::size_t count = 0;
  for (const Segment& segment : packet) {
    if (segment.size > 0) iov[count++] = {segment.data, segment.size};
  }
  return count;
}

}  // namespace

Status OfiDriver::post_send(ConnectionId id, SegmentList packet, void* context) {
  OfiConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  OfiConnection& connection = *found;
  const std::size_t bytes = packet.bytes();
  if (packet.count > caps_.nearest().max_iov || bytes > caps_.nearest().max_packet_bytes) {
    return Status(StatusCode::kInvalidArgument, "packet beyond the limits of " + caps_.name);
  }
  // Injected packets, too: the provider keeps copies of what the fabric does not take.
  const std::uint64_t inject = bytes <= caps_.nearest().inject_bytes ? FI_INJECT : 0;
  OfiOperation* operation = connection.take_operation(OfiOperation::Kind::kSend, context);
  if (!operation) return StatusCode::kAgain;
  IovArray iov;
  fi_msg message{};
  message.msg_iov = iov.data();
  message.iov_count = to_iov(packet, iov);
  message.context = static_cast<OfiContext*>(operation);
  message.data = connection.peer_tag;
  const ssize_t error =
      fi_sendmsg(connection.endpoint.get(), &message, inject | FI_COMPLETION | FI_REMOTE_CQ_DATA);
  if (error == 0) return StatusCode::kInProgress;
  connection.free_operation(operation);
  if (error == -FI_EAGAIN) return StatusCode::kAgain;
  return ofi_status(StatusCode::kPeerFailed, "sending to " + to_text(connection.address), error);
}

Result<ExposureToken> OfiDriver::expose(ConnectionId id, Segment memory) {
  OfiConnection* const found = find(id);
  if (!found || found->state == State::kGone || found->state == State::kClosing) {
    return not_connected(found);
  }
  const bool virtual_addresses =
      (fabric_->info().domain_attr->mr_mode & (FI_MR_VIRT_ADDR | FI_MR_BASIC)) != 0;
  Result<ExposureToken> token = regions_.add(fabric_->domain(), virtual_addresses, memory);
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
  IovArray iov;
  fi_rma_iov target{token.address + offset, bytes, token.key};
  fi_msg_rma message{};
  message.msg_iov = iov.data();
  message.iov_count = to_iov(packet, iov);
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
