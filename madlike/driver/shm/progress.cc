// The poll path.
//
// A poll looks at the next record of a few peers that spoke lately, who do not ring, and at one
// word that says whether somebody else rang: an idle poll reads few lines however many peers there
// are.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "madlike/driver/shm/driver.h"

namespace mad {
namespace {

// Peers that a poll looks at though they do not ring.
constexpr std::uint32_t kMostLookedAt = 4;
// Idle polls after which a peer's place among them is another's who rings.
constexpr std::uint32_t kIdle = 64;
// Polls between two looks at letters and at peers' processes, and the same while peers meet; and
// between two at the clock, whose next tick is a reason, too.
constexpr std::uint32_t kLookEvery = 4096, kLookWhileMeeting = 32;
constexpr std::uint32_t kTickEvery = 16;
constexpr int kEventsAtOnce = 32;
// Looks at the next marks of peers, in some 50 ns, and at one's, during a while.
constexpr int kLooks = 64, kLooksAtOne = 2048;

int looks_at(std::size_t peers, Driver::Look look) {
  if (look == Driver::Look::kOnce || peers == 0 || peers > kMostLookedAt) return 1;
  return look == Driver::Look::kBriefly ? kLooks : kLooksAtOne / static_cast<int>(peers);
}

}  // namespace

std::size_t ShmDriver::poll(Completion* out, std::size_t capacity) {
  end_all_due();
  if (looking_is_due()) look();
  if (segment_.front().news.load(std::memory_order_relaxed) != 0) answer_bells();
  if (!unsettled_.empty() || !waiting_.empty()) advance_unsettled();
  if (!pulling_.empty()) take_all_answers();
  std::size_t count = completions_.take(out, capacity);
  if (count > 0) return count;
  for (std::size_t i = 0; i < listed_.size() && count < capacity;) {
    ShmConnection& connection = *listed_[i];
    // What else it sent may be waited for by the time of the next look.
    if (!std::exchange(connection.served, false)) {
      count += receive(connection, out + count, capacity - count);
    }
    if (connection.listed) ++i;  // else another stands there
    if (count == capacity) take_turns(i);
  }
  if (connections_.has_due() || connections_.has_left()) {
    end_all_due();
    forget_left();
  }
  return count > 0 ? count : completions_.take(out, capacity);
}

// The first `count` of those that are listed have filled a poll: it is the others' turn, else one
// that sends faster than we receive would be the only one.
void ShmDriver::take_turns(std::size_t count) {
  const auto next = listed_.begin() + static_cast<std::ptrdiff_t>(count);
  std::rotate(listed_.begin(), next, listed_.end());
}

// Who waits for an answer asks again and again, and spends most of the time elsewhere: what comes
// then is found late.
Segment ShmDriver::next_packet(ConnectionId* connection, Look look) {
  for (int left = looks_at(listed_.size(), look); left > 0; --left) {
    for (ShmConnection* const each : listed_) {
      if (!each->in->ready()) continue;
      *connection = each->id;
      return whole_packet(*each);
    }
  }
  return {};
}

Segment ShmDriver::next_packet_of(ConnectionId connection, bool waits) {
  ShmConnection* const from = find(connection);
  if (from == nullptr || !from->listed) return {};
  for (int look = waits ? kLooksAtOne : 1; look > 0; --look) {
    if (from->in->ready()) return whole_packet(*from);
  }
  return {};
}

// The next record of a connection has arrived.
Segment ShmDriver::whole_packet(ShmConnection& connection) {
  const auto finds_whole = [&] {
    return connection.in->finds_whole(&next_mark_) ||
           (peek(connection, &next_mark_) == ShmReader::Found::kPacket && next_mark_.left == 0);
  };
  const bool whole =
      connection.state == State::kConnected && !connection.in_pieces && finds_whole();
  connection.served = connection.served && whole;
  if (!whole) return {};
  next_ = connection.id;
  return {connection.in->memory().at(connection.in->content()), next_mark_.bytes};
}

void ShmDriver::drop_packet() {
  ShmConnection& connection = *find(next_);
  ShmReader& in = *connection.in;
  in.advance(next_mark_);
  if (connection.kept.empty()) in.give_back(in.position());
  connection.idle = 0;
  connection.served = true;
}

// The writer may wait for the memory that a wrap skips.
ShmReader::Found ShmDriver::peek(ShmConnection& connection, RingMark* mark) {
  ShmReader& in = *connection.in;
  const std::uint64_t begin = in.position();
  const auto found = in.peek(mark);
  if (in.position() != begin && connection.kept.empty()) in.give_back(in.position());
  return found;
}

// Takes what one peer has sent, a few packets at most so that others have their turn.
std::size_t ShmDriver::receive(ShmConnection& connection, Completion* out, std::size_t capacity) {
  ShmReader& in = *connection.in;
  std::size_t count = 0;
  while (count < capacity) {
    RingMark mark;
    const auto found = peek(connection, &mark);
    const bool record = found == ShmReader::Found::kPacket || found == ShmReader::Found::kPull;
    if (record && connection.state == State::kClosing) {  // who left wants nothing any more
      in.advance(mark);
      if (connection.kept.empty()) in.give_back(in.position());
      return count;
    }
    if (found == ShmReader::Found::kPull) {
      Status taken = take_pull(connection, {in.memory().at(in.content()), mark.bytes});
      in.advance(mark);
      if (connection.kept.empty()) in.give_back(in.position());
      connection.idle = 0;
      if (taken.ok()) return count;  // others have their turn
      unlist(connection);
      end_soon(connection.id, std::move(taken));
      return count;
    }
    if (found == ShmReader::Found::kPacket) {
      Completion& received = out[count++];
      received.kind = Completion::Kind::kReceived;
      received.connection = connection.id;
      received.context = nullptr;
      received.bytes = {in.memory().at(in.content()), mark.bytes};
      received.rest = mark.left;
      connection.in_pieces = mark.left > 0;
      received.buffer = connection.kept.add(kept_, &connection, in.position());
      if (!received.status.ok()) received.status = Status();
      in.advance(mark);
      continue;
    }
    if (found == ShmReader::Found::kCorrupt) {
      unlist(connection);
      end_soon(connection.id,
               Status(StatusCode::kProtocol, "shm: process " + std::to_string(connection.peer.pid) +
                                                 " wrote what no engine of this version writes"));
      return count;
    }
    if (count > 0) break;
    ++connection.idle;
    const bool over = (connection.dead || connection.rung) && end_if_over(connection);
    if (over || !connection.looks) unlist(connection);
    return 0;
  }
  if (count > 0) connection.idle = 0;
  return count;
}

void ShmDriver::release(void* buffer) {
  auto* const kept = static_cast<ShmKept*>(buffer);
  ShmConnection& connection = *kept->connection;
  kept->released = true;
  connection.kept.drop_released(kept_);
  if (connection.state == State::kGone) return drop_lane(connection);
  ShmReader& in = *connection.in;
  in.give_back(connection.kept.empty() ? in.position() : connection.kept.oldest().begin);
  if (connection.owes_ring) {
    connection.owes_ring = false;
    ring_other_side(in.memory());
  }
}

// What peers rang for: a record, an end, or that they want room.
void ShmDriver::answer_bells() {
  ShmFrontPage& page = segment_.front();
  page.news.exchange(0, std::memory_order_acq_rel);
  for (std::size_t place = 0; place < bells_.size(); ++place) {
    if (page.bells[place].load(std::memory_order_relaxed) == 0) continue;
    page.bells[place].exchange(0, std::memory_order_acq_rel);
    ShmConnection* const connection = bells_[place];
    if (connection == nullptr || !connection->in) continue;
    connection->rung = true;
    answer_wish(*connection);
    list(*connection);
  }
  shm_fence();
}

// The peer waits for room: what is given back it hears of, now or with the next release().
void ShmDriver::answer_wish(ShmConnection& connection) {
  ShmMemory& memory = connection.in->memory();
  if (!memory.take_wants()) return;
  if (connection.kept.empty()) {
    ring_other_side(memory);
  } else {
    connection.owes_ring = true;
  }
}

// Every poll looks at it from now on, and if there is a place for that its peer need not ring. What
// a peer writes before it is met stays where it is: advance_unsettled() looks at those.
void ShmDriver::list(ShmConnection& connection) {
  const bool meets = connection.state == State::kMeeting;
  if (meets || connection.doomed || !connection.in || connection.state == State::kGone) return;
  if (!connection.listed) {
    connection.listed = true;
    connection.idle = 0;
    listed_.push_back(&connection);
  }
  if (connection.looks) return;
  if (looked_at_ == kMostLookedAt) {
    const auto idle = std::find_if(listed_.begin(), listed_.end(), [](const ShmConnection* each) {
      return each->looks && each->idle >= kIdle;
    });
    if (idle == listed_.end()) return;
    (*idle)->looks = false;  // it is unlisted when it is found empty once more
    --looked_at_;
    (void)stop_looking(*(*idle)->in);
  }
  connection.looks = true;
  ++looked_at_;
  connection.in->memory().store_attention(Attention::kLooks);
}

void ShmDriver::unlist(ShmConnection& connection) {
  if (!connection.listed) return;
  connection.listed = false;
  listed_.erase(std::find(listed_.begin(), listed_.end(), &connection));
  if (!connection.looks) return;
  connection.looks = false;
  --looked_at_;
  connection.in->memory().store_attention(Attention::kBell);
}

bool ShmDriver::looking_is_due() {
  ++polls_;
  if (look_soon_) return true;
  if (polls_ % kTickEvery != 0) return false;
  if (polls_ % (unsettled_.empty() ? kLookEvery : kLookWhileMeeting) == 0) return true;
  return look_timer_.ticked();
}

void ShmDriver::look() {
  look_soon_ = false;
  clock_.tick();
  if (std::exchange(asleep_, false)) {
    segment_.front().asleep.store(0, std::memory_order_relaxed);
  }
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = epoll_wait(watch_.fd(), events.data(), kEventsAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t who = events[static_cast<std::size_t>(i)].data.u64;
    if (who == kShmLetters) {
      read_letters();
      continue;
    }
    if (who == kShmWakes) {
      postbox_.take_wakes();
      continue;
    }
    if (who == kShmTimer) {
      std::uint64_t times = 0;
      (void)!read(timer_.fd(), &times, sizeof(times));
      continue;
    }
    ShmConnection* const connection = find(static_cast<ConnectionId>(who));
    if (!connection || !connection->process) continue;
    unwatch_process(*connection);
    connection->dead = true;
    if (connection->in) {
      list(*connection);
    } else {
      end_soon(connection->id, Status(StatusCode::kUnreachable,
                                      "shm: process " + std::to_string(connection->peer.pid) +
                                          " ended before we were connected"));
    }
  }
  if (count == kEventsAtOnce) look_soon_ = true;
  if (!leaving_.empty()) return_places();
  if (!grown_.empty()) shrink_idle();
  if (!unsettled_.empty()) greet_again();
  if (!pulling_.empty()) check_deadlines();
  end_all_due();
}

bool ShmDriver::misses_something() {
  if (segment_.front().news.load(std::memory_order_relaxed) != 0 || misses_answer()) return true;
  const auto has_some = [](ShmConnection* each) {
    return each->in->ready() || each->dead || each->rung;
  };
  if (std::any_of(listed_.begin(), listed_.end(), has_some)) return true;
  return std::any_of(unsettled_.begin(), unsettled_.end(), [this](ConnectionId id) {
    const ShmConnection& connection = *find(id);
    return may_greet(connection) || is_met(connection);
  });
}

Status ShmDriver::watch(std::vector<pollfd>* out) {
  if (!completions_.empty() || connections_.has_due() || !waiting_.empty()) {
    return StatusCode::kAgain;
  }
  look_soon_ = asleep_ = true;
  struct OwnPage {
    void store_asleep(bool asleep) { word.store(asleep ? 1 : 0, std::memory_order_relaxed); }
    void fence() { shm_fence(); }
    std::atomic<std::uint32_t>& word;
  } page{segment_.front().asleep};
  if (!fall_asleep(page, [this] { return misses_something(); })) return StatusCode::kAgain;
  if (!unsettled_.empty()) {
    const std::chrono::nanoseconds after = finds_full_box() ? kShmBoxFull : kShmProbeEvery;
    const itimerspec once{{}, {0, after.count()}};
    (void)timerfd_settime(timer_.fd(), 0, &once, nullptr);
  }
  out->push_back({watch_.fd(), POLLIN, 0});
  return {};
}

}  // namespace mad
