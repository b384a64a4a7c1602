// The poll path.  What UCX brings in one go is told before it is asked for more.
#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>

#include "madlike/driver/ucx/driver.h"

namespace mad {
namespace {

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

unsigned UcxDriver::progress_shared() {
  const auto& lanes = fabric_->shared();
  const auto used = [](const auto& lane) { return lane->used(); };
  const auto full = [](const auto& lane) { return !lane->has_room(); };
  const auto first = std::find_if(lanes.begin(), lanes.end(), used);
  if (first == lanes.end() || !received_.has_room()) return 0;
  return std::any_of(first, lanes.end(), full) ? 0 : (*first)->progress();  // that of all
}

void UcxDriver::progress() {
  (void)progress_shared();
  for (const auto& lane : fabric_->posix()) {
    if (lane->used() && lane->has_room() && received_.has_room()) (void)lane->progress();
  }
  if (!owing_.empty()) answer_pulls();
  if (!going_on_.empty()) go_on();
  if (!hung_up_.empty()) end_hung_up();
}

void UcxDriver::look() {
  polls_ = 0;
  look_at_door();
  const std::size_t expected = agreeing_on_tcp();
  if (expected > 0 || fabric_->has_timers()) fabric_->tend(expected);
  if (deadline_timer_.ticked()) check_deadlines();
  end_all_due();
  fabric_->close_unused();
  look_soon_ = !unsettled_.empty() || door_.busy();
  advance_unsettled();
}

std::size_t UcxDriver::agreeing_on_tcp() const {
  return std::count_if(unsettled_.begin(), unsettled_.end(), [this](ConnectionId id) {
    const UcxConnection& connection = connections_.at(id);
    return connection.state == State::kAgreeing && connection.way.lane != nullptr &&
           connection.way.lane->transport() == UcxTransport::kTcp;
  });
}

Status UcxDriver::watch(std::vector<pollfd>* out) {
  // Nothing that a caller could sleep on tells of datagrams (ud_verbs.c, .iface_event_fd_get).
  if (fabric_->limits(UcxTransport::kUd) != nullptr) return StatusCode::kNotFound;
  if (!completions_.empty() || connections_.has_due() || !hung_up_.empty() || !owing_.empty() ||
      !going_on_.empty() || door_.has_events()) {
    return StatusCode::kAgain;
  }
  armed_.clear();
  const auto arm = [this](UcxLane* lane) {
    if (!lane->used()) return true;
    armed_.push_back({-1, POLLIN, 0});
    return lane->arm(&armed_.back().fd).ok();
  };
  for (const auto* lanes : {&fabric_->shared(), &fabric_->posix()}) {
    for (const auto& lane : *lanes) {
      if (!arm(lane.get())) return StatusCode::kAgain;
    }
  }
  // A device tells of what comes from now on; what came before is looked for.
  if (fabric_->uses_device() && progress_shared() > 0) return StatusCode::kAgain;
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
