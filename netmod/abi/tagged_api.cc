// The C functions of tagged messages: they check what the caller gave, then call mad_engine.
#include <string>

#include "netmod/abi/engine.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/message_checks.h"

namespace {

using mad::fail;
using mad::guarded;

constexpr std::uint32_t kFlagBits = 0xFF;  // the caller's

int bad(const char* function, const std::string& what) {
  return fail(MAD_ERR_ARGUMENT, std::string(function) + ": " + what);
}

int check_engine(const char* function, const mad_engine* engine) {
  if (engine == nullptr) return bad(function, "engine is NULL");
  if (engine->closing()) {
    return fail(MAD_ERR_CLOSED, std::string(function) + ": the engine is being closed");
  }
  return MAD_SUCCESS;
}

mad::Envelope envelope_of(const mad_envelope& envelope) {
  return {envelope.context, envelope.source, envelope.tag};
}

int wrong_wanted(const char* function, const mad_engine* engine, const mad_envelope* wanted) {
  if (const int error = check_engine(function, engine)) return error;
  if (wanted == nullptr) return bad(function, "wanted is NULL");
  return bad(function, "source " + std::to_string(wanted->source) + " and tag " +
                           std::to_string(wanted->tag) +
                           ": both are 0 or more, or MAD_ANY_SOURCE and MAD_ANY_TAG");
}

// Of a receive or probe.
[[gnu::always_inline]] inline int check_wanted(const char* function, const mad_engine* engine,
                                               const mad_envelope* wanted) {
  const bool right = engine != nullptr && !engine->closing() && wanted != nullptr &&
                     wanted->source >= MAD_ANY_SOURCE && wanted->tag >= MAD_ANY_TAG;
  return right ? static_cast<int>(MAD_SUCCESS) : wrong_wanted(function, engine, wanted);
}

int wrong_slots(const char* function, const mad_op* op, mad_receive* const* receive) {
  if (op == nullptr) return bad(function, "op is NULL");
  return bad(function, receive == nullptr ? "receive is NULL" : "arrival is NULL");
}

int check_slots(const char* function, const mad_op* op, mad_receive* const* receive,
                const mad_arrival* arrival) {
  const bool right = op != nullptr && receive != nullptr && arrival != nullptr;
  return right ? static_cast<int>(MAD_SUCCESS) : wrong_slots(function, op, receive);
}

int add_extension(const mad_extension& extension, mad::TaggedHeader* header) {
  if (extension.value_bytes > MAD_VALUE_MAX) {
    return bad("mad_tagged_send", "a value of " + std::to_string(extension.value_bytes) +
                                      " bytes: a message takes at most " +
                                      std::to_string(MAD_VALUE_MAX) + " along");
  }
  if (extension.value == nullptr && extension.value_bytes > 0) {
    return bad("mad_tagged_send", "value is NULL");
  }
  if (extension.note != nullptr) {
    header->noted = true;
    header->note = {extension.note[0], extension.note[1]};
  }
  header->value = {const_cast<void*>(extension.value), extension.value_bytes};
  return MAD_SUCCESS;
}

}  // namespace

extern "C" int mad_tagged_send(mad_engine* engine, mad_peer* peer, const mad_envelope* envelope,
                               uint32_t flags, const mad_extension* extension, const void* base,
                               uint64_t count, const mad_type* type, mad_path path, mad_op* op) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_tagged_send";
    if (const int error = mad::check_peer(kName, engine, peer)) return error;
    if (envelope == nullptr) return bad(kName, "envelope is NULL");
    if (envelope->source < 0 || envelope->tag < 0) {
      return bad(kName, "source " + std::to_string(envelope->source) + " and tag " +
                            std::to_string(envelope->tag) + ": both are 0 or more");
    }
    if ((flags & ~(kFlagBits | MAD_SYNCHRONOUS)) != 0) {
      return bad(kName, "flags " + std::to_string(flags) + " have bits that mean nothing");
    }
    mad::Payload payload;
    if (const int error = mad::check_payload(kName, base, count, type, path, &payload)) {
      return error;
    }
    mad::TaggedHeader header{envelope_of(*envelope), static_cast<std::uint8_t>(flags & kFlagBits)};
    if (extension != nullptr) {
      if (const int error = add_extension(*extension, &header)) return error;
    }
    const bool answered = (flags & MAD_SYNCHRONOUS) != 0;
    const mad::Status status = engine->send_tagged(*peer, header, answered, payload, path, op);
    return status.again() ? static_cast<int>(MAD_NOT_NOW) : mad::to_abi(status);
  });
}

