#include "madlike/message/progress.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace mad {
namespace {

constexpr int kPollsPerDriver = 4;
// Of so many turns in a row at least one polls all fabrics.
constexpr std::uint32_t kTurnsWithoutAll = 16;
// What peers offer is read at once, but from one place of a turn not for longer than this.
constexpr std::chrono::microseconds kMostReading{200};
// Turns that a driver which refused a post has to say that the connection ended, after what
// arrived before; drivers may look for that rarely.
constexpr std::uint32_t kRefusedTurns = 20000;

Status gone_by(const Endpoint& endpoint, const Status& reported) {
  if (endpoint.state.said_goodbye()) return {StatusCode::kClosed, "the connection was closed"};
  if (reported.code() == StatusCode::kUnreachable) return after_detours(endpoint, reported);
  if (!endpoint.state.heard_hello() && may_pass(reported.code())) {
    return after_detours(endpoint,
                         {StatusCode::kUnreachable,
                          "it could not be connected in time: " + std::string(reported.message())});
  }
  const std::string why = reported.ok() ? "without a reason" : std::string(reported.message());
  return {StatusCode::kPeerFailed, "the peer's connection ended without goodbye: " + why};
}

// What is sent meanwhile leaves at the end of the turn at the latest.
class Arriving {
 public:
  explicit Arriving(Core& core) : core_(core) { core_.arriving = true; }
  ~Arriving() { core_.arriving = false; }
  Arriving(const Arriving&) = delete;
  Arriving& operator=(const Arriving&) = delete;

 private:
  Core& core_;
};

// The packet that a driver handed out is dropped, whatever happens to it.
class Dropped {
 public:
  explicit Dropped(Driver& driver) : driver_(driver) {}
  ~Dropped() { driver_.drop_packet(); }
  Dropped(const Dropped&) = delete;
  Dropped& operator=(const Dropped&) = delete;

 private:
  Driver& driver_;
};

}  // namespace

bool Progress::holds_collected() const {
  return std::any_of(core_.active.begin(), core_.active.end(),
                     [](const Endpoint* endpoint) { return endpoint->queue.has_collected(); });
}

std::size_t Progress::take_arrivals() {
  const Arriving arriving(core_);
  const std::size_t handled = poll_fabrics();
  if (!core_.finished.empty()) deliver_sent();
  return handled;
}

std::size_t Progress::turn() {
  ++core_.turn;
  const std::size_t handled = take_arrivals();
  more_to_post_ = false;
  if (!core_.active.empty()) pump_active();
  if (!core_.refused.empty()) check_refused();
  if (!core_.unconnected.empty()) reconnects_.advance();
  if (!core_.ending.empty()) carry_out_ends();
  if (!core_.finished.empty()) deliver_sent();
  if (!gone_.empty()) tell_gone();
  peers_.sweep();
  return handled;
}

// Those behind one that has something, though not a full batch, are left out, a few times at most.
// So is the rest of one that had what somebody waits for: a message that nobody waits for yet would
// be kept, while its receive often comes before the next turn, from who has just got the other one.
std::size_t Progress::poll_fabrics() {
  std::size_t handled = 0;
  const std::size_t fabrics = peers_.fabrics();
  for (std::size_t fabric = 0; fabric < fabrics; ++fabric) {
    bool waited_for = false;
    handled += take_in_place(fabric, &waited_for);
    if (waited_for && ++turns_without_all_ < kTurnsWithoutAll) return handled;
    const std::size_t count = peers_.driver(fabric).poll(batch_.data(), batch_.size());
    if (count == 0) continue;
    handled += handle_all(fabric, count);
    const bool all = fabric + 1 == fabrics || count == batch_.size();
    if (!all && ++turns_without_all_ < kTurnsWithoutAll) return handled;
  }
  turns_without_all_ = 0;
  return handled;
}

std::size_t Progress::take_in_place(std::size_t fabric, bool* waited_for) {
  Driver& driver = peers_.driver(fabric);
  ConnectionId connection = 0;
  const auto reading = core_.reading;
  for (std::size_t taken = 0;; ++taken) {
    if (core_.reading - reading > kMostReading) {
      *waited_for = false;  // others have their turn
      return taken;
    }
    const bool waits = taken == 0 && core_.active.empty();
    const Segment packet =
        driver.next_packet(&connection, waits ? Driver::Look::kBriefly : Driver::Look::kOnce);
    if (packet.size == 0) return taken;
    Endpoint* const from = peers_.of_connection(fabric, connection);
    if (taken == kBatch || from == nullptr || !from->state.live()) return taken;
    if (receiver_.take(*from, packet)) {
      driver.drop_packet();
      *waited_for = true;
    } else if (taken > 0 && is_tagged(packet)) {
      return taken;
    } else {
      const Dropped dropped(driver);
      receiver_.packet(*from, packet);
    }
  }
}

// Others get their turn all the same, and so does what waits to leave.
bool Progress::takes_single() const {
  return turns_without_all_ < kTurnsWithoutAll && core_.active.empty();
}

bool Progress::take_single(Driver& driver, Endpoint& from, Segment packet) {
  if (!receiver_.take(from, packet)) return false;
  driver.drop_packet();
  ++turns_without_all_;
  return true;
}

bool Progress::take_from(Endpoint& from, bool waits) {
  if (!takes_single() || !from.state.live() || !from.state.has_connection()) return false;
  const Segment packet = from.driver->next_packet_of(from.state.connection(), waits);
  return packet.size > 0 && take_single(*from.driver, from, packet);
}

