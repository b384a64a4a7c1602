// How connections end.
//
// What was written to a lane is the peer's, who has mapped it, to read: so a connection that is
// left ends at once, unless the peer is still to read from this process's memory.  A record is
// forgotten when its connection is gone, the caller has left it, and every received packet is
// released.  A place is used again when the peer's side says that it reads there no more, or the
// peer's process has ended.
#include <poll.h>

#include <algorithm>
#include <utility>

#include "madlike/base/say.h"
#include "madlike/driver/connections/linger.h"
#include "madlike/driver/shm/driver.h"

namespace mad {

ShmDriver::~ShmDriver() {
  const auto abandon = [this](ShmConnection& connection) {
    end(connection, StatusCode::kClosed, ShmLaneState::kAbandoned);
  };
  for (auto& entry : connections_) {
    if (entry.second.state != State::kClosing) abandon(entry.second);
  }
  const auto closing = [this] { return connections_.any_closing(); };
  if (closing()) linger(*this, options_.linger, closing);
  for (auto& entry : connections_) abandon(entry.second);  // those who came meanwhile, too
  connections_.clear();
}

void ShmDriver::disconnect(ConnectionId id) {
  ShmConnection* const left = connections_.leave(id);
  if (!left) return;
  // Memory that the peer may write is the caller's again at once.
  if (left->pulls.size() == 0 || left->exposed > 0) {
    return end(*left, left->gone, ShmLaneState::kClosed);
  }
  connections_.retire(*left);
  set_state(*left, State::kClosing);
  clock_.tick();  // there may have been a pause
  left->deadline = clock_.now() + options_.close_timeout;
  list(*left);  // its end must be seen
}

void ShmDriver::check_deadlines() {
  for (const ConnectionId id : pulling_) {
    const ShmConnection& connection = *find(id);
    const bool late = connection.state == State::kClosing && clock_.now() >= connection.deadline;
    if (late) end_soon(id, connection.gone);
  }
}

void ShmDriver::end(ShmConnection& connection, const Status& why, ShmLaneState last) {
  if (connection.state == State::kGone) return;
  if (connection.state == State::kMeeting && connection.told) say_why_not(connection, why);
  unlist(connection);
  // What the peer reads of our memory from now on it does not take for what we wrote.
  if (connection.place) {
    ShmLaneHead& ours = segment_.lane(*connection.place);
    ours.state.store(static_cast<std::uint32_t>(last), std::memory_order_release);
  }
  connection.word.exchange(0);
  shm_fence();  // before all that is written to that memory again
  if (connection.out) (void)take_answers(connection);
  while (connection.pulls.size() > 0) {
    completions_.push(Completion::Kind::kWritten, connection.id, connection.pulls.pop(), why);
  }
  pulling_.erase(std::remove(pulling_.begin(), pulling_.end(), connection.id), pulling_.end());
  if (connection.mapped) {
    drop_lane(connection);
    ring_other_side(connection.out->memory());
  }
  leave_place(connection);
  charged_ -= std::exchange(connection.charged, 0);
  grown_.erase(std::remove(grown_.begin(), grown_.end(), connection.id), grown_.end());
  connections_.retire(connection);
  connections_.ended(connection, why, &completions_);
  set_state(connection, State::kGone);
}

// Another fabric may reach the peer, and then nobody else tells.  Of one of which nothing is left
// here there is nothing to tell.
void ShmDriver::say_why_not(ShmConnection& connection, const Status& why) {
  if (!connection.process && !connection.waker.is_there()) return;
  const bool matters = why.code() == StatusCode::kNoMemory ||
                       why.code() == StatusCode::kUnreachable || why.code() == StatusCode::kVersion;
  if (!matters || std::exchange(said_why_not_, true)) return;
  say("shm", "no shared memory with process " + std::to_string(connection.peer.pid) +
                 " and maybe others: " + std::string(why.message()));
}

// The peer may use its place for others once nobody reads there: no received packet either.
void ShmDriver::drop_lane(ShmConnection& connection) {
  if (!connection.kept.empty()) return;  // release() comes back
  connection.mapped->lane().dropped_session.store(connection.peer_session,
                                                  std::memory_order_release);
}

void ShmDriver::leave_place(ShmConnection& connection) {
  unwatch_process(connection);
  if (!connection.place) return connection.process.reset();
  const std::size_t place = *std::exchange(connection.place, std::nullopt);
  bells_[place] = nullptr;
  if (connection.offered && !connection.dead) {
    leaving_.push_back({place, connection.session, std::move(connection.process)});
  } else {
    segment_.return_place(place);
  }
  connection.process.reset();
}

void ShmDriver::return_places() {
  const auto is_free = [this](Leaving& each) {
    const ShmLaneHead& lane = segment_.lane(each.place);
    bool over = lane.dropped_session.load(std::memory_order_acquire) == each.session;
    if (!over) {
      pollfd process{each.process.fd(), POLLIN, 0};
      over = ::poll(&process, 1, 0) > 0;
    }
    if (over) segment_.return_place(each.place);
    return over;
  };
  leaving_.erase(std::remove_if(leaving_.begin(), leaving_.end(), is_free), leaving_.end());
}

// Of a connection whose lane has nothing more now: whether its peer said that this is all, or can
// say no more.  What one wrote that was not met does not count.
bool ShmDriver::end_if_over(ShmConnection& connection) {
  auto state = ShmLaneState::kOpen;
  const auto has_ended = [&] {
    state = static_cast<ShmLaneState>(
        connection.in->memory().head().state.load(std::memory_order_acquire));
    connection.rung = state != ShmLaneState::kOpen;  // else it rang for something else
    return connection.rung || connection.dead;
  };
  const bool over = connection.state == State::kMeeting
                        ? has_ended() && !is_met(connection)  // in this order
                        : is_read_out(*connection.in, has_ended);
  if (!over) return false;
  if (state == ShmLaneState::kClosed) {
    end_soon(connection.id, Status(StatusCode::kClosed, "the peer disconnected"));
    return true;
  }
  const std::string who = "the engine of process " + std::to_string(connection.peer.pid);
  const bool stood = connection.state == State::kConnected;
  end_soon(connection.id,
           stood ? Status(StatusCode::kPeerFailed, "shm: " + who + " is gone")
                 : Status(StatusCode::kAgain, "shm: " + who + " left before we were connected"));
  return true;
}

void ShmDriver::forget_left() {
  last_ = nullptr;
  connections_.forget_left(
      [](const ShmConnection& connection) { return !connection.kept.empty(); });
}

}  // namespace mad
