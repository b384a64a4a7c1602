// The poll path.  What UCX brings in one go is told before it is asked for more.
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "madlike/driver/ucx/driver.h"

namespace mad {
namespace {

constexpr std::uint32_t kLookEvery = 64;  // polls
constexpr std::chrono::nanoseconds kAcceptEvery{1000000};

}  // namespace

std::size_t UcxDriver::poll(Completion* out, std::size_t capacity) {
  if (!ending_.empty()) end_all_due();
  if (looking_is_due()) look();
  if (!unsettled_.empty()) advance_unsettled();
  if (news_.empty()) progress();
  if (!ending_.empty()) end_all_due();
  if (!leaving_.empty()) forget_left();
  std::size_t count = 0;
  while (count < capacity && news_told_ < news_.size()) {
    out[count++] = std::move(news_[news_told_++]);
  }
  if (news_told_ == news_.size()) {
    news_.clear();
    news_told_ = 0;
  }
  return count;
}

void UcxDriver::progress() {
  if (!received_.has_room()) return;
  const bool nothing_came = fabric_->progress() == 0;
  if (!hung_up_.empty()) end_hung_up(nothing_came);
  if (hole_.busy() && hole_.look(door_.now())) end_shared_memory();
}

bool UcxDriver::looking_is_due() {
  ++polls_;
  if (look_soon_ || !unsettled_.empty() || door_.busy() || polls_ >= kLookEvery) return true;
  const long tick = coarse_tick();
  if (tick == last_tick_) return false;
  last_tick_ = tick;
  return true;
}

void UcxDriver::look() {
  polls_ = 0;
  look_soon_ = false;
  ready_.clear();
  arrivals_.clear();
  door_.look(&arrivals_, &ready_);
  for (Door::Event& arrival : arrivals_) on_door(arrival);
  end_all_due();
  for (const ConnectionId id : ready_) {
    UcxConnection* const connection = find(id);
    if (connection) on_control(*connection);
  }
  if (const std::size_t expected = agreeing_on_tcp()) fabric_->accept(expected);
  const long tick = coarse_tick();
  if (!unsettled_.empty() && tick != deadlines_tick_) check_deadlines();
  deadlines_tick_ = tick;
  end_all_due();
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
    return connection.state == State::kAgreeing && connection.lane != nullptr &&
           connection.lane->transport() == UcxTransport::kTcp;
  });
}

Status UcxDriver::watch(std::vector<pollfd>* out) {
  if (!news_.empty() || !ending_.empty() || !hung_up_.empty() || hole_.busy() ||
      door_.has_events()) {
    return StatusCode::kAgain;
  }
  std::array<int, kUcxTransports> lanes;
  std::size_t count = 0;
  for (const UcxTransport transport : {UcxTransport::kPosix, UcxTransport::kTcp}) {
    UcxLane* const lane = fabric_->lane(transport);
    if (lane == nullptr || !lane->used()) continue;
    if (!lane->arm(&lanes[count++]).ok()) return StatusCode::kAgain;
  }
  look_soon_ = true;  // a control socket or a stranger may wake the caller
  out->push_back({door_.watch().fd(), POLLIN, 0});
  // Nothing says that somebody connects to UCX's tcp, so who waits for that looks now and then.
  if (agreeing_on_tcp() > 0) {
    const itimerspec once{{}, {0, kAcceptEvery.count()}};
    (void)timerfd_settime(timer_.fd(), 0, &once, nullptr);
    out->push_back({timer_.fd(), POLLIN, 0});
  }
  for (std::size_t i = 0; i < count; ++i) out->push_back({lanes[i], POLLIN, 0});
  return {};
}

}  // namespace mad
