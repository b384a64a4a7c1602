// How connections end.
//
// A packet that was sent to a peer that is gone stays in the provider's hands, with its buffer and
// the peer's address, until the provider is done with it.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "madlike/driver/connections/linger.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/ofi/rdm_driver.h"

namespace mad {
namespace {

// What a peer sent before it hung up is on its way for so long at the most.
constexpr std::chrono::milliseconds kStillComes{100};

}  // namespace

RdmDriver::~RdmDriver() {
  door_.close();
  for (auto& entry : connections_) {
    if (entry.second.state != State::kClosing) end(entry.second, StatusCode::kClosed);
  }
  linger(*this, options_.linger, [this] { return connections_.any_closing(); });
  fabric_->close_endpoint();  // before the buffers that were posted go
  connections_.clear();
}

void RdmDriver::disconnect(ConnectionId id) {
  RdmConnection* const left = connections_.leave(id);
  if (!left) return;
  if (begin_closing(*left)) return send_last(*left);
  end(*left, left->gone);  // a request is withdrawn, perhaps
}

void RdmDriver::send_last(RdmConnection& connection) {
  if (!post_unposted(connection)) return;  // advance_unsettled() tries again
  const ssize_t error = post_alone(connection, OfiHeader::Kind::kLast);
  if (error == -FI_EAGAIN) return;
  if (error != 0) return end_soon(connection.id, connection.gone);
  connection.last_sent = true;
  hold_off(connection);
}

void RdmDriver::on_hang_up(RdmConnection& connection) {
  connection.socket.close();
  if (connection.last_sent) {
    end_soon(connection.id, connection.gone);  // it has all, or wants no more
  } else {
    hung_up_.push_back({connection.id, door_.now() + kStillComes});
    look_soon_ = true;
  }
}

void RdmDriver::end_hung_up() {
  const auto ended = [this](const HungUp& each) {
    const RdmConnection* const connection = find(each.connection);
    if (!connection || connection->doomed || connection->state == State::kGone) return true;
    if (door_.now() < each.deadline) return false;
    end_soon(each.connection, hung_up(*connection));
    return true;
  };
  hung_up_.erase(std::remove_if(hung_up_.begin(), hung_up_.end(), ended), hung_up_.end());
}

void RdmDriver::end(RdmConnection& connection, const Status& reason) {
  if (connection.state == State::kGone) return;
  const Status why =
      connection.peer_finished ? Status(StatusCode::kClosed, "the peer disconnected") : reason;
  for (RdmSend& send : sends_) {
    const bool is_its = send.to != nullptr && send.connection == connection.id;
    if (!is_its || !std::exchange(send.tells, false)) continue;
    completions_.push(Completion::Kind::kSent, connection.id, send.context, why);
  }
  if (connection.unposted != nullptr) free_send(*std::exchange(connection.unposted, nullptr));
  while (ReceiveBuffer* const early = connection.order.drop()) drop(early);
  connection.credit.end(&credits_);
  if (connection.to != nullptr) addresses_.drop(*std::exchange(connection.to, nullptr));
  now_gone(connection, why);
}

}  // namespace mad
