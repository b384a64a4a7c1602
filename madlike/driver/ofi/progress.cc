// The poll path.  A poll reads the completion queue once, which makes the provider progress; the
// event queue, another system call, is read now and then.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <utility>

#include "madlike/base/copy_bytes.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/driver.h"

namespace mad {
namespace {

constexpr std::size_t kBatch = 32;
constexpr std::uint32_t kEventsEvery = 64;          // polls
constexpr std::uint32_t kEventsEveryUnsettled = 4;  // polls, while a connection comes or goes

}  // namespace

bool OfiDriver::events_due() {
  ++polls_;
  const std::uint32_t every = unsettled_ > 0 ? kEventsEveryUnsettled : kEventsEvery;
  if (events_soon_ || polls_ >= every) return true;
  return look_timer_.ticked();
}

void OfiDriver::slow_progress() {
  polls_ = 0;
  events_soon_ = false;
  take_opened();
  end_all_due();  // a request that came meanwhile is not taken for one whose opening failed
  read_events();
  dispatch_events();
  if (deadline_timer_.ticked()) {
    if (unsettled_ > 0) check_deadlines();
    if (fabric_->facts().asks_the_silent) ask_the_silent();
  }
  end_all_due();
  forget_left();
}

std::size_t OfiDriver::poll(Completion* out, std::size_t capacity) {
  if (events_due()) slow_progress();
  std::size_t count = completions_.take(out, capacity);
  if (count < capacity) {
    std::array<fi_cq_msg_entry, kBatch> entries;
    const ssize_t found =
        fi_cq_read(fabric_->completions(), entries.data(), std::min(kBatch, capacity - count));
    for (ssize_t i = 0; i < found; ++i) {
      if (translate(entries[static_cast<std::size_t>(i)], &out[count])) ++count;
    }
    if (found == -FI_EAVAIL) read_error();
    end_all_due();
  }
  receives_.replenish(fabric_->receives(), endpoints_.size());
  if (!due_.empty()) post_due();
  return count;
}

Status OfiDriver::watch(std::vector<pollfd>* out) {
  if (!completions_.empty() || !events_.empty() || connections_.has_due() || !due_.empty() ||
      !openings_.empty()) {
    return StatusCode::kAgain;
  }
  events_soon_ = true;  // either queue may wake the caller
  return fabric_->watch(out);
}

bool OfiDriver::translate(const fi_cq_msg_entry& entry, Completion* out) {
  auto* context = static_cast<OfiContext*>(entry.op_context);
  if (context->role == OfiContext::Role::kReceive) {
    return translate_receive(static_cast<ReceiveBuffer*>(context), entry.len, out);
  }
  return returned(static_cast<OfiOperation*>(context), {}, out);
}

// The provider is done with the operation.
bool OfiDriver::returned(OfiOperation* operation, Status status, Completion* out) {
  const bool news = finish(operation, std::move(status), out);
  if (operation->buffer != nullptr) sends_.give_back(std::exchange(operation->buffer, nullptr));
  if (operation->region) registered_ -= operation->bytes;
  operation->region.reset();
  find(operation->connection)->free_operation(operation);
  return news;
}

// The operation is over; whether there is something to tell.
bool OfiDriver::finish(OfiOperation* operation, Status status, Completion* out) {
  if (!operation->busy) return false;  // ended with its connection before
  OfiConnection& connection = *find(operation->connection);
  const OfiOperation::Kind kind = operation->kind;
  void* const context = operation->context;
  connection.abandon_operation(operation);
  if (connection.state == State::kClosing) {
    connection.deadline = Clock::now() + options_.close_timeout;  // its peer takes what we sent
  }
  switch (kind) {
    case OfiOperation::Kind::kLast:
      connection.last_sent = true;
      if (connection.peer_finished || status.error()) end_soon(connection.id, connection.gone);
      return false;
    case OfiOperation::Kind::kCopy:
    case OfiOperation::Kind::kPart:
    case OfiOperation::Kind::kCredit:
      return false;
    case OfiOperation::Kind::kAsk:
      connection.is_asked = false;
      return false;
    case OfiOperation::Kind::kGet:
      if (operation->buffer != nullptr && !status.error()) {
        copy_bytes(operation->place.data, operation->buffer, operation->place.size);
      }
      break;
    case OfiOperation::Kind::kSend:
    case OfiOperation::Kind::kWrite:
      break;
  }
  out->kind =
      kind == OfiOperation::Kind::kSend ? Completion::Kind::kSent : Completion::Kind::kWritten;
  out->connection = connection.id;
  out->context = context;
  out->bytes = {};
  out->buffer = nullptr;
  out->status = std::move(status);
  return true;
}

void OfiDriver::read_error() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(fabric_->completions(), &error, 0) < 0) return;
  events_soon_ = true;  // the end of a connection most likely follows
  auto* context = static_cast<OfiContext*>(error.op_context);
  if (!context) return;
  if (context->role == OfiContext::Role::kReceive) {
    receives_.taken();
    receives_.give_back(static_cast<ReceiveBuffer*>(context));
    return;
  }
  auto* operation = static_cast<OfiOperation*>(context);
  const OfiConnection& connection = *find(operation->connection);
  const bool closing = connection.state == State::kClosing;
  if (fabric_->facts().by_device && connection.state == State::kConnected && operation->busy) {
    // Its device takes nothing more, and the event queue need not say so.
    end_soon(connection.id,
             ofi_status(StatusCode::kPeerFailed, "the connection to " + to_text(connection.address),
                        error.err));
  }
  Completion completion;
  if (returned(operation,
               ofi_status(closing ? StatusCode::kClosed : StatusCode::kPeerFailed,
                          "sending to " + to_text(connection.address), error.err),
               &completion)) {
    completions_.push(std::move(completion));
  }
}

// Every operation completes once, and receive buffers are not posted meanwhile; but to devices,
// whose peers send no more than they are given.
void OfiDriver::drain_completions() {
  for (;;) {
    std::array<fi_cq_msg_entry, kBatch> entries;
    const ssize_t found = fi_cq_read(fabric_->completions(), entries.data(), kBatch);
    if (found == -FI_EAVAIL) {
      read_error();
      continue;
    }
    if (found <= 0) return;
    for (ssize_t i = 0; i < found; ++i) {
      Completion completion;
      if (translate(entries[static_cast<std::size_t>(i)], &completion)) {
        completions_.push(std::move(completion));
      }
    }
  }
}

}  // namespace mad
