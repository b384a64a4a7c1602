// The poll path.  What UCX brings in one go is told before it is asked for more.
#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>

#include "madlike/driver/ucx/driver.h"

namespace mad {
namespace {

// Polls between two looks at the control sockets at the most, and between two at the clock, whose
// next tick is a reason for one.
constexpr std::uint32_t kLookEvery = 4096;
constexpr std::uint32_t kTickEvery = 16;
constexpr std::chrono::nanoseconds kAcceptEvery{1000000};

}  // namespace

std::size_t UcxDriver::poll(Completion* out, std::size_t capacity) {
  end_all_due();
  if (looking_is_due()) look();
  if (completions_.empty()) progress();
  end_all_due();
  forget_left();
  return completions_.take(out, capacity);
}

void UcxDriver::progress() {
  UcxLane* const tcp = fabric_->tcp();
  if (tcp != nullptr && tcp->used() && received_.has_room()) (void)tcp->progress();
  for (const auto& lane : fabric_->posix()) {
    if (lane->used() && lane->has_room() && received_.has_room()) (void)lane->progress();
  }
  if (!owing_.empty()) answer_pulls();
  if (!hung_up_.empty()) end_hung_up();
}

bool UcxDriver::looking_is_due() {
  if (look_soon_) return true;
  if (++polls_ % kTickEvery != 0) return false;
  if (polls_ >= kLookEvery) return true;
  return look_timer_.ticked();
}

void UcxDriver::look() {
  polls_ = 0;
  look_at_door();
  if (const std::size_t expected = agreeing_on_tcp()) fabric_->accept(expected);
  if (deadline_timer_.ticked()) check_deadlines();
  end_all_due();
  fabric_->close_unused();
  look_soon_ = !unsettled_.empty() || door_.busy();
  advance_unsettled();
}

void UcxDriver::advance_unsettled() {
  advancing_ = unsettled_;
  for (const ConnectionId id : advancing_) {
    UcxConnection& connection = *find(id);
    if (connection.doomed) continue;
    if (connection.state == State::kAgreeing) greet(connection);
    if (connection.state != State::kClosing) continue;
    if (!connection.last_sent) send_last(connection);
    if (connection.last_sent && connection.peer_finished) end_soon(id, connection.gone);
  }
}

std::size_t UcxDriver::agreeing_on_tcp() const {
  return std::count_if(unsettled_.begin(), unsettled_.end(), [this](ConnectionId id) {
    const UcxConnection& connection = connections_.at(id);
    return connection.state == State::kAgreeing && connection.way.lane != nullptr &&
           connection.way.lane->transport() == UcxTransport::kTcp;
  });
}

Status UcxDriver::watch(std::vector<pollfd>* out) {
  if (!completions_.empty() || connections_.has_due() || !hung_up_.empty() || !owing_.empty() ||
      door_.has_events()) {
    return StatusCode::kAgain;
  }
  armed_.clear();
  const auto arm = [this](UcxLane* lane) {
    if (lane == nullptr || !lane->used()) return true;
    armed_.push_back({-1, POLLIN, 0});
    return lane->arm(&armed_.back().fd).ok();
  };
  if (!arm(fabric_->tcp())) return StatusCode::kAgain;
  for (const auto& lane : fabric_->posix()) {
    if (!arm(lane.get())) return StatusCode::kAgain;
  }
  look_soon_ = true;  // a control socket or a stranger may wake the caller
  out->push_back({door_.watch().fd(), POLLIN, 0});
  // Nothing says that somebody connects to UCX's tcp, so who waits for that looks now and then.
  if (agreeing_on_tcp() > 0) {
    const itimerspec once{{}, {0, kAcceptEvery.count()}};
    (void)timerfd_settime(timer_.fd(), 0, &once, nullptr);
    out->push_back({timer_.fd(), POLLIN, 0});
  }
  out->insert(out->end(), armed_.begin(), armed_.end());
  return {};
}

}  // namespace mad
