// Memory that peers write: ours, and theirs.
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>

#include "madlike/driver/door/handshake.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/memory/registering.h"
#include "madlike/driver/ofi/driver.h"
#include "madlike/driver/ofi/iovs.h"

namespace mad {
namespace {

// At once, whatever the number of peers; one write goes in any case.
constexpr std::size_t kMostRegistered = 4 * 1024 * 1024;

Status writing_failed(const OfiConnection& connection, ssize_t error) {
  if (error == -FI_EAGAIN) return StatusCode::kAgain;
  return ofi_status(StatusCode::kPeerFailed, "writing to " + to_text(connection.address), error);
}

/// 0, or an error of libfabric's.  `descriptor`: of the memory of all segments.
ssize_t write(OfiConnection& connection, const OfiIovs& segments, void* descriptor,
              const ExposureToken& target, OfiOperation* operation) {
  std::array<void*, OfiIovs::kMost> descriptors;
  std::fill_n(descriptors.begin(), segments.size(), descriptor);
  fi_rma_iov place{target.address, segments.bytes(), target.key};
  fi_msg_rma message{};
  message.msg_iov = segments.data();
  message.desc = descriptors.data();
  message.iov_count = segments.size();
  message.rma_iov = &place;
  message.rma_iov_count = 1;
  message.context = static_cast<OfiContext*>(operation);
  return fi_writemsg(connection.endpoint.get(), &message, FI_COMPLETION);
}

}  // namespace

Result<ExposureToken> OfiDriver::expose(ConnectionId id, Segment memory) {
  OfiConnection* const found = find(id);
  if (!found || found->state == State::kGone || found->state == State::kClosing) {
    return not_connected(found);
  }
  Result<ExposureToken> token = regions_.add(*fabric_->domain(), fabric_->facts(), memory);
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
  const LinkCaps& link = caps_.nearest();
  const std::size_t bytes = packet.bytes();
  if (packet.count > link.max_write_iov || bytes > link.max_write_bytes || bytes == 0) {
    return Status(StatusCode::kInvalidArgument, "write beyond the limits of " + caps_.name);
  }
  const ExposureToken target{token.address + offset, token.key};
  if (!fabric_->facts().by_device) return post_in_place(connection, packet, target, context);
  if (!post_earlier(connection)) return StatusCode::kAgain;
  if (is_worth_registering(packet, options_.registered_from)) {
    Status posted = post_registered(connection, packet, target, context);
    if (posted.code() != StatusCode::kNoMemory) return posted;
  }
  connection.staged = StagedWrite(packet, token, offset, context);
  (void)post_staged(connection);
  return StatusCode::kInProgress;
}

// From where the bytes lie, of which nobody needs to know beforehand.
Status OfiDriver::post_in_place(OfiConnection& connection, SegmentList packet,
                                const ExposureToken& target, void* context) {
  OfiOperation* operation = connection.take_operation(OfiOperation::Kind::kWrite, context);
  if (!operation) return StatusCode::kAgain;
  OfiIovs iov;
  iov.add(packet);
  const ssize_t error = write(connection, iov, nullptr, target, operation);
  if (error == 0) return StatusCode::kInProgress;
  connection.free_operation(operation);
  return writing_failed(connection, error);
}

// By a registration of all that the packet spans.  kNoMemory: it cannot be registered, for lack of
// memory that may be locked, or as there is a gap in it.
Status OfiDriver::post_registered(OfiConnection& connection, SegmentList packet,
                                  const ExposureToken& target, void* context) {
  const Segment span = span_of(packet);
  if (registered_ > 0 && registered_ + span.size > kMostRegistered) return StatusCode::kAgain;
  OfiOperation* operation = connection.take_operation(OfiOperation::Kind::kWrite, context);
  if (!operation) return StatusCode::kAgain;
  fid_mr* region = nullptr;
  if (fi_mr_reg(fabric_->domain(), span.data, span.size, FI_WRITE, 0,
                random_number<std::uint64_t>() >> 1, 0, &region, nullptr) != 0) {
    connection.free_operation(operation);
    return StatusCode::kNoMemory;
  }
  operation->region.reset(region);
  operation->bytes = span.size;
  registered_ += span.size;
  OfiIovs iov;
  iov.add(packet);
  const ssize_t error = write(connection, iov, fi_mr_desc(region), target, operation);
  if (error == 0) return StatusCode::kInProgress;
  Completion none;
  operation->kind = OfiOperation::Kind::kPart;  // nobody is to be told
  (void)returned(operation, {}, &none);
  return writing_failed(connection, error);
}

// By buffers of ours.  False: some of it waits for one.
bool OfiDriver::post_staged(OfiConnection& connection) {
  while (connection.staged.left() > 0) {
    const std::size_t room = fabric_->facts().packet_bytes;
    const bool is_last = connection.staged.left() <= room;
    std::byte* const buffer = sends_.take();
    OfiOperation* const operation =
        buffer == nullptr ? nullptr
                          : connection.take_operation(
                                is_last ? OfiOperation::Kind::kWrite : OfiOperation::Kind::kPart,
                                connection.staged.context());
    ssize_t error = -FI_EAGAIN;
    StagedWrite next = connection.staged;
    if (operation != nullptr) {
      operation->buffer = buffer;
      next.copy({buffer, room});
      const Segment copied{buffer, connection.staged.left() - next.left()};
      OfiIovs iov;
      iov.add({&copied, 1});
      error = write(connection, iov, sends_.descriptor(), connection.staged.target(), operation);
    }
    if (error == 0) {
      connection.staged = next;
      continue;
    }
    if (operation != nullptr) {
      operation->buffer = nullptr;
      connection.free_operation(operation);
    }
    if (buffer != nullptr) sends_.give_back(buffer);
    if (error == -FI_EAGAIN) {
      is_due(connection);
    } else {
      end_soon(connection.id, writing_failed(connection, error));  // which tells of the write
    }
    return false;
  }
  return true;
}

}  // namespace mad
