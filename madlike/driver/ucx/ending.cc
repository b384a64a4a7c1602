// How connections end.
//
// A record is forgotten when its connection is gone, the caller has left it, and memory exposed to
// its peer is withdrawn.  UCX may be called here: nothing of this is called from inside of it but
// end_soon().
#include <algorithm>
#include <utility>

#include "madlike/driver/connections/linger.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/ucx/driver.h"
#include "madlike/driver/ucx/settings.h"
#include "madlike/driver/ucx/status.h"

namespace mad {
namespace {

// Times that we look for what a peer sent before it hung up: as many messages as there can be.
constexpr std::size_t kLooks = UcxLane::kPlaces;
static_assert(kLooks * UcxLane::kRdmaMessagesAtOnce >= RdmaBuffers::kReceives);
// How long tcp may take to bring what such a peer sent, and then its end.
constexpr std::chrono::milliseconds kLaneEnds{2000};
// How long closing waits for peers in shared memory, where what was sent stays.
constexpr std::chrono::milliseconds kPosixLinger{2000};

}  // namespace

UcxDriver::~UcxDriver() {
  door_.close();
  if (!fabric_) return;  // it could not be opened
  for (auto& entry : connections_) {
    if (entry.second.state != State::kClosing) end(entry.second, StatusCode::kClosed);
  }
  linger(*this, std::min(options_.linger, kPosixLinger),
         [this] { return connections_.any_closing(); });
  linger(*this, options_.linger, [this] {
    return connections_.any_closing([](const UcxConnection& each) { return each.over_tcp(); });
  });
  for (auto& entry : connections_) drop_way(entry.second);
  connections_.clear();
}

void UcxDriver::drop_way(UcxConnection& connection) {
  UcxConnection::Way& way = connection.way;
  if (way.lane == nullptr) return;
  endpoints_.erase(way.endpoint.get());
  if (way.endpoint) {
    uct_ep_pending_purge(
        way.endpoint.get(), [](uct_pending_req_t*, void*) {}, nullptr);
  }
  way.endpoint.reset();
  way.lane->drop_user();
  way.lane.reset();
}

void UcxDriver::disconnect(ConnectionId id) {
  UcxConnection* const left = connections_.leave(id);
  if (!left) return;
  if (begin_closing(*left)) return send_last(*left);
  end(*left, left->gone);  // a request is withdrawn, perhaps
}

void UcxDriver::send_last(UcxConnection& connection) {
  const bool is_read = connection.pulls.size() > 0 && !connection.peer_finished;
  // advance_unsettled() tries again
  if (is_read || connection.owed > 0 || connection.operation.busy) return;
  const UcxHeader header{connection.offered->tag, 0, 0};
  const ucs_status_t status = connection.way.lane->send(connection.way.endpoint.get(),
                                                        UcxMessage::kLast, header, {}, 0, nullptr);
  if (status == UCS_ERR_NO_RESOURCE) return;  // advance_unsettled() tries again
  if (status != UCS_OK) return end_soon(connection.id, connection.gone);
  connection.last_sent = true;
  hold_off(connection);
}

// What the peer sent before its end may not be received yet.
void UcxDriver::on_hang_up(UcxConnection& connection) {
  connection.socket.close();
  if (connection.last_sent) {
    end_soon(connection.id, connection.gone);  // it has all, or wants no more
  } else {
    hung_up_.push_back({connection.id, kLooks, door_.now() + kLaneEnds});
  }
}

bool UcxDriver::has_all(HungUp& each, const UcxConnection& connection) {
  UcxLane* const lane = connection.way.lane.get();
  if (lane == nullptr) return true;
  // on_failed() comes behind all that it sent.
  if (connection.over_tcp()) return door_.now() >= each.deadline;
  if (!lane->has_room() || !received_.has_room()) return false;
  return lane->progress() == 0 || --each.looks == 0;
}

void UcxDriver::end_hung_up() {
  const auto ended = [this](HungUp& each) {
    const UcxConnection* const connection = find(each.connection);
    if (!connection || connection->doomed || connection->state == State::kGone) return true;
    if (!has_all(each, *connection)) return false;
    end_soon(each.connection, hung_up(*connection));
    return true;
  };
  hung_up_.erase(std::remove_if(hung_up_.begin(), hung_up_.end(), ended), hung_up_.end());
}

void UcxDriver::end(UcxConnection& connection, const Status& reason) {
  if (connection.state == State::kGone) return;
  const Status why =
      connection.peer_finished ? Status(StatusCode::kClosed, "the peer disconnected") : reason;
  // What the peer reads of our memory from now on it does not take for what we wrote.
  connection.word.exchange(0);  // before all that is written to that memory again
  while (connection.pulls.size() > 0) {
    completions_.push(Completion::Kind::kWritten, connection.id, connection.pulls.pop(), why);
  }
  UcxOperation& operation = connection.operation;
  if (std::exchange(operation.busy, false)) {
    completions_.push(operation.kind, connection.id, operation.context, why);
  }
  drop_way(connection);
  connection.put.reset();
  connection.prepared = {};
  now_gone(connection, why);
}

}  // namespace mad
