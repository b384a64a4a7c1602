// The poll path.  A poll reads the completion queue once, which makes the provider progress; the
// door and the sockets of connections are looked at now and then.
#include <rdma/fi_errno.h>

#include <array>
#include <utility>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/rdm_driver.h"

namespace mad {
namespace {

constexpr std::size_t kBatch = 32;

}  // namespace

std::size_t RdmDriver::poll(Completion* out, std::size_t capacity) {
  end_all_due();
  if (looking_is_due()) look();
  if (completions_.empty()) progress();
  end_all_due();
  forget_left();
  return completions_.take(out, capacity);
}

void RdmDriver::look() {
  polls_ = 0;
  look_at_door();
  if (deadline_timer_.ticked()) check_deadlines();
  end_all_due();
  look_soon_ = !unsettled_.empty() || !hung_up_.empty() || door_.busy();
  advance_unsettled();
}

void RdmDriver::progress() {
  std::array<fi_cq_msg_entry, kBatch> entries;
  const ssize_t found = fi_cq_read(fabric_->completions(), entries.data(), entries.size());
  for (ssize_t i = 0; i < found; ++i) {
    const fi_cq_msg_entry& entry = entries[static_cast<std::size_t>(i)];
    auto* const context = static_cast<OfiContext*>(entry.op_context);
    if (context->role == OfiContext::Role::kReceive) {
      receive(static_cast<ReceiveBuffer*>(context), entry.len);
    } else {
      sent(*static_cast<RdmSend*>(context), {});
    }
  }
  if (found == -FI_EAVAIL) read_error();
  receives_.replenish(fabric_->endpoint(), 0);
  if (!due_.empty()) post_due();
  // What they sent before comes first.
  const bool all_read = found < static_cast<ssize_t>(entries.size());
  if (all_read && !hung_up_.empty()) end_hung_up();
}

// The provider is done with it.
void RdmDriver::sent(RdmSend& send, Status status) {
  if (std::exchange(send.tells, false)) {
    completions_.push(Completion::Kind::kSent, send.connection, send.context, std::move(status));
  }
  RdmConnection* const connection = find(send.connection);
  if (connection != nullptr && connection->state == State::kClosing) hold_off(*connection);
  free_send(send);
}

void RdmDriver::read_error() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(fabric_->completions(), &error, 0) < 0) return;
  auto* const context = static_cast<OfiContext*>(error.op_context);
  if (context == nullptr) return;
  if (context->role == OfiContext::Role::kReceive) {  // e.g. longer than any packet
    receives_.taken();
    receives_.give_back(static_cast<ReceiveBuffer*>(context));
    return;
  }
  auto& send = *static_cast<RdmSend*>(context);
  Status why;
  if (const RdmConnection* const connection = find(send.connection)) {
    why = ofi_status(StatusCode::kPeerFailed, "sending to " + to_text(connection->peer.socket),
                     error.err);
    if (connection->state == State::kClosing) {
      end_soon(connection->id, connection->gone);
    } else {
      end_soon(connection->id, why);
    }
  }
  sent(send, why);
}

}  // namespace mad