namespace {

bool may_be_short(const mad_peer* peer, const mad_envelope* envelope, std::uint32_t flags) {
  return peer != nullptr && peer->status == MAD_SUCCESS && !peer->engine->closing() &&
         envelope != nullptr && envelope->source >= 0 && envelope->tag >= 0 && flags <= kFlagBits;
}

/// What a C function writes.
class WrittenPayload final : public mad::WholePayload {
 public:
  WrittenPayload(std::uint64_t bytes, mad_writer write, const void* context)
      : WholePayload(static_cast<std::size_t>(bytes)), write_(write), context_(context) {}
  std::uint64_t run_bytes() const override { return UINT64_MAX; }
  void write(std::byte* out) const override { write_(context_, out); }

 private:
  const mad_writer write_;
  const void* const context_;
};

}  // namespace

// What is wrong mad_tagged_send() tells.
extern "C" int mad_tagged_send_short(mad_peer* peer, const mad_envelope* envelope, uint32_t flags,
                                     const mad_extension* extension, const void* base,
                                     uint64_t count, const mad_type* type) {
  if (!may_be_short(peer, envelope, flags)) return MAD_NOT_NOW;
  const int status = guarded([&]() __attribute__((always_inline))->int {
    mad::TaggedHeader header{envelope_of(*envelope), static_cast<std::uint8_t>(flags)};
    if (extension != nullptr && add_extension(*extension, &header)) return MAD_NOT_NOW;
    if (type == nullptr) {
      if (base == nullptr && count > 0) return MAD_NOT_NOW;
      const mad::Segment run{const_cast<void*>(base), static_cast<std::size_t>(count)};
      return peer->engine->send_short(*peer, header, run) ? MAD_SUCCESS : MAD_NOT_NOW;
    }
    mad::Payload layout;
    if (mad::check_payload("mad_tagged_send_short", base, count, type, MAD_PATH_AUTO, &layout)) {
      return MAD_NOT_NOW;
    }
    return peer->engine->send_short(*peer, header, layout) ? MAD_SUCCESS : MAD_NOT_NOW;
  });
  return status == MAD_SUCCESS ? MAD_SUCCESS : MAD_NOT_NOW;
}

extern "C" int mad_tagged_send_written(mad_peer* peer, const mad_envelope* envelope, uint32_t flags,
                                       const mad_extension* extension, uint64_t bytes,
                                       mad_writer write, const void* context) {
  if (!may_be_short(peer, envelope, flags) || write == nullptr) return MAD_NOT_NOW;
  const int status = guarded([&]() __attribute__((always_inline))->int {
    mad::TaggedHeader header{envelope_of(*envelope), static_cast<std::uint8_t>(flags)};
    if (extension != nullptr && add_extension(*extension, &header)) return MAD_NOT_NOW;
    const WrittenPayload payload(bytes, write, context);
    return peer->engine->send_short(*peer, header, payload) ? MAD_SUCCESS : MAD_NOT_NOW;
  });
  return status == MAD_SUCCESS ? MAD_SUCCESS : MAD_NOT_NOW;
}

extern "C" int mad_peer_is_full(const mad_peer* peer, uint64_t bytes) {
  return peer != nullptr && peer->endpoint != nullptr && !peer->engine->closing() &&
                 mad::Messenger::waits_for_credit(*peer->endpoint, bytes)
             ? 1
             : 0;
}

extern "C" int mad_tagged_receive(mad_engine* engine, const mad_envelope* wanted, void* base,
                                  uint64_t count, const mad_type* type, mad_path path, mad_op* op,
                                  mad_receive** receive, mad_arrival* arrival) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_tagged_receive";
    if (const int error = check_wanted(kName, engine, wanted)) return error;
    if (const int error = check_slots(kName, op, receive, arrival)) return error;
    mad::Payload payload;
    if (const int error = mad::check_payload(kName, base, count, type, path, &payload)) {
      return error;
    }
    return mad::to_abi(
        engine->tagged().receive(envelope_of(*wanted), payload, path, op, receive, arrival));
  });
}

