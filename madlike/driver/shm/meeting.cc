// How the two sides of a connection come by each other's memory.
//
// Each greets the other with its segment and the place of its lane in it.  Who has mapped the
// other's lane says so in its own: that is the peer's session there.  Who is so named and has
// mapped the other's lane is connected.  Both may begin at once, and neither waits for an answer to
// its letter before it goes on.
#include <algorithm>
#include <utility>

#include "madlike/driver/shm/driver.h"

namespace mad {

namespace {

// From the first greeting to the second; then always twice as long.
constexpr std::chrono::milliseconds kGreetAgain{1000}, kGreetAgainAtMost{60000};
// Letters of one look.
constexpr int kMostLetters = 64;

}  // namespace

using Reason = ShmGreeting::Reason;

void ShmDriver::greet(ShmConnection& connection) {
  clock_.tick();  // there may have been a pause
  ShmGreeting greeting;
  greeting.kind = ShmGreeting::Kind::kMeet;
  greeting.sender = own_;
  greeting.session = connection.session;
  greeting.place = static_cast<std::uint32_t>(*connection.place);
  greeting.place_bytes = kShmPlaceBytes;
  greeting.piece_bytes = kShmPieceBytes;
  const auto letter = greeting.seal(connection.peer.secret);
  const Status sent =
      postbox_.send(connection.peer.secret, letter.data(), letter.size(), segment_.fd());
  connection.greeted = sent.ok();
  connection.offered = connection.offered || sent.ok();
  if (sent.ok()) {
    connection.greet_after = std::clamp<PolledClock::Steady::duration>(
        2 * connection.greet_after, kGreetAgain, kGreetAgainAtMost);
    connection.greet_at = clock_.now() + connection.greet_after;
    return;
  }
  if (sent.again()) {  // advance_unsettled() tries again
    connection.greet_at = clock_.now() + kShmBoxFull;
    return;
  }
  if (sent.code() != StatusCode::kUnreachable) return end_soon(connection.id, sent);
  end_soon(connection.id,
           Status(StatusCode::kUnreachable,
                  "shm: no engine of process " + std::to_string(connection.peer.pid) +
                      " is to be found here: it is gone, or of another network namespace"));
}

void ShmDriver::read_letters() {
  ShmPostbox::Letter letter;
  for (int i = 0; i < kMostLetters; ++i) {
    if (!postbox_.receive(&letter)) return;
    const auto greeting = ShmGreeting::open(letter.bytes.data(), letter.size, own_.secret);
    if (!greeting) continue;  // a stranger's
    if (greeting->kind == ShmGreeting::Kind::kRefuse) {
      on_refusal(*greeting);
    } else {
      on_greeting(letter, *greeting);
    }
  }
  look_soon_ = true;
}

bool ShmDriver::may_greet(const ShmConnection& connection) const {
  return !connection.greeted && clock_.now() >= connection.greet_at;
}

bool ShmDriver::finds_full_box() {
  return std::any_of(unsettled_.begin(), unsettled_.end(),
                     [this](ConnectionId id) { return !find(id)->greeted; });
}

void ShmDriver::on_greeting(ShmPostbox::Letter& letter, const ShmGreeting& greeting) {
  if (letter.uid != getuid()) return refuse(greeting, Reason::kOtherUser);
  // Of a process that we cannot see the letter says 0, which is no sender's.
  if (static_cast<std::uint32_t>(letter.pid) != greeting.sender.pid) {
    return refuse(greeting, Reason::kOtherPids);
  }
  if (greeting.place_bytes != kShmPlaceBytes || greeting.piece_bytes != kShmPieceBytes) {
    return refuse(greeting, Reason::kOtherLayout);
  }
  if (!letter.file) return refuse(greeting, Reason::kLacksMemory);  // we have no file for it
  meet(greeting, std::move(letter.file), letter.pid);
}

void ShmDriver::meet(const ShmGreeting& greeting, ShmFile file, pid_t pid) {
  ShmConnection* const known = connections_.live(greeting.sender.bytes());
  if (known && (known->mapped || known->doomed)) {
    if (known->peer_session == greeting.session) return;
    // The peer has begun anew: what it said of the end of the earlier one stands in its lane.
    known->rung = true;
    list(*known);
    return let_wait({greeting, std::move(file), pid});
  }
  ShmConnection& connection = known ? *known : add_connection(greeting.sender);
  Status mapped = prepare(connection);
  if (mapped.ok()) mapped = map(connection, greeting, file);
  if (mapped.again()) {  // it was withdrawn
    if (!known) end_soon(connection.id, StatusCode::kClosed);
    return;
  }
  if (!mapped.ok()) {
    const bool lacks = mapped.code() == StatusCode::kNoMemory;
    refuse(greeting, lacks ? Reason::kLacksMemory : Reason::kBadMemory);
    return end_soon(connection.id, std::move(mapped));
  }
  if (connection.greeted) return wake_peer(connection);
  greet(connection);
}

Status ShmDriver::map(ShmConnection& connection, const ShmGreeting& greeting, const ShmFile& file) {
  auto mapped = ShmPeerLane::open(file.fd(), greeting.place);
  if (!mapped.ok()) return mapped.status();
  ShmLaneHead& theirs = mapped->lane();
  const bool stands = theirs.session.load(std::memory_order_acquire) == greeting.session &&
                      theirs.state.load(std::memory_order_acquire) ==
                          static_cast<std::uint32_t>(ShmLaneState::kOpen);
  if (!stands) {
    theirs.dropped_session.store(greeting.session, std::memory_order_release);
    return StatusCode::kAgain;
  }
  ShmLaneHead& ours = segment_.lane(*connection.place);
  ShmFrontPage* const page = &mapped->front();
  const std::size_t bell = greeting.place;
  connection.mapped = std::move(*mapped);
  connection.peer_session = greeting.session;
  connection.out.emplace(ShmMemory(&ours, page, bell, &connection.waker), kShmRingBytes);
  connection.in.emplace(ShmMemory(&theirs, page, bell, &connection.waker), kShmRingBytes);
  connection.process_name = {greeting.sender.pid, theirs.word_address.load(), theirs.word.load()};
  connection.we_read = reads_memory() && check_readable(connection.process_name).ok();
  const ShmReads reads = !connection.we_read ? ShmReads::kNothing
                         : reads_all()       ? ShmReads::kAll
                                             : ShmReads::kFaster;
  theirs.reads.store(static_cast<std::uint32_t>(reads), std::memory_order_relaxed);
  ours.peer_session.store(greeting.session, std::memory_order_release);
  return {};
}

// A peer that has begun anew twice is met as of the second time, and told that of the first one
// nothing is to be read: it may use that place again.
void ShmDriver::let_wait(Waiting newest) {
  const std::vector<std::byte> sender = newest.greeting.sender.bytes();
  const auto earlier = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& each) {
    return each.greeting.sender.bytes() == sender;
  });
  if (earlier == waiting_.end()) return waiting_.push_back(std::move(newest));
  const ShmGreeting& before = earlier->greeting;
  if (before.session != newest.greeting.session) {
    const auto lane = ShmPeerLane::open(earlier->file.fd(), before.place);
    if (lane.ok()) {
      lane->lane().dropped_session.store(before.session, std::memory_order_release);
    }
  }
  *earlier = std::move(newest);
}

