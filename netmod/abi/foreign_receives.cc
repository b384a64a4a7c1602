#include "netmod/abi/foreign_receives.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "madlike/base/sentence.h"
#include "netmod/abi/engine.h"

namespace mad {
namespace {

// Different greetings that one engine keeps: a peer may not fill its memory with them.
constexpr std::size_t kMostMachines = 64;

constexpr std::string_view kReason = "converted: the sender's machine represents data otherwise";

}  // namespace

const Architecture* ForeignReceives::find(Segment greeting) const {
  for (const Machine& machine : machines_) {
    if (std::equal(greeting.begin(), greeting.end(), machine.greeting.begin(),
                   machine.greeting.end())) {
      return &machine.architecture;
    }
  }
  return nullptr;
}

Status ForeignReceives::greeted(Segment greeting) {
  if (find(greeting) != nullptr) return {};
  const auto machine = Architecture::decode(greeting.begin(), greeting.size);
  if (!machine.ok()) return machine.status();
  if (machines_.size() == kMostMachines) {
    return {StatusCode::kProtocol, "the peer's machine is of one kind too many"};
  }
  machines_.push_back({machine->encode(), *machine});
  return {};
}

const Architecture* ForeignReceives::machine_of(const Endpoint& foreign) const {
  return find(foreign_greeting(foreign));
}

Status ForeignReceives::receive(const mad_incoming& wanted, const Payload& payload, mad_path path,
                                mad_op* op, mad_receive* receive, std::uint64_t* received) {
  const std::uint64_t sent = wanted.payload_bytes;
  auto plan = this->plan(payload.type->desc, *wanted.foreign);
  if (!plan.ok()) {
    engine_.discard(wanted);
    return plan.status();
  }
  const auto room = (*plan)->remote_bytes(payload.count);
  if (!room.ok()) {
    engine_.discard(wanted);
    return room.status();
  }
  const std::uint64_t bytes = std::min(sent, *room);
  if (receive != nullptr) receive->arrival.sent = (*plan)->local_bytes(sent);
  if (bytes == 0) {
    engine_.discard(wanted);
    *received = 0;
    return {};
  }
  ForeignReceive* operation = nullptr;
  const Plan how{Path::kPipeline, Plan::kNever, 0, kReason};
  try {
    operation = receives_.acquire(&engine_, op, receive, *plan, payload);
    operation->traced = engine_.trace_receive(wanted, payload, path, how, *op, bytes);
  } catch (const std::bad_alloc&) {
    if (operation != nullptr) receives_.release(operation);
    engine_.discard(wanted);
    return with_sentence(StatusCode::kNoMemory,
                         [] { return "no memory to receive and convert a message"; });
  }
  Status status =
      engine_.messenger_->accept(*wanted.message, operation->sink, bytes, operation->as_context());
  if (status.error()) {
    receives_.release(operation);
    return status;
  }
  const std::uint64_t here = (*plan)->local_bytes(bytes);
  engine_.count_receive(how.path, path, here);
  if (status.in_progress()) return status;
  status = operation->sink.result();
  if (status.ok()) {
    engine_.trace_received(operation->traced, true);
    *received = here;
  }
  receives_.release(operation);
  return status;
}

void ForeignReceives::finish(ForeignReceive& operation, std::uint64_t bytes, const Status& status) {
  mad_op* const op = operation.op;
  mad_receive* const receive = operation.receive;
  const Status outcome = status.ok() ? operation.sink.result() : status;
  const std::uint64_t here = outcome.ok() ? operation.plan->local_bytes(bytes) : 0;
  if (outcome.ok()) engine_.trace_received(operation.traced, false);
  receives_.release(&operation);
  engine_.tell_received(op, receive, here, outcome);
}

void ForeignReceives::give_back(const Status& why) {
  receives_.for_each([&](ForeignReceive& operation) { operation.finished(0, why); });
}

void ForeignReceive::finished(std::uint64_t bytes, const Status& status) {
  engine->foreign_.finish(*this, bytes, status);
}

}  // namespace mad
