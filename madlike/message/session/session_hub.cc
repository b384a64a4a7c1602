#include "madlike/message/session/session_hub.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "madlike/base/sentence.h"

namespace mad {
namespace {

// The number of a message that is known only from a chunk nobody can read.
constexpr std::uint32_t kUnreadable = 0;

}  // namespace

PackingSession& SessionHub::begin_packing(Endpoint& to, bool to_self) {
  if (++last_number_ == kUnreadable) ++last_number_;
  const std::uint32_t number = last_number_;
  std::function<void()> give_up;
  if (to_self) {
    give_up = [this, &to, number] { refuse(to, number); };
    greet(to);
  }
  auto session = std::make_unique<PackingSession>(waiter_, tuning_, to, number, std::move(give_up));
  PackingSession& reference = *session;
  packing_.emplace(&reference, std::move(session));
  return reference;
}

// Before the first exchange with a peer there is no credit, every message must be accepted to
// leave, and what we send to ourselves cannot be accepted meanwhile.
void SessionHub::greet(Endpoint& self) {
  constexpr int kRounds = 64;  // of which two or three are needed
  if (greeted_self_) return;
  greeted_self_ = true;
  if (waiter_.messenger().touch(self).error()) return;  // the packing calls will say so
  for (int round = 0; round < kRounds; ++round) (void)waiter_.messenger().progress();
}

Status SessionHub::end(PackingSession& session) {
  Status status = session.end();
  packing_.erase(&session);
  return status;
}

UnpackingSession* SessionHub::begin_unpacking(int timeout_ms) {
  Waiter::Deadline deadline;
  if (timeout_ms >= 0) {
    deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  }
  // Even with no time at all, what is here already is looked at.
  if (waiting_.empty()) (void)waiter_.messenger().progress();
  if (!waiter_.wait([this] { return !waiting_.empty(); }, deadline)) return nullptr;
  // All memory is there before anything changes.
  decltype(unpacking_) begun;
  auto& session = begun[waiting_.front().get()];
  session = std::make_unique<UnpackingSession>(waiter_, std::move(waiting_.front()));
  waiting_.pop_front();
  UnpackingSession* const out = session.get();
  unpacking_.merge(begun);
  return out;
}

Status SessionHub::end(UnpackingSession& session) {
  Status status = session.end();
  // Chunks that come later find no session and are discarded.
  const InboundMessage& message = session.message();
  const auto found = incomplete_.find({&message.from(), message.number()});
  if (found != incomplete_.end() && found->second == &message) incomplete_.erase(found);
  unpacking_.erase(&message);
  return status;
}

InboundMessage& SessionHub::announce(Endpoint& from, std::uint32_t number) {
  waiting_.push_back(std::make_unique<InboundMessage>(waiter_.messenger(), from, number));
  return *waiting_.back();
}

// Its first chunk has come.
InboundMessage& SessionHub::begin(const Key& key, Endpoint& from) {
  decltype(incomplete_) begun;
  InboundMessage*& message = begun[key];
  message = &announce(from, key.second);
  InboundMessage& out = *message;
  incomplete_.merge(begun);
  return out;
}

// Whoever unpacks the message may go on.
void SessionHub::advance(const InboundMessage& message) {
  const auto found = unpacking_.find(&message);
  if (found != unpacking_.end()) found->second->advance();
}

void SessionHub::on_message(Endpoint& from, Segment header, std::uint64_t payload_bytes,
                            IncomingMessage* message) {
  const Result<ChunkHeader> chunk = ChunkHeader::decode(header, payload_bytes);
  if (!chunk.ok()) {
    if (message != nullptr) waiter_.messenger().discard(*message);
    foreign_chunk(from, chunk.status());
    return;
  }
  const Key key{&from, chunk.value().message};
  const auto found = incomplete_.find(key);
  // Not a first chunk: the rest of a message that was given up.
  if (found == incomplete_.end() && chunk.value().sequence != 0) {
    return waiter_.messenger().discard(*message);
  }
  InboundMessage& inbound = found != incomplete_.end() ? *found->second : begin(key, from);
  inbound.add(chunk.value(), payload_bytes, message);
  if (inbound.announced_all() || inbound.rest().error()) incomplete_.erase(key);
  advance(inbound);
}

// Which message it belongs to is not known: all that are under way from there are broken.
void SessionHub::foreign_chunk(Endpoint& from, const Status& why) {
  fail_incomplete(from, why);
  const bool told = std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& message) {
    return &message->from() == &from && message->rest().error();
  });
  if (!told) announce(from, kUnreadable).fail_rest(why);
}

void SessionHub::on_peer_gone(Endpoint& peer, const Status& status) {
  fail_incomplete(peer, with_sentence(status.code(), [&] {
                    return "the sender of this Madeleine message went before it was complete: " +
                           std::string(status.message());
                  }));
}

bool SessionHub::names(const Endpoint& peer) const {
  const auto packs = [&](const auto& entry) { return &entry.second->to() == &peer; };
  const auto unpacks = [&](const auto& entry) { return &entry.first->from() == &peer; };
  const auto waits = [&](const auto& message) { return &message->from() == &peer; };
  return std::any_of(packing_.begin(), packing_.end(), packs) ||
         std::any_of(unpacking_.begin(), unpacking_.end(), unpacks) ||
         std::any_of(waiting_.begin(), waiting_.end(), waits);
}

void SessionHub::fail_incomplete(const Endpoint& from, const Status& why) {
  auto it = incomplete_.lower_bound({&from, 0});
  while (it != incomplete_.end() && it->first.first == &from) {
    InboundMessage& message = *it->second;
    it = incomplete_.erase(it);
    message.fail_rest(why);
    advance(message);
  }
}

// Gives up a message to oneself that cannot be sent before it is unpacked.
void SessionHub::refuse(Endpoint& from, std::uint32_t number) {
  incomplete_.erase({&from, number});
  const auto is_it = [&](const InboundMessage& message) {
    return &message.from() == &from && message.number() == number;
  };
  for (const auto& entry : unpacking_) {
    if (!is_it(*entry.first)) continue;
    InboundMessage& message = entry.second->message();
    message.discard();
    message.fail_rest(Status(StatusCode::kClosed, "the packing of this message failed"));
    entry.second->advance();
  }
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    if (!is_it(**it)) continue;
    (*it)->discard();
    waiting_.erase(it);
    return;
  }
}

}  // namespace mad