void ShmDriver::meet_waiting() {
  std::vector<Waiting> waiting = std::move(waiting_);
  waiting_.clear();
  for (Waiting& each : waiting) meet(each.greeting, std::move(each.file), each.pid);
}

void ShmDriver::refuse(const ShmGreeting& greeting, Reason reason) {
  ShmGreeting refusal;
  refusal.kind = ShmGreeting::Kind::kRefuse;
  refusal.sender = own_;
  refusal.session = greeting.session;
  refusal.reason = reason;
  const auto letter = refusal.seal(greeting.sender.secret);
  (void)postbox_.send(greeting.sender.secret, letter.data(), letter.size());  // else it asks again
}

void ShmDriver::on_refusal(const ShmGreeting& refusal) {
  const ShmConnection* const refused = connections_.live(refusal.sender.bytes());
  if (refused && refused->session == refusal.session) end_soon(refused->id, refusal.refusal());
}

void ShmDriver::wake_peer(ShmConnection& connection) {
  ShmMemory& memory = connection.out->memory();
  ring_other_side(memory);
}

bool ShmDriver::is_met(const ShmConnection& connection) const {
  return connection.mapped && connection.mapped->lane().peer_session.load(
                                  std::memory_order_acquire) == connection.session;
}

// Of an engine that left without reading our letter, in a process that goes on, nobody else tells
// us; of one whose lane we have that does.  A refusal may be lost where files lack: we ask again,
// ever more rarely.
void ShmDriver::greet_again() {
  const PolledClock::time_point now = clock_.now();
  if (now < probe_at_) return;
  probe_at_ = now + kShmProbeEvery;
  for (const ConnectionId id : unsettled_) {
    ShmConnection& connection = *find(id);
    if (!connection.mapped && !connection.waker.is_there()) {
      end_soon(id, Status(StatusCode::kUnreachable, "shm: the engine of process " +
                                                        std::to_string(connection.peer.pid) +
                                                        " left before we were connected"));
    } else if (now >= connection.greet_at) {
      connection.greeted = false;
    }
  }
}

void ShmDriver::advance_unsettled() {
  if (!waiting_.empty()) meet_waiting();
  advancing_ = unsettled_;
  for (const ConnectionId id : advancing_) {
    ShmConnection& connection = *find(id);
    if (connection.doomed) continue;
    if (!is_met(connection)) {  // who is needs no letter of ours any more
      if (may_greet(connection)) greet(connection);
      if (connection.in) (void)end_if_over(connection);
      continue;
    }
    const auto reads = static_cast<ShmReads>(
        connection.out->memory().head().reads.load(std::memory_order_relaxed));
    connection.they_weigh = reads == ShmReads::kFaster;
    connection.they_read = reads_memory() && (connection.they_weigh || reads == ShmReads::kAll);
    connection.link = link_of(connection);
    set_state(connection, State::kConnected);
    connection.told = true;
    completions_.push(Completion::Kind::kConnected, id, nullptr, {});
    list(connection);
  }
}

}  // namespace mad
