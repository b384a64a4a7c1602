#include "madlike/driver/door/door.h"

#include <errno.h>
#include <sodium.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "madlike/base/say.h"
#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

// Strangers who may stand at the door at once; more wait in the system's queue.
constexpr std::size_t kMostStrangers = 256;
constexpr int kAcceptedAtOnce = 64;
// Between two tries to accept when there is no place or no file for more.
constexpr std::chrono::milliseconds kAcceptAgain{20};
// After a crossing refusal the peer's request normally comes at once.
constexpr std::chrono::milliseconds kAskAgain{50};
// Looks, of less than a microsecond each, that who has just moved may make its next move in.
// Afterwards nobody hurries for it: silent strangers and busy engines cost no polls.
constexpr std::uint32_t kEagerLooks = 2000;

}  // namespace

Status host_silent(const DoorAddress& peer, std::chrono::milliseconds timeout) {
  return {StatusCode::kPeerFailed, "the host of " + to_text(peer.socket) +
                                       " answers nothing since " + std::to_string(timeout.count()) +
                                       " ms (silence timeout)"};
}

Door::Door(const DoorName& name, const DoorOptions& options, TcpSocket listener,
           std::vector<std::byte> socket_address, TcpWatch watch)
    : name_(name),
      options_(options),
      own_{std::move(socket_address), options.secret ? *options.secret : random_secret()},
      address_(own_.bytes()),
      watch_(std::move(watch)),
      listener_(std::move(listener)) {}

Result<Door> Door::open(const DoorName& name, const DoorOptions& options) {
  if (sodium_init() < 0) return Status(StatusCode::kInternal, "libsodium cannot be used here");
  Result<std::vector<std::byte>> address = listening_address(options.interface);
  if (!address.ok()) return address.status();
  Result<TcpSocket> listener = tcp_listen(&*address);
  if (!listener.ok()) return listener.status();
  Result<TcpWatch> watch = TcpWatch::open();
  if (!watch.ok()) return watch.status();
  if (!watch->add(*listener, TcpWatch::Role::kListener, 0)) {
    return tcp_status(StatusCode::kNoMemory, "watching sockets", errno);
  }
  return Door(name, options, std::move(*listener), std::move(*address), std::move(*watch));
}

Result<DoorAddress> Door::parse(const std::byte* address, std::size_t size) const {
  Result<DoorAddress> peer = DoorAddress::parse(address, size);
  if (!peer.ok()) return peer;
  if (peer->socket.size() != own_.socket.size()) {
    return Status(
        StatusCode::kInvalidArgument,
        to_text(peer->socket) + " is of another address family than " + to_text(own_.socket));
  }
  if (peer->bytes() == address_) {
    return Status(StatusCode::kInvalidArgument,
                  "an engine does not connect to itself over " + name_.fabric);
  }
  return peer;
}

void Door::forget(const std::vector<std::byte>& address) {
  inside_.erase(address);
  const auto call = find_call(address);
  if (call != calls_.end()) drop(call);
  drop_events(address);
}

void Door::close() {
  listener_.close();
  accept_at_.reset();
  strangers_.clear();
}

void Door::look(std::vector<Event>* events, std::vector<std::uint32_t>* ready) {
  ready_.clear();
  watch_.look(&ready_);
  if (eager_looks_ > 0) --eager_looks_;
  for (const TcpWatch::Ready& each : ready_) {
    switch (each.role) {
      case TcpWatch::Role::kListener:
        accept_strangers();
        break;
      case TcpWatch::Role::kStranger:
        on_stranger(each.id);
        break;
      case TcpWatch::Role::kCall:
        on_call(each.id);
        break;
      case TcpWatch::Role::kConnection:
        ready->push_back(each.id);
        break;
    }
  }
  if (deadline_timer_.ticked()) check_deadlines();
  std::move(events_.begin(), events_.end(), std::back_inserter(*events));
  events_.clear();
}

void Door::check_deadlines() {
  const PolledClock::time_point now = this->now();
  for (auto next = calls_.begin(); next != calls_.end();) {
    const auto [id, call] = std::tie(next->first, next->second);
    ++next;  // the call may fail
    if (now < call.deadline) continue;
    switch (call.state) {
      case Call::State::kDialing:
        fail(id, Status(StatusCode::kAgain, to_text(call.peer.socket) + " does not answer"));
        break;
      case Call::State::kAwaiting:
        dial(id, call);
        break;
      case Call::State::kAsking:
      case Call::State::kAnswering:  // its host answered, its engine may be busy
        call.deadline = now + Silence::look_every(options_.silence_timeout);
        if (call.silence.lasts(call.socket.fd(), now, options_.silence_timeout)) {
          call_broke(id, call);
        }
        break;
    }
  }
  if (accept_at_ && now >= *accept_at_) {
    accept_at_.reset();
    watch_.change(listener_.fd(), TcpWatch::Role::kListener, 0);
  }
  for (auto each = strangers_.begin(); each != strangers_.end();) {
    each = now >= each->second.deadline ? strangers_.erase(each) : std::next(each);
  }
}

