#include "netmod/abi/tagged_messages.h"

#include <algorithm>
#include <new>
#include <utility>

#include "madlike/base/sentence.h"
#include "netmod/abi/engine.h"
#include "netmod/abi/errors.h"

namespace mad {
namespace {

mad_arrival arrival_of(const TaggedHeader& header, std::uint64_t payload_bytes) {
  const Envelope& envelope = header.envelope;
  return {{envelope.source, envelope.tag, static_cast<std::uint16_t>(envelope.context)},
          header.flags,
          header.noted,
          {header.note[0], header.note[1]},
          payload_bytes,
          0,
          header.value.data,
          header.value.size};
}

}  // namespace

// Gives the receive back and tells its owner, who may post another one.  `status` is of the C
// interface.
[[gnu::always_inline]] inline void TaggedMessages::finish(mad_receive& receive,
                                                          mad_arrival* arrival, std::uint64_t bytes,
                                                          int status) {
  mad_op* const op = receive.op;
  arrival->received = bytes;
  receives_.release(&receive);
  engine_.tell_tagged(op, arrival, status);
}

Status TaggedMessages::send_to_self(const TaggedHeader& header, bool answered,
                                    const Payload& payload, mad_op* op) {
  mad_arrival arrival = arrival_of(header, payload.bytes);
  if (PostedReceive* const found = matcher_.take(header.envelope)) {
    auto& receive = static_cast<mad_receive&>(*found);
    finish(receive, &arrival, own_.receive(payload, receive.payload.get()), MAD_SUCCESS);
    return {};
  }
  SelfMessage* waits = answered ? nullptr : own_.keep(payload);
  const bool kept = waits != nullptr;
  if (!kept && op == nullptr) return StatusCode::kAgain;
  if (!kept) waits = own_.refer(payload, op);
  mad_message* message = nullptr;
  try {
    KeptValue value = keep(&arrival);
    message = messages_.acquire(waits, arrival);
    message->value = std::move(value);
  } catch (const std::bad_alloc&) {
    (void)own_.release(*waits);
    return with_sentence(StatusCode::kNoMemory,
                         [] { return "no memory for another message to oneself"; });
  }
  matcher_.keep(*message, header.envelope);
  return kept ? Status() : Status(StatusCode::kInProgress);
}

Status TaggedMessages::receive(const Envelope& wanted, const Payload& payload, mad_path path,
                               mad_op* op, mad_receive** receive, mad_arrival* arrival) {
  if (mad_message* const message = find(wanted)) {
    const Payload its = payload;  // so that `payload` may be in registers
    claim(*message);
    return this->receive(*message, its, path, op, receive, arrival);
  }
  mad_receive* const waiting = receives_.acquire(payload, path, op);
  (void)matcher_.post(*waiting, wanted);
  *receive = waiting;
  return StatusCode::kInProgress;
}

bool TaggedMessages::receive_next(Endpoint* from, const Envelope& wanted, const Payload& payload,
                                  std::uint32_t how, mad_arrival* arrival) {
  if (find(wanted) != nullptr) return false;
  const bool whole = payload.type != nullptr || (how & MAD_WHOLE) != 0;
  const Next next{wanted, &payload, whole, arrival};
  const Asking asking(&next_, next);
  return engine_.take_from(from, (how & MAD_WAITS) != 0);
}

bool TaggedMessages::probe_next(Endpoint* from, const Envelope& wanted, bool waits,
                                mad_arrival* arrival) {
  const mad_message* found = find(wanted);
  if (found == nullptr && !engine_.in_callback()) {
    if (look_at_next(from, wanted, waits, arrival)) return true;
    found = find_shown(wanted);
  }
  if (found != nullptr) *arrival = found->arrival;
  return found != nullptr;
}

// What was shown once is found again until it is received, though another peer's message may stand
// before it, or others have their turn.  A turn of progress takes in some of what came.
mad_message* TaggedMessages::find_shown(const Envelope& wanted) {
  constexpr int kMostTurns = 1000;  // a peer that is gone takes its message along
  mad_message* found = find(wanted);
  if (found != nullptr || engine_.in_callback()) return found;
  for (int turn = 0; !shown_.empty() && turn < kMostTurns; ++turn) (void)engine_.progress();
  shown_.clear();
  return find(wanted);
}

// The next message of a peer, which was perhaps shown.
void TaggedMessages::is_taken(const Endpoint& from) {
  if (shown_.empty()) return;
  shown_.erase(std::remove(shown_.begin(), shown_.end(), &from), shown_.end());
}

bool TaggedMessages::look_at_next(Endpoint* from, const Envelope& wanted, bool waits,
                                  mad_arrival* arrival) {
  const Next next{wanted, nullptr, false, arrival};
  const Asking asking(&next_, next);
  (void)engine_.take_from(from, waits);
  return next.found;
}

Status TaggedMessages::receive(mad_message& message, const Payload& payload, mad_path path,
                               mad_op* op, mad_receive** receive, mad_arrival* arrival) {
  if (message.own != nullptr) {
    receive_own(message, payload, arrival);
    return {};
  }
  const mad_incoming incoming = message.incoming;
  *arrival = message.arrival;
  KeptValue value = std::move(message.value);
  messages_.release(&message);
  mad_receive* started = nullptr;
  try {
    started = receives_.acquire(payload, path, op);
  } catch (const std::bad_alloc&) {
    engine_.discard(incoming);
    told_ = std::move(value);
    return with_sentence(StatusCode::kNoMemory, [] { return "no memory for another receive"; });
  }
  started->arrival = *arrival;
  Status status = engine_.receive_tagged(incoming, *started, &arrival->received);
  arrival->sent = started->arrival.sent;
  if (status.in_progress()) {
    started->value = std::move(value);
    *receive = started;
  } else {
    if (value.data() != nullptr) told_ = std::move(value);
    receives_.release(started);
  }
  return status;
}

// The value is the caller's until the next call, whatever the sender does when it is told.
void TaggedMessages::receive_own(mad_message& message, const Payload& payload,
                                 mad_arrival* arrival) {
  *arrival = message.arrival;
  arrival->received = own_.receive(message.own->payload.get(), payload);
  KeptValue value = std::move(message.value);
  release_own(message);
  if (value.data() != nullptr) told_ = std::move(value);
}

void TaggedMessages::release_own(mad_message& message) {
  mad_op* const sender = own_.release(*message.own);
  messages_.release(&message);
  if (sender != nullptr) engine_.tell_sent(sender, {});
}

bool TaggedMessages::cancel(mad_receive& receive) {
  if (!receive.waits()) return false;
  matcher_.cancel(receive);
  receives_.release(&receive);
  return true;
}

mad_message* TaggedMessages::find(const Envelope& wanted) {
  return matcher_.messages() == 0 ? nullptr : static_cast<mad_message*>(matcher_.find(wanted));
}

void TaggedMessages::discard(mad_message& message) {
  if (message.own != nullptr) return release_own(message);
  const mad_incoming incoming = message.incoming;
  messages_.release(&message);
  engine_.discard(incoming);
}

bool TaggedMessages::goes_to_next(const TaggedHeader& header, std::uint64_t bytes) {
  const std::uint64_t room = next_->payload->bytes;
  const bool plain = header.flags == 0 && !header.noted;
  const bool fits = next_->whole ? bytes == room : bytes <= room;
  return plain && fits && matches(next_->wanted, header.envelope) &&
         matcher_.look_for(header.envelope) == nullptr;
}

// To a probe.  False: it stays where it is.
bool TaggedMessages::shows_next(Endpoint& from, const TaggedHeader& header, std::uint64_t bytes) {
  next_->found =
      matches(next_->wanted, header.envelope) && matcher_.look_for(header.envelope) == nullptr;
  if (next_->found) {
    *next_->arrival = arrival_of(header, bytes);
    is_taken(from);
    shown_.push_back(&from);
  }
  return false;
}

bool TaggedMessages::take_next(Endpoint& from, const TaggedHeader& header, Segment payload) {
  if (next_->payload == nullptr) return shows_next(from, header, payload.size);
  if (!goes_to_next(header, payload.size)) return false;
  if (!engine_.place_tagged(from, payload, *next_->payload, MAD_PATH_AUTO).ok()) return false;
  is_taken(from);
  tell_next(header, payload.size);
  return true;
}

bool TaggedMessages::take_next_offered(Endpoint& from, const TaggedHeader& header,
                                       std::uint64_t bytes, OfferedPayload& offered) {
  if (next_->payload == nullptr) return shows_next(from, header, bytes);
  if (!goes_to_next(header, bytes) ||
      !engine_.place_offered(bytes, offered, *next_->payload, MAD_PATH_AUTO)) {
    return false;
  }
  is_taken(from);
  tell_next(header, bytes);
  return true;
}

// Its value stays after its packet, until the next call.
void TaggedMessages::tell_next(const TaggedHeader& header, std::uint64_t bytes) {
  *next_->arrival = arrival_of(header, bytes);
  next_->arrival->received = bytes;
  if (header.value.size == 0) return;
  std::memcpy(next_value_.data(), header.value.data, header.value.size);
  next_->arrival->value = next_value_.data();
}

// Of one that is longer than its receive the messenger reads, or asks for, what is wanted.
bool TaggedMessages::take_offered(Endpoint& from, const TaggedHeader& header, std::uint64_t bytes,
                                  OfferedPayload& offered) {
  if (next_ != nullptr) return take_next_offered(from, header, bytes, offered);
  PostedReceive* const found = matcher_.look_for(header.envelope);
  if (found == nullptr) return false;
  auto& receive = static_cast<mad_receive&>(*found);
  if (bytes > receive.payload.get().bytes ||
      !engine_.place_offered(bytes, offered, receive.payload.get(), receive.path)) {
    return false;
  }
  is_taken(from);
  matcher_.cancel(receive);
  mad_arrival arrival = arrival_of(header, bytes);
  finish(receive, &arrival, bytes, MAD_SUCCESS);
  return true;
}

bool TaggedMessages::take(Endpoint& from, const TaggedHeader& header, Segment payload) {
  if (next_ != nullptr) return take_next(from, header, payload);
  PostedReceive* const found = matcher_.take(header.envelope);
  if (found == nullptr) return false;
  is_taken(from);
  auto& receive = static_cast<mad_receive&>(*found);
  mad_arrival arrival = arrival_of(header, payload.size);
  const Payload& its = receive.payload.get();
  payload.size = std::min<std::uint64_t>(payload.size, its.bytes);
  if (its.type == nullptr) {
    engine_.place_run(payload, its, receive.path);
    finish(receive, &arrival, payload.size, MAD_SUCCESS);
  } else {
    const Status status = engine_.place_tagged(from, payload, its, receive.path);
    finish(receive, &arrival, status.ok() ? payload.size : 0, to_abi(status));
  }
  return true;
}

void TaggedMessages::arrived(Endpoint& from, const TaggedHeader& header,
                             const mad_incoming& incoming) {
  is_taken(from);
  mad_arrival arrival = arrival_of(header, incoming.payload_bytes);
  KeptValue value = keep(&arrival);
  PostedReceive* const found = matcher_.take(header.envelope);
  if (found == nullptr) {
    mad_message* const message = messages_.acquire(incoming, arrival);
    message->value = std::move(value);
    matcher_.keep(*message, header.envelope);
    return;
  }
  auto& receive = static_cast<mad_receive&>(*found);
  receive.arrival = arrival;
  receive.value = std::move(value);
  std::uint64_t received = 0;
  const Status status = engine_.receive_tagged(incoming, receive, &received);
  if (!status.in_progress()) finished(receive, received, status);
}

// A copy of its value, which stands in a packet.
KeptValue TaggedMessages::keep(mad_arrival* arrival) {
  if (arrival->value_bytes == 0) return {};
  KeptValue value(&values_, {const_cast<void*>(arrival->value), arrival->value_bytes});
  arrival->value = value.data();
  return value;
}

void TaggedMessages::finished(mad_receive& receive, std::uint64_t bytes, const Status& status) {
  mad_arrival arrival = receive.arrival;
  const KeptValue value = std::move(receive.value);
  finish(receive, &arrival, status.ok() ? bytes : 0, to_abi(status));
}

void TaggedMessages::give_back(const Status& why) {
  for_each_waiting([&](mad_receive& receive) {
    mad_op* const op = receive.op;
    (void)cancel(receive);
    engine_.tell_tagged(op, nullptr, to_abi(why));
  });
  matcher_.for_each_message([this](ArrivedMessage& message) { matcher_.remove(message); });
  own_.give_back_senders([&](mad_op* sender) { engine_.tell_sent(sender, why); });
}

}  // namespace mad
