// How connections end.
//
// A record is forgotten when its connection is gone, the caller has left it, and memory exposed to
// its peer is withdrawn.  UCX may be called here: nothing of this is called from inside of it but
// end_soon().
#include <algorithm>
#include <array>
#include <thread>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ucx/driver.h"
#include "madlike/driver/ucx/status.h"

namespace mad {
namespace {

// Times that we look for the last message of a peer that hung up while others send: more than the
// queue of shared memory has messages.
constexpr int kLooks = 1000;
// How long tcp may take to bring what such a peer sent, and then its end.
constexpr std::chrono::milliseconds kLaneEnds{2000};

}  // namespace

UcxDriver::~UcxDriver() {
  door_.close();
  if (!fabric_) return;  // it could not be opened
  for (auto& entry : connections_) {
    if (entry.second.state != State::kClosing) end(entry.second, StatusCode::kClosed);
  }
  linger();
  for (auto& entry : connections_) drop_endpoint(entry.second);
}

void UcxDriver::drop_endpoint(UcxConnection& connection) {
  if (connection.lane == nullptr) return;
  endpoints_.erase(connection.endpoint.get());
  connection.endpoint.reset();
  connection.lane->drop_user();
  connection.lane = nullptr;
}

void UcxDriver::disconnect(ConnectionId id) {
  UcxConnection* const known = find(id);
  if (!known || known->left) return;
  UcxConnection& connection = *known;
  connection.left = true;
  if (connection.state == State::kGone) return leaving_.push_back(id);
  const auto found = live_.find(connection.address);
  if (found != live_.end() && found->second == id) {
    live_.erase(found);
    door_.forget(connection.address);
  }
  const bool stands = connection.state == State::kConnected;
  connection.gone = Status(StatusCode::kClosed, "this connection was disconnected");
  set_state(connection, State::kClosing);
  connection.deadline = door_.now() + options_.close_timeout;
  if (stands && connection.exposed == 0) return send_last(connection);
  // A request is withdrawn.  And memory that the peer may write is the caller's again at once.
  end(connection, connection.gone);
}

void UcxDriver::send_last(UcxConnection& connection) {
  const UcxHeader header{connection.offered->tag, 0, 0};
  const ucs_status_t status =
      connection.lane->send(connection.endpoint.get(), UcxMessage::kLast, header, {}, 0, nullptr);
  if (status == UCS_ERR_NO_RESOURCE) return;  // advance_unsettled() tries again
  if (status != UCS_OK) return end_soon(connection.id, connection.gone);
  connection.last_sent = true;
  connection.deadline = door_.now() + options_.close_timeout;
}

// What the peer sent before its end may not be received yet.
void UcxDriver::on_hang_up(UcxConnection& connection) {
  connection.control.close();
  if (connection.last_sent) {
    end_soon(connection.id, connection.gone);  // it has all, or wants no more
  } else {
    hung_up_.push_back({connection.id, kLooks, door_.now() + kLaneEnds});
  }
}

void UcxDriver::end_hung_up(bool nothing_came) {
  const auto ended = [this, nothing_came](HungUp& each) {
    const UcxConnection* const connection = find(each.connection);
    if (!connection || connection->doomed || connection->state == State::kGone) return true;
    const bool stood = connection->state != State::kAgreeing;
    if (stood && connection->lane->transport() == UcxTransport::kTcp) {
      if (door_.now() < each.deadline) return false;  // on_failed() comes behind all that it sent
    } else if (!nothing_came && --each.looks > 0) {
      return false;
    }
    const std::string who = "the engine at " + to_text(connection->peer.socket);
    end_soon(each.connection,
             stood ? Status(StatusCode::kPeerFailed, who + " is gone")
                   : Status(StatusCode::kUnreachable, who + " left before we were connected"));
    return true;
  };
  hung_up_.erase(std::remove_if(hung_up_.begin(), hung_up_.end(), ended), hung_up_.end());
}

void UcxDriver::end_shared_memory() {
  posix_broke_ = true;
  for (const auto& entry : connections_) {
    const UcxLane* const lane = entry.second.lane;
    if (lane == nullptr || lane->transport() != UcxTransport::kPosix) continue;
    end_soon(entry.first,
             Status(StatusCode::kPeerFailed,
                    "a process of this host died while it put a packet into our shared memory, "
                    "which nobody can use any more"));
  }
}

void UcxDriver::end_soon(ConnectionId id, Status why) {
  UcxConnection* const connection = find(id);
  if (!connection || connection->doomed) return;
  connection->doomed = true;
  ending_.emplace_back(id, std::move(why));
}

void UcxDriver::end_all_due() {
  while (!ending_.empty()) {
    auto [id, why] = std::move(ending_.back());
    ending_.pop_back();
    if (UcxConnection* const connection = find(id)) end(*connection, std::move(why));
  }
}

void UcxDriver::end(UcxConnection& connection, Status why) {
  if (connection.state == State::kGone) return;
  if (connection.peer_finished) why = Status(StatusCode::kClosed, "the peer disconnected");
  UcxLane* const lane = connection.lane;
  if (connection.operation.busy) {
    connection.operation.busy = false;
    Completion completion;
    completion.kind = connection.operation.kind;
    completion.connection = connection.id;
    completion.context = connection.operation.context;
    completion.status = why;
    news_.push_back(std::move(completion));
  }
  drop_endpoint(connection);
  for (UctEndpoint& prepared : connection.prepared) prepared.reset();
  connection.control.close();
  const auto found = live_.find(connection.address);
  if (found != live_.end() && found->second == connection.id) {
    live_.erase(found);
    door_.forget(connection.address);
  }
  if (connection.state != State::kClosing) {
    connection.gone = why;
    if (connection.told) tell(connection, Completion::Kind::kDisconnected, why);
  }
  set_state(connection, State::kGone);
  connection.left = connection.left || !connection.told;
  if (connection.left) leaving_.push_back(connection.id);
  // Who did not say that it finished may have died, also if that is not why.
  if (lane != nullptr && lane->transport() == UcxTransport::kPosix && !connection.peer_finished &&
      !posix_broke_) {
    hole_.begin(*lane);
  }
}

void UcxDriver::forget_left() {
  const auto forgotten = [this](ConnectionId id) {
    if (find(id)->exposed > 0) return false;
    connections_.erase(id);
    return true;
  };
  leaving_.erase(std::remove_if(leaving_.begin(), leaving_.end(), forgotten), leaving_.end());
}

void UcxDriver::linger() {
  const auto deadline = PolledClock::Steady::now() + options_.linger;
  const auto closing = [this](const auto& entry) { return entry.second.state == State::kClosing; };
  do {
    std::array<Completion, 16> news;
    for (std::size_t count = 1; count > 0;) {
      count = poll(news.data(), news.size());
      for (std::size_t i = 0; i < count; ++i) {
        if (news[i].buffer != nullptr) release(news[i].buffer);
      }
    }
    std::this_thread::yield();
  } while (std::any_of(connections_.begin(), connections_.end(), closing) &&
           PolledClock::Steady::now() < deadline);
}

}  // namespace mad