// Who calls.

Door::Calls::iterator Door::find_call(const std::vector<std::byte>& address) {
  const auto called = called_.find(address);
  return called == called_.end() ? calls_.end() : calls_.find(called->second);
}

void Door::drop(Calls::iterator call) {
  called_.erase(call->second.address);
  calls_.erase(call);
}

void Door::drop_events(const std::vector<std::byte>& address) {
  const auto of_it = [&address](const Event& event) { return event.peer.bytes() == address; };
  events_.erase(std::remove_if(events_.begin(), events_.end(), of_it), events_.end());
}

void Door::call(const DoorAddress& peer) {
  eager_looks_ = kEagerLooks;
  const std::uint32_t id = next_call_++;
  Call& call = calls_[id];
  call.peer = peer;
  call.address = peer.bytes();
  called_[call.address] = id;
  dial(id, call);
}

void Door::fail(std::uint32_t id, Status why) {
  const auto call = calls_.find(id);
  events_.push_back({call->second.peer, TcpSocket(), std::move(why)});
  drop(call);
}

// Who comes in is not told of as one who could not be called.
void Door::enter(const DoorAddress& peer, TcpSocket socket) {
  const std::vector<std::byte> address = peer.bytes();
  drop_events(address);
  inside_.insert(address);
  events_.push_back({peer, std::move(socket), {}});
}

void Door::dial(std::uint32_t id, Call& call) {
  call.state = Call::State::kDialing;
  call.deadline = now() + options_.connect_timeout;
  Result<TcpSocket> socket = tcp_dial(call.peer.socket);
  if (!socket.ok()) return fail(id, socket.status());
  call.socket = std::move(*socket);
  if (!watch_.add(call.socket, TcpWatch::Role::kCall, id, true)) {
    fail(id, tcp_dial_status("watching a socket", errno));
  }
}

void Door::on_call(std::uint32_t id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  eager_looks_ = kEagerLooks;
  Call& call = found->second;
  if (call.state == Call::State::kDialing) return on_dialed(id, call);
  switch (call.reader.read(call.socket.fd())) {
    case DoorReader::Outcome::kWaiting:
      return;
    case DoorReader::Outcome::kEnded:
      return call_broke(id, call);
    case DoorReader::Outcome::kComplete:
      break;
  }
  if (call.state == Call::State::kAsking) {
    on_challenge(id, call);
  } else {
    on_verdict(id, call);
  }
}

void Door::on_dialed(std::uint32_t id, Call& call) {
  const int fd = call.socket.fd();
  const int error = tcp_dialed(fd);
  if (error != 0) {
    return fail(id, tcp_dial_status("connecting to " + to_text(call.peer.socket), error));
  }
  tcp_configure(fd, options_.silence_timeout);
  call.nonce = random_nonce();
  const auto request = DoorHello{name_.magic, DoorHello::Kind::kRequest, call.nonce}.pack();
  watch_.change(fd, TcpWatch::Role::kCall, id);
  call.state = Call::State::kAsking;
  call.deadline = now() + Silence::look_every(options_.silence_timeout);
  call.reader.expect(DoorHello::kBytes);
  if (!tcp_send(fd, request.data(), request.size())) call_broke(id, call);
}

void Door::on_challenge(std::uint32_t id, Call& call) {
  const auto nonce =
      DoorHello::parse(call.reader.bytes(), name_.magic, DoorHello::Kind::kChallenge);
  if (!nonce) {
    return fail(id, Status(StatusCode::kVersion, to_text(call.peer.socket) + " is no " +
                                                     name_.fabric + " engine of this version"));
  }
  call.key = session_key(call.peer.secret, call.nonce, *nonce);
  const auto answer = DoorAnswer{own_}.seal(call.key);
  call.state = Call::State::kAnswering;
  call.reader.expect(DoorVerdict::kBytes);
  if (!tcp_send(call.socket.fd(), answer.data(), answer.size())) call_broke(id, call);
}

void Door::ask_again_soon(Call& call) {
  call.socket.close();
  call.state = Call::State::kAwaiting;
  call.deadline = now() + kAskAgain;
}

void Door::on_verdict(std::uint32_t id, Call& call) {
  const auto verdict = DoorVerdict::open(call.reader.bytes(), call.key);
  if (!verdict) {
    return fail(id, Status(StatusCode::kUnreachable,
                           to_text(call.peer.socket) +
                               " is another engine than the one whose address was given"));
  }
  if (verdict->kind == DoorVerdict::Kind::kCrossing) return ask_again_soon(call);
  enter(call.peer, std::move(call.socket));
  drop(calls_.find(id));
}

