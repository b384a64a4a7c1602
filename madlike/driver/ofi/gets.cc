// Memory that peers share, read.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/driver.h"

namespace mad {
namespace {

/// Has `memory` filled from where the peer shares it.
Result<std::size_t> read(OfiConnection& connection, Segment memory, void* descriptor,
                         const ExposureToken& source, OfiOperation* operation) {
  const iovec place{memory.data, memory.size};
  const fi_rma_iov from{source.address, memory.size, source.key};
  fi_msg_rma message{};
  message.msg_iov = &place;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.rma_iov = &from;
  message.rma_iov_count = 1;
  message.context = static_cast<OfiContext*>(operation);
  const ssize_t error = fi_readmsg(connection.endpoint.get(), &message, FI_COMPLETION);
  if (error == 0) return memory.size;
  if (error == -FI_EAGAIN) return Status(StatusCode::kAgain);
  return ofi_status(StatusCode::kPeerFailed, "reading from " + to_text(connection.address), error);
}

Segment first_of(Segment memory, std::size_t most) {
  return {memory.data, std::min(memory.size, most)};
}

}  // namespace

Result<std::size_t> OfiDriver::post_get(ConnectionId id, Segment memory, const ExposureToken& token,
                                        std::uint64_t offset, void* context) {
  OfiConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  OfiConnection& connection = *found;
  if (memory.size == 0) return Status(StatusCode::kInvalidArgument, "a get of no bytes");
  const ExposureToken source{token.address + offset, token.key};
  memory = first_of(memory, caps_.nearest().max_write_bytes);
  if (!fabric_->facts().by_device) return post_get_in_place(connection, memory, source, context);
  if (!post_earlier(connection)) return Status(StatusCode::kAgain);
  if (memory.size >= options_.registered_from) {
    Result<std::size_t> posted = post_get_registered(connection, memory, source, context);
    if (posted.status().code() != StatusCode::kNoMemory) return posted;
  }
  return post_get_staged(connection, memory, source, context);
}

Result<std::size_t> OfiDriver::post_get_in_place(OfiConnection& connection, Segment memory,
                                                 const ExposureToken& source, void* context) {
  OfiOperation* const operation = connection.take_operation(OfiOperation::Kind::kGet, context);
  if (!operation) return Status(StatusCode::kAgain);
  Result<std::size_t> posted = read(connection, memory, nullptr, source, operation);
  if (!posted.ok()) connection.free_operation(operation);
  return posted;
}

Result<std::size_t> OfiDriver::post_get_registered(OfiConnection& connection, Segment memory,
                                                   const ExposureToken& source, void* context) {
  OfiOperation* const operation = connection.take_operation(OfiOperation::Kind::kGet, context);
  if (!operation) return Status(StatusCode::kAgain);
  const Status registered = register_for(operation, memory, FI_READ);
  if (!registered.ok()) {
    connection.free_operation(operation);
    return registered;
  }
  void* const descriptor = fi_mr_desc(operation->region.get());
  Result<std::size_t> posted = read(connection, memory, descriptor, source, operation);
  if (posted.ok()) return posted;
  Completion none;
  operation->kind = OfiOperation::Kind::kPart;  // nobody is to be told
  (void)returned(operation, {}, &none);
  return posted;
}

// To a buffer of ours first.
Result<std::size_t> OfiDriver::post_get_staged(OfiConnection& connection, Segment memory,
                                               const ExposureToken& source, void* context) {
  std::byte* const buffer = sends_.take();
  if (buffer == nullptr) return Status(StatusCode::kAgain);
  OfiOperation* const operation = connection.take_operation(OfiOperation::Kind::kGet, context);
  Result<std::size_t> posted = Status(StatusCode::kAgain);
  if (operation != nullptr) {
    const Segment place = first_of(memory, fabric_->facts().packet_bytes);
    posted = read(connection, {buffer, place.size}, sends_.descriptor(), source, operation);
    if (posted.ok()) {
      operation->buffer = buffer;
      operation->place = place;
      return posted;
    }
    connection.free_operation(operation);
  }
  sends_.give_back(buffer);
  return posted;
}

}  // namespace mad
