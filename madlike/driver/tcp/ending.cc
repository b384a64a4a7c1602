// How connections end.
//
// A record is forgotten when its connection is gone, the caller has left it, and memory exposed to
// its peer is withdrawn.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <thread>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/tcp/driver.h"

namespace mad {

TcpDriver::~TcpDriver() {
  door_.close();
  for (auto& entry : connections_) {
    if (entry.second.state != State::kClosing) end(entry.second, StatusCode::kClosed);
  }
  linger();
}

void TcpDriver::close_socket(TcpConnection& connection) {
  connection.socket.close();
  sending_.erase(std::remove(sending_.begin(), sending_.end(), connection.id), sending_.end());
}

void TcpDriver::disconnect(ConnectionId id) {
  TcpConnection* const known = find(id);
  if (!known || known->left) return;
  TcpConnection& connection = *known;
  connection.left = true;
  if (connection.state == State::kGone) return connections_.leave(id);
  if (connections_.retire(connection)) door_.forget(connection.address);
  const bool stands = connection.state == State::kConnected;
  connection.gone = Status(StatusCode::kClosed, "this connection was disconnected");
  set_state(connection, State::kClosing);
  connection.deadline = door_.now() + options_.close_timeout;
  connection.rest_goes_to = nullptr;  // it is dropped
  if (stands && connection.exposed == 0) return post_last(connection);
  // A request is withdrawn.  And memory that the peer may write is the caller's again at once.
  close_socket(connection);
  end_soon(id, connection.gone);
}

void TcpDriver::post_last(TcpConnection& connection) {
  TcpRecord record;
  record.kind = TcpRecord::Kind::kLast;
  const auto outcome = connection.outbox.send(connection.socket.fd(), record, {}, {});
  connection.last_posted = outcome == TcpOutbox::Outcome::kSent;
  if (outcome == TcpOutbox::Outcome::kBroken) return end_soon(connection.id, connection.gone);
  if (connection.outbox.empty()) (void)shutdown(connection.socket.fd(), SHUT_WR);
  wait_to_send(connection);
}

void TcpDriver::end(TcpConnection& connection, const Status& why) {
  if (connection.state == State::kGone) return;
  close_socket(connection);
  finished_.clear();
  connection.outbox.drop_all(&finished_);
  for (const TcpOutbox::Finished& finished : finished_) {
    Completion completion;
    completion.kind = finished.kind;
    completion.connection = connection.id;
    completion.context = finished.context;
    completion.status = why;
    news_.push_back(std::move(completion));
  }
  if (connections_.retire(connection)) door_.forget(connection.address);
  if (connection.state != State::kClosing) {
    connection.gone = why;
    if (connection.told) tell(connection, Completion::Kind::kDisconnected, why);
  }
  set_state(connection, State::kGone);
  connection.inbox.give_up_chunk();
  chunks_.allow_one_less();
  connection.left = connection.left || !connection.told;
  if (connection.left) connections_.leave(connection.id);
}

void TcpDriver::forget_left() {
  connections_.forget_left([](const TcpConnection& connection) { return connection.exposed > 0; });
}

void TcpDriver::linger() {
  const PolledClock::Steady::time_point deadline = PolledClock::Steady::now() + options_.linger;
  const auto closing = [this](const auto& entry) { return entry.second.state == State::kClosing; };
  while (std::any_of(connections_.begin(), connections_.end(), closing) &&
         PolledClock::Steady::now() < deadline) {
    std::array<Completion, 16> news;
    const std::size_t count = poll(news.data(), news.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (news[i].buffer != nullptr) release(news[i].buffer);
    }
    std::this_thread::yield();
  }
}

}  // namespace mad
