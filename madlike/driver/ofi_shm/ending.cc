// How connections end.
//
// A record is forgotten when its connection is gone and the caller has left it.  Its memory is
// closed first and the control socket after it: who sees that end may close its own.
#include <algorithm>
#include <utility>

#include "madlike/driver/connections/linger.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/ofi_shm/driver.h"
#include "madlike/driver/ofi_shm/remains.h"

namespace mad {

OfiShmDriver::~OfiShmDriver() {
  door_.close();
  for (auto& entry : connections_) {
    if (entry.second.state != State::kClosing) end(entry.second, StatusCode::kClosed);
  }
  linger(*this, options_.linger, [this] { return connections_.any_closing(); });
  for (auto& entry : connections_) close_memory(entry.second);
}

void OfiShmDriver::close_memory(OfiShmConnection& connection) {
  const auto opened = std::find(opened_.begin(), opened_.end(), &connection);
  if (opened != opened_.end()) {
    opened_.erase(opened);
    chunks_.allow_one_less();
  }
  if (connection.gate && connection.gate->in_one_process()) {
    leave_to_the_other_side(connection.gate->secret(), std::move(connection.endpoint));
  }
  connection.endpoint.reset();
  connection.gate.reset();
  for (Chunk* const chunk : connection.posted) chunks_.drop_user(*chunk);
  connection.posted.clear();
}

void OfiShmDriver::disconnect(ConnectionId id) {
  OfiShmConnection* const left = connections_.leave(id);
  if (!left) return;
  OfiShmConnection& connection = *left;
  if (connections_.retire(connection)) door_.forget(connection.address);
  const bool stands = connection.state == State::kConnected;
  set_state(connection, State::kClosing);
  connection.deadline = door_.now() + options_.close_timeout;
  if (stands) return send_last(connection);
  end(connection, connection.gone);  // a request is withdrawn
}

// Behind everything: the provider takes nothing more while it has a long packet, and what it is
// done with is told before.
void OfiShmDriver::send_last(OfiShmConnection& connection) {
  if (connection.operation.busy) return;  // advance_unsettled() tries again
  std::uint64_t word = 0;
  const Segment segment{&word, sizeof(word)};
  const Status status = post(connection, Kind::kLast, {&segment, 1}, sizeof(word), nullptr);
  if (!status.ok()) return;
  connection.last_sent = true;
  connection.deadline = door_.now() + options_.close_timeout;
}

// What the peer sent before its end may not be received yet.
void OfiShmDriver::on_hang_up(OfiShmConnection& connection) {
  connection.control.close();
  if (connection.last_sent) {
    end_soon(connection.id, connection.gone);  // it has all, or wants no more
  } else {
    hung_up_.push_back(connection.id);
  }
}

void OfiShmDriver::end_hung_up() {
  const auto ended = [this](ConnectionId id) {
    OfiShmConnection* const connection = find(id);
    if (!connection || connection->doomed || connection->state == State::kGone) return true;
    const bool open = std::find(opened_.begin(), opened_.end(), connection) != opened_.end();
    if (open && connection->posted.empty() && chunks_.available() == 0) return false;
    if (open && progress(*connection) > 0) return false;
    const bool stood = connection->state != State::kAgreeing;
    const std::string who = "the engine at " + to_text(connection->peer.socket);
    end_soon(id, stood ? Status(StatusCode::kPeerFailed, who + " is gone")
                       : Status(StatusCode::kAgain, who + " left before we were connected"));
    return true;
  };
  hung_up_.erase(std::remove_if(hung_up_.begin(), hung_up_.end(), ended), hung_up_.end());
}

Status OfiShmDriver::end_broken(OfiShmConnection& connection) {
  Status why(StatusCode::kPeerFailed,
             "the engine at " + to_text(connection.peer.socket) + " died while it sent");
  end_soon(connection.id, why);
  return why;
}

void OfiShmDriver::end(OfiShmConnection& connection, Status why) {
  if (connection.state == State::kGone) return;
  if (connection.peer_finished) why = Status(StatusCode::kClosed, "the peer disconnected");
  if (connection.operation.busy) finish(connection, why);
  close_memory(connection);
  connection.control.close();
  if (connections_.retire(connection)) door_.forget(connection.address);
  connections_.ended(connection, why, &completions_);
  set_state(connection, State::kGone);
}

void OfiShmDriver::forget_left() {
  connections_.forget_left([](const OfiShmConnection&) { return false; });
}

}  // namespace mad
