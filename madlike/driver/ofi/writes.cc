// Memory that peers write: ours, and theirs.
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <string>

#include "madlike/driver/door/handshake.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/memory/registering.h"
#include "madlike/driver/ofi/driver.h"
#include "madlike/driver/ofi/iovs.h"
#include "madlike/driver/rdma/obstacles.h"

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
              const ExposureToken& target, std::uint64_t flags, OfiOperation* operation) {
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
  return fi_writemsg(connection.endpoint.get(), &message, flags);
}

constexpr std::size_t kSharedPart = 4;  // of what may be locked

// What a device has written is at its peer when it says so.
constexpr std::uint64_t kLeft = FI_COMPLETION, kThere = FI_COMPLETION | FI_DELIVERY_COMPLETE;

}  // namespace

Result<ExposureToken> OfiDriver::expose(ConnectionId id, Segment memory) {
  OfiConnection* const found = find(id);
  if (!found || found->state == State::kGone || found->state == State::kClosing) {
    return not_connected(found);
  }
  Result<ExposureToken> token =
      regions_.add(*fabric_->domain(), fabric_->facts(), memory, FI_REMOTE_WRITE);
  if (token.ok()) ++found->exposed;
  return token;
}

void OfiDriver::withdraw(ConnectionId id, const ExposureToken& token) {
  OfiConnection* const connection = find(id);
  if (connection && regions_.remove(token)) --connection->exposed;
}

// A part of what may be locked is for packets and for what is registered while it is under way.
Result<ExposureToken> OfiDriver::share(Segment memory) {
  const bool is_locked = fabric_->facts().registers;
  if (is_locked && shared_.bytes() + memory.size > lockable_bytes() / kSharedPart) {
    return Status(StatusCode::kNoMemory, "sharing " + std::to_string(memory.size) + " bytes with " +
                                             std::to_string(shared_.bytes()) +
                                             " shared already: more than a quarter of the " +
                                             locked_text(lockable_bytes()) +
                                             " that this process may lock (ulimit -l)");
  }
  return shared_.add(*fabric_->domain(), fabric_->facts(), memory,
                     FI_REMOTE_WRITE | FI_REMOTE_READ);
}

Status OfiDriver::post_write(ConnectionId id, SegmentList packet, const ExposureToken& token,
                             std::uint64_t offset, void* context) {
  return post_remote(id, packet, token, offset, kLeft, context);
}

Status OfiDriver::post_put(ConnectionId id, SegmentList packet, const ExposureToken& token,
                           std::uint64_t offset, void* context) {
  return post_remote(id, packet, token, offset, kThere, context);
}

Status OfiDriver::post_remote(ConnectionId id, SegmentList packet, const ExposureToken& token,
                              std::uint64_t offset, std::uint64_t flags, void* context) {
  OfiConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  OfiConnection& connection = *found;
  const LinkCaps& link = caps_.nearest();
  const std::size_t bytes = packet.bytes();
  if (packet.count > link.max_write_iov || bytes > link.max_write_bytes || bytes == 0) {
    return Status(StatusCode::kInvalidArgument, "write beyond the limits of " + caps_.name);
  }
  const ExposureToken target{token.address + offset, token.key};
  if (!fabric_->facts().by_device) {
    return post_in_place(connection, packet, target, flags, context);
  }
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
                                const ExposureToken& target, std::uint64_t flags, void* context) {
  OfiOperation* operation = connection.take_operation(OfiOperation::Kind::kWrite, context);
  if (!operation) return StatusCode::kAgain;
  OfiIovs iov;
  iov.add(packet);
  const ssize_t error = write(connection, iov, nullptr, target, flags, operation);
  if (error == 0) return StatusCode::kInProgress;
  connection.free_operation(operation);
  return writing_failed(connection, error);
}

// By a registration of all that the packet spans.  kNoMemory: it cannot be registered, for lack of
// memory that may be locked, or as there is a gap in it.
Status OfiDriver::post_registered(OfiConnection& connection, SegmentList packet,
                                  const ExposureToken& target, void* context) {
  OfiOperation* operation = connection.take_operation(OfiOperation::Kind::kWrite, context);
  if (!operation) return StatusCode::kAgain;
  Status registered = register_for(operation, span_of(packet), FI_WRITE);
  if (!registered.ok()) {
    connection.free_operation(operation);
    return registered;
  }
  OfiIovs iov;
  iov.add(packet);
  void* const descriptor = fi_mr_desc(operation->region.get());
  const ssize_t error = write(connection, iov, descriptor, target, kThere, operation);
  if (error == 0) return StatusCode::kInProgress;
  Completion none;
  operation->kind = OfiOperation::Kind::kPart;  // nobody is to be told
  (void)returned(operation, {}, &none);
  return writing_failed(connection, error);
}

// kNoMemory: it cannot be registered; kAgain: not now.
Status OfiDriver::register_for(OfiOperation* operation, Segment memory, std::uint64_t access) {
  if (registered_ > 0 && registered_ + memory.size > kMostRegistered) return StatusCode::kAgain;
  fid_mr* region = nullptr;
  if (fi_mr_reg(fabric_->domain(), memory.data, memory.size, access, 0,
                random_number<std::uint64_t>() >> 1, 0, &region, nullptr) != 0) {
    return StatusCode::kNoMemory;
  }
  operation->region.reset(region);
  operation->bytes = memory.size;
  registered_ += memory.size;
  return {};
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
      error = write(connection, iov, sends_.descriptor(), connection.staged.target(), kThere,
                    operation);
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
