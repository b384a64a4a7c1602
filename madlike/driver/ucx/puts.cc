// Memory that devices write: what is exposed to peers over RDMA, and writes to what they expose.
#include <algorithm>
#include <utility>

#include "madlike/driver/ucx/driver.h"

namespace mad {

// What cannot be registered is sent in packets.
Result<ExposureToken> UcxDriver::expose(ConnectionId id, Segment memory) {
  UcxConnection* const found = find(id);
  if (!found || found->state != State::kConnected || !found->puts()) {
    return DoorDriver::expose(id, memory);
  }
  auto registered =
      UcxRegistration::of(found->way.lane->domain(), memory, UcxRegistration::For::kPeersWriting);
  if (!registered.ok()) return registered.status();
  const auto key = registered->key();
  if (!key.ok()) return key.status();
  found->registered[*key] = std::move(*registered);
  ++found->exposed;
  return ExposureToken{reinterpret_cast<std::uintptr_t>(memory.data), *key};
}

Result<ExposureToken> UcxDriver::expose_scattered(ConnectionId id, ScatteredMemory& memory,
                                                  std::uint64_t first, std::uint64_t size) {
  const UcxConnection* const found = find(id);
  if (found && found->puts()) {
    return Status(StatusCode::kInvalidArgument, "a device's writes go to one run");
  }
  return DoorDriver::expose_scattered(id, memory, first, size);
}

void UcxDriver::withdraw(ConnectionId id, const ExposureToken& token) {
  UcxConnection* const found = find(id);
  if (found && found->registered.erase(token.key) == 1) {
    --found->exposed;
  } else {
    DoorDriver::withdraw(id, token);
  }
}

Status UcxDriver::post_put(UcxConnection& connection, SegmentList packet,
                           const ExposureToken& token, std::uint64_t offset, void* context) {
  UcxOperation& operation = connection.operation;
  if (operation.busy) return StatusCode::kAgain;
  auto put = UcxPut::of(*connection.way.lane, packet, token.key, token.address + offset,
                        options_.registered_from);
  if (!put.ok()) return put.status();
  const ucs_status_t status = put->go_on(connection.way.endpoint.get(), &operation);
  if (status != UCS_INPROGRESS && status != UCS_ERR_NO_RESOURCE) {
    return outcome(connection, status);
  }
  if (!std::exchange(connection.put, std::move(*put))) going_on_.push_back(connection.id);
  operation.begin(Completion::Kind::kWritten, context);
  operation.waits = status == UCS_ERR_NO_RESOURCE;
  return StatusCode::kInProgress;
}

// What is left to do of a connection's operation; true: nothing.
bool UcxDriver::go_on(UcxConnection& connection) {
  UcxOperation& operation = connection.operation;
  if (operation.busy && operation.waits) {
    const uct_ep_h endpoint = connection.way.endpoint.get();
    const ucs_status_t status =
        connection.put ? connection.put->go_on(endpoint, &operation)
                       : connection.way.lane->has_left(endpoint, &operation.copied, &operation);
    if (status == UCS_ERR_NO_RESOURCE) return false;
    operation.waits = false;
    if (status == UCS_OK) on_sent(&operation);
    if (status != UCS_OK && status != UCS_INPROGRESS) on_failed(endpoint);
  }
  // UCX tells when it is over, perhaps from inside of what may not give back the registration.
  if (operation.busy && connection.put) return false;
  connection.put.reset();
  return true;
}

void UcxDriver::go_on() {
  const auto over = [this](ConnectionId id) {
    UcxConnection* const connection = find(id);
    return !connection || connection->state == State::kGone || go_on(*connection);
  };
  going_on_.erase(std::remove_if(going_on_.begin(), going_on_.end(), over), going_on_.end());
}

}  // namespace mad