// The peer may have given up on us, who were not polled, or have died: who calls again learns it.
void Door::call_broke(std::uint32_t id, Call& call) {
  fail(id, Status(StatusCode::kAgain,
                  to_text(call.peer.socket) + " ended the connection before it stood"));
}

// Who is called.

void Door::accept_strangers() {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    if (strangers_.size() == kMostStrangers && !make_room()) return accept_later();
    int error = 0;
    TcpSocket socket = tcp_accept(listener_.fd(), &error);
    if (!socket && is_lack(error)) {
      if (!std::exchange(said_lack_, true)) {
        say(name_.fabric,
            std::string(tcp_dial_status("peers who connect have to wait", error).message()));
      }
      return accept_later();
    }
    if (!socket) return;
    const std::uint32_t id = next_stranger_++;
    Stranger& stranger = strangers_[id];
    stranger.socket = std::move(socket);
    stranger.came = now();
    stranger.deadline = stranger.came + options_.stranger_timeout;
    stranger.reader.expect(DoorHello::kBytes);
    tcp_configure(stranger.socket.fd(), options_.silence_timeout);
    if (watch_.add(stranger.socket, TcpWatch::Role::kStranger, id)) {
      on_stranger(id);  // most have said something already
    } else {
      strangers_.erase(id);
    }
  }
}

// The oldest goes if it had its time.
bool Door::make_room() {
  if (now() - strangers_.begin()->second.came < options_.stranger_grace) return false;
  strangers_.erase(strangers_.begin());
  return true;
}

void Door::accept_later() {
  watch_.pause(listener_.fd());
  accept_at_ = now() + kAcceptAgain;
}

void Door::on_stranger(std::uint32_t id) {
  const auto found = strangers_.find(id);
  if (found == strangers_.end()) return;
  eager_looks_ = kEagerLooks;
  Stranger& stranger = found->second;
  const auto outcome = stranger.reader.read(stranger.socket.fd());
  if (outcome == DoorReader::Outcome::kWaiting) return;
  const bool complete = outcome == DoorReader::Outcome::kComplete;
  if (complete && stranger.state == Stranger::State::kRequesting && challenge(stranger)) return;
  if (complete && stranger.state == Stranger::State::kAnswering) admit(stranger);
  strangers_.erase(id);  // with its socket, unless that went in
}

bool Door::challenge(Stranger& stranger) {
  const auto nonce =
      DoorHello::parse(stranger.reader.bytes(), name_.magic, DoorHello::Kind::kRequest);
  const DoorHello own{name_.magic, DoorHello::Kind::kChallenge, random_nonce()};
  const auto bytes = own.pack();
  if (!nonce) {  // an engine of another fabric or version learns what we are
    (void)tcp_send(stranger.socket.fd(), bytes.data(), bytes.size());
    return false;
  }
  stranger.key = session_key(own_.secret, *nonce, own.nonce);
  stranger.state = Stranger::State::kAnswering;
  stranger.reader.expect(DoorAnswer::kBytes);
  stranger.deadline = now() + options_.stranger_timeout;
  return tcp_send(stranger.socket.fd(), bytes.data(), bytes.size());
}

// Whoever answers rightly is an engine that was told our address.
void Door::admit(Stranger& stranger) {
  auto answer = DoorAnswer::open(stranger.reader.bytes(), stranger.key);
  if (!answer) {
    // It cannot open this, and so learns that we are not who it was told of.
    const auto refusal = DoorVerdict{DoorVerdict::Kind::kCrossing}.seal(stranger.key);
    (void)tcp_send(stranger.socket.fd(), refusal.data(), refusal.size());
    return;
  }
  const std::vector<std::byte> address = answer->address.bytes();
  if (address == address_) return;
  const auto call = find_call(address);
  // A connection that stands is used to its end, also when the peer has left or lost it and asks
  // anew: it asks again.
  const bool ours_stands = inside_.count(address) > 0;
  const bool ours_is_to_stand =
      call != calls_.end() && call->second.state != Call::State::kAwaiting && address_ < address;
  const bool crossing = ours_stands || ours_is_to_stand;
  const auto verdict =
      DoorVerdict{crossing ? DoorVerdict::Kind::kCrossing : DoorVerdict::Kind::kAccepted}.seal(
          stranger.key);
  const bool sent = tcp_send(stranger.socket.fd(), verdict.data(), verdict.size());
  if (crossing || !sent) return;  // a call of ours goes on
  if (call != calls_.end()) drop(call);
  enter(answer->address, std::move(stranger.socket));
}

}  // namespace mad