// What comes by a fabric is not to wait until another one was looked at for long.
Driver::Look Progress::look_of_any() const {
  std::size_t speak = 0;
  for (std::size_t fabric = 0; fabric < peers_.fabrics(); ++fabric) {
    if (core_.counters.drivers[fabric].packets_received > 0) ++speak;
  }
  return speak > 1 ? Driver::Look::kBriefly : Driver::Look::kAWhile;
}

bool Progress::take_from_any(bool waits) {
  if (!takes_single()) return false;
  const Driver::Look look = waits ? look_of_any() : Driver::Look::kOnce;
  for (std::size_t fabric = 0; fabric < peers_.fabrics(); ++fabric) {
    Driver& driver = peers_.driver(fabric);
    ConnectionId connection = 0;
    const Segment packet = driver.next_packet(&connection, look);
    if (packet.size == 0) continue;
    Endpoint* const from = peers_.of_connection(fabric, connection);
    return from != nullptr && from->state.live() && take_single(driver, *from, packet);
  }
  return false;
}

// A driver that filled the batch may have more.
std::size_t Progress::handle_all(std::size_t fabric, std::size_t count) {
  std::size_t handled = 0;
  for (int polls = 1;; ++polls) {
    for (std::size_t i = 0; i < count; ++i) {
      handle(fabric, batch_[i]);
      if (!batch_[i].status.ok()) batch_[i].status = Status();
    }
    handled += count;
    if (count < batch_.size() || polls == kPollsPerDriver) return handled;
    count = peers_.driver(fabric).poll(batch_.data(), batch_.size());
  }
}

void Progress::handle(std::size_t fabric, const Completion& completion) {
  switch (completion.kind) {
    case Completion::Kind::kSent:
    case Completion::Kind::kWritten: {
      auto* const packet = static_cast<OutgoingPacket*>(completion.context);
      sender_.posted(*packet, completion.status);
      return;
    }
    case Completion::Kind::kReceived: {
      Endpoint& from = peers_.welcome(fabric, completion.connection);
      if (from.state.live()) return receiver_.packet(from, completion);
      if (completion.buffer != nullptr) from.driver->release(completion.buffer);
      return;
    }
    case Completion::Kind::kConnected:
      (void)peers_.welcome(fabric, completion.connection);
      return;
    case Completion::Kind::kDisconnected: {
      Endpoint* const endpoint = peers_.of_connection(fabric, completion.connection);
      if (endpoint != nullptr && !peers_.detour(*endpoint, completion.status) &&
          !reconnects_.later(*endpoint, completion.status)) {
        core_.end(*endpoint, gone_by(*endpoint, completion.status));
      }
      return;
    }
  }
}

// Starts with another endpoint each time, so that all get their share of the packets.
void Progress::pump_active() {
  auto& active = core_.active;
  const std::size_t count = active.size();
  first_active_ = (first_active_ + 1) % count;
  for (std::size_t i = 0; i < count; ++i) {
    more_to_post_ |= sender_.pump(*active[(first_active_ + i) % count]);
  }
  const auto rested = [this](Endpoint* endpoint) {
    if (sender_.has_work(*endpoint)) return false;
    endpoint->active = false;
    return true;
  };
  active.erase(std::remove_if(active.begin(), active.end(), rested), active.end());
}

void Progress::deliver_sent() {
  while (!core_.finished.empty()) {
    OutgoingMessage& message = *core_.finished.pop();
    auto& state = state_of(message);
    const bool failed = state.phase == OutgoingPhase::kFailed;
    const Status status = failed ? state.endpoint->state.why() : Status();
    state.phase = OutgoingPhase::kNone;
    --core_.messages;
    core_.events.on_sent(message, status);
  }
}

// A driver that refuses posts says kDisconnected soon, after what arrived before.  One that does
// not is not waited for.
void Progress::check_refused() {
  const auto settled = [this](Endpoint* endpoint) {
    if (!endpoint->state.live()) return true;
    if (endpoint->state.count_refused_turn() < kRefusedTurns) return false;
    core_.end(*endpoint, gone_by(*endpoint, endpoint->state.why()));
    return true;
  };
  auto& refused = core_.refused;
  refused.erase(std::remove_if(refused.begin(), refused.end(), settled), refused.end());
}

void Progress::carry_out_ends() {
  for (std::size_t i = 0; i < core_.ending.size(); ++i) {  // callbacks may add to it
    Endpoint& endpoint = *core_.ending[i];
    endpoint.state.set_gone();
    auto& unconnected = core_.unconnected;
    unconnected.erase(std::remove(unconnected.begin(), unconnected.end(), &endpoint),
                      unconnected.end());
    peers_.forget(endpoint);
    sender_.abandon(endpoint);
    gone_.push_back(&endpoint);
    // First: the driver sees which windows still stand, and lets no write go on in their memory,
    // which is the user's again afterwards.
    if (endpoint.state.has_connection()) endpoint.driver->disconnect(endpoint.state.connection());
    receiver_.abandon(endpoint);
  }
  core_.ending.clear();
}

// Not before the driver has given back all memory of its messages.
void Progress::tell_gone() {
  for (std::size_t i = 0; i < gone_.size(); ++i) {
    Endpoint& endpoint = *gone_[i];
    if (endpoint.packets.of_messages > 0 || !core_.finished.empty()) continue;
    endpoint.state.set_told_gone();
    core_.events.on_peer_gone(endpoint, endpoint.state.why());
  }
  const auto told = [](Endpoint* endpoint) { return endpoint->state.told_gone(); };
  gone_.erase(std::remove_if(gone_.begin(), gone_.end(), told), gone_.end());
}

}  // namespace mad
