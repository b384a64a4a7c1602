// How connections end.
//
// A record is forgotten when its connection is gone, the caller has left it, and memory exposed to
// its peer is withdrawn.
#include <sys/socket.h>

#include <algorithm>

#include "madlike/driver/connections/linger.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/tcp/driver.h"

namespace mad {

TcpDriver::~TcpDriver() {
  door_.close();
  for (auto& entry : connections_) {
    if (entry.second.state != State::kClosing) end(entry.second, StatusCode::kClosed);
  }
  linger(*this, options_.linger, [this] { return connections_.any_closing(); });
  connections_.clear();
}

void TcpDriver::close_socket(TcpConnection& connection) {
  connection.socket.close();
  sending_.erase(std::remove(sending_.begin(), sending_.end(), connection.id), sending_.end());
}

bool TcpDriver::arrived(ConnectionId id) const {
  const TcpConnection& connection = connections_.at(id);
  return !connection.stands() || (connection.outbox.empty() && tcp_arrived(connection.socket.fd()));
}

void TcpDriver::disconnect(ConnectionId id) {
  TcpConnection* const left = connections_.leave(id);
  if (!left) return;
  TcpConnection& connection = *left;
  connection.rest_goes_to = nullptr;  // it is dropped
  if (begin_closing(connection)) return post_last(connection);
  close_socket(connection);  // a request is withdrawn, perhaps
  end_soon(id, connection.gone);
}

void TcpDriver::post_last(TcpConnection& connection) {
  TcpRecord record;
  record.kind = TcpRecord::Kind::kLast;
  const auto outcome = connection.outbox.send(connection.socket.fd(), record, {}, nullptr);
  connection.last_posted = outcome != TcpOutbox::Outcome::kFull;
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
    completions_.push(finished.kind, connection.id, finished.context, why);
  }
  now_gone(connection, why);
  connection.inbox.give_up_chunk();
  chunks_.allow_one_less();
}

}  // namespace mad
