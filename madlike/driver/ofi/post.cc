// Posting packets: gathered from where they lie, or, to a device, copied to a buffer of ours.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/driver.h"
#include "madlike/driver/ofi/iovs.h"
#include "madlike/driver/ofi/segments_writer.h"

namespace mad {
namespace {

Status sending_failed(const OfiConnection& connection, ssize_t error) {
  return ofi_status(StatusCode::kPeerFailed, "sending to " + to_text(connection.address), error);
}

}  // namespace

Status OfiDriver::post_send(ConnectionId id, SegmentList packet, void* context) {
  OfiConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  const LinkCaps& link = caps_.nearest();
  if (packet.count > link.max_iov || packet.bytes() > link.max_packet_bytes ||
      packet.bytes() == 0) {
    return Status(StatusCode::kInvalidArgument, "packet beyond the limits of " + caps_.name);
  }
  if (!fabric_->facts().by_device) return post_gathered(*found, packet, context);
  SegmentsWriter writer(packet);
  return post_copied(*found, writer);
}

Status OfiDriver::post_gathered(OfiConnection& connection, SegmentList packet, void* context) {
  // Injected packets, too: the provider keeps copies of what the fabric does not take.
  const std::uint64_t inject = packet.bytes() <= caps_.nearest().inject_bytes ? FI_INJECT : 0;
  OfiOperation* operation = connection.take_operation(OfiOperation::Kind::kSend, context);
  if (!operation) return StatusCode::kAgain;
  OfiHeader header;
  header.tag = connection.peer_tag;
  header.write(operation->header.data());
  const Segment first{operation->header.data(), operation->header.size()};
  OfiIovs iov;
  iov.add({&first, 1});
  iov.add(packet);
  fi_msg message{};
  message.msg_iov = iov.data();
  message.iov_count = iov.size();
  message.context = static_cast<OfiContext*>(operation);
  const ssize_t error = fi_sendmsg(connection.endpoint.get(), &message, inject | FI_COMPLETION);
  if (error == 0) return StatusCode::kInProgress;
  connection.free_operation(operation);
  if (error == -FI_EAGAIN) return StatusCode::kAgain;
  return sending_failed(connection, error);
}

Status OfiDriver::post_lent(ConnectionId id, PacketWriter& writer) {
  OfiConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  if (!fabric_->facts().by_device) return Driver::post_lent(id, writer);
  return post_copied(*found, writer);
}

Status OfiDriver::post_copied(OfiConnection& connection, PacketWriter& writer) {
  if (!connection.credit.may_send() || !post_earlier(connection)) return StatusCode::kAgain;
  OfiOperation* const operation = connection.take_operation(OfiOperation::Kind::kCopy, nullptr);
  if (!operation) return StatusCode::kAgain;
  operation->buffer = sends_.take();
  if (operation->buffer == nullptr) {
    connection.free_operation(operation);
    return StatusCode::kAgain;
  }
  const std::size_t bytes = std::min(writer.left(), fabric_->facts().packet_bytes);
  writer.write({operation->buffer + OfiHeader::kBytes, fabric_->facts().packet_bytes});
  connection.header(OfiHeader::Kind::kPacket, writer.left()).write(operation->buffer);
  operation->bytes = bytes;
  connection.credit.spend();
  Status posted = post_copy(connection, operation);
  if (!posted.again()) return posted;
  // The writer has written it: it is ours to post.
  connection.unposted = operation;
  is_due(connection);
  return {};
}

// The device has it if this says ok.
Status OfiDriver::post_copy(OfiConnection& connection, OfiOperation* operation) {
  iovec iov{operation->buffer, OfiHeader::kBytes + operation->bytes};
  void* descriptor = sends_.descriptor();
  fi_msg message{};
  message.msg_iov = &iov;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.context = static_cast<OfiContext*>(operation);
  const std::uint64_t inject = iov.iov_len <= fabric_->info().tx_attr->inject_size ? FI_INJECT : 0;
  const ssize_t error = fi_sendmsg(connection.endpoint.get(), &message, inject | FI_COMPLETION);
  if (error == 0) return {};
  if (error == -FI_EAGAIN) return StatusCode::kAgain;
  sends_.give_back(std::exchange(operation->buffer, nullptr));
  connection.free_operation(operation);
  return sending_failed(connection, error);
}

// A packet of nothing but a header.
ssize_t OfiDriver::post_alone(OfiConnection& connection, OfiOperation* operation,
                              OfiHeader::Kind kind) {
  const OfiHeader header = connection.header(kind);
  header.write(operation->header.data());
  iovec iov{operation->header.data(), operation->header.size()};
  fi_msg message{};
  message.msg_iov = &iov;
  message.iov_count = 1;
  message.context = static_cast<OfiContext*>(operation);
  const ssize_t error = fi_sendmsg(connection.endpoint.get(), &message, FI_COMPLETION | FI_INJECT);
  if (error == 0) return 0;
  connection.credit.take_back(header.credit);
  connection.free_operation(operation);
  return error;
}

}  // namespace mad