// What is wrong, or long, mad_tagged_receive() tells.
extern "C" int mad_tagged_receive_short(mad_engine* engine, mad_peer* from,
                                        const mad_envelope* wanted, void* base, uint64_t count,
                                        const mad_type* type, uint32_t how, mad_arrival* arrival) {
  const bool right = engine != nullptr && !engine->closing() && !engine->in_callback() &&
                     (from == nullptr || (from->engine == engine && from->status == MAD_SUCCESS)) &&
                     wanted != nullptr && wanted->source >= MAD_ANY_SOURCE &&
                     wanted->tag >= MAD_ANY_TAG && arrival != nullptr;
  if (!right) return MAD_NOT_NOW;
  const int status = guarded([&]() __attribute__((always_inline))->int {
    mad::Payload payload;
    if (mad::check_payload("mad_tagged_receive_short", base, count, type, MAD_PATH_AUTO,
                           &payload)) {
      return MAD_NOT_NOW;
    }
    const bool received = engine->receive_next(from, envelope_of(*wanted), payload, how, arrival);
    return received ? MAD_SUCCESS : MAD_NOT_NOW;
  });
  return status == MAD_SUCCESS ? MAD_SUCCESS : MAD_NOT_NOW;
}

extern "C" int mad_tagged_cancel(mad_engine* engine, mad_receive* receive) {
  return guarded([&]() -> int {
    if (const int error = check_engine("mad_tagged_cancel", engine)) return error;
    if (receive == nullptr) return bad("mad_tagged_cancel", "receive is NULL");
    return engine->tagged().cancel(*receive) ? MAD_SUCCESS : MAD_NOT_NOW;
  });
}

extern "C" int mad_tagged_probe(mad_engine* engine, const mad_envelope* wanted,
                                mad_arrival* arrival) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_tagged_probe";
    if (const int error = check_wanted(kName, engine, wanted)) return error;
    if (arrival == nullptr) return bad(kName, "arrival is NULL");
    const mad_message* const message = engine->tagged().find(envelope_of(*wanted));
    if (message == nullptr) return MAD_NOT_NOW;
    *arrival = message->arrival;
    return MAD_SUCCESS;
  });
}

extern "C" int mad_tagged_probe_next(mad_engine* engine, mad_peer* from, const mad_envelope* wanted,
                                     uint32_t how, mad_arrival* arrival) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_tagged_probe_next";
    if (const int error = check_wanted(kName, engine, wanted)) return error;
    if (arrival == nullptr) return bad(kName, "arrival is NULL");
    if (from != nullptr && from->engine != engine)
      return bad(kName, "the peer is another engine's");
    return engine->probe_next(from, envelope_of(*wanted), how, arrival) ? MAD_SUCCESS : MAD_NOT_NOW;
  });
}

extern "C" int mad_tagged_claim(mad_engine* engine, const mad_envelope* wanted,
                                mad_arrival* arrival, mad_message** message) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_tagged_claim";
    if (const int error = check_wanted(kName, engine, wanted)) return error;
    if (arrival == nullptr || message == nullptr) {
      return bad(kName, arrival == nullptr ? "arrival is NULL" : "message is NULL");
    }
    mad_message* const found = engine->tagged().find_shown(envelope_of(*wanted));
    if (found == nullptr) return MAD_NOT_NOW;
    engine->tagged().claim(*found);
    *arrival = found->arrival;
    *message = found;
    return MAD_SUCCESS;
  });
}

extern "C" int mad_message_receive(mad_engine* engine, mad_message* message, void* base,
                                   uint64_t count, const mad_type* type, mad_path path, mad_op* op,
                                   mad_receive** receive, mad_arrival* arrival) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_message_receive";
    if (engine == nullptr || message == nullptr) {
      return bad(kName, engine == nullptr ? "engine is NULL" : "message is NULL");
    }
    mad::Payload payload;
    int error = check_engine(kName, engine);
    if (error == MAD_SUCCESS) error = check_slots(kName, op, receive, arrival);
    if (error == MAD_SUCCESS) {
      error = mad::check_payload(kName, base, count, type, path, &payload);
    }
    if (error != MAD_SUCCESS) {
      engine->tagged().discard(*message);  // the sender must not wait for ever
      return error;
    }
    return mad::to_abi(engine->tagged().receive(*message, payload, path, op, receive, arrival));
  });
}

extern "C" void mad_message_discard(mad_engine* engine, mad_message* message) {
  (void)guarded([&]() -> int {
    if (engine == nullptr || message == nullptr) {
      return bad("mad_message_discard", "engine or message is NULL");
    }
    engine->tagged().discard(*message);
    return MAD_SUCCESS;
  });
}

extern "C" int mad_tagged_each(mad_engine* engine,
                               void (*each)(void* context, mad_receive* receive, mad_op* op),
                               void* context) {
  return guarded([&]() -> int {
    if (const int error = check_engine("mad_tagged_each", engine)) return error;
    if (each == nullptr) return bad("mad_tagged_each", "each is NULL");
    engine->tagged().for_each_waiting(
        [&](mad_receive& receive) { each(context, &receive, receive.op); });
    return MAD_SUCCESS;
  });
}
