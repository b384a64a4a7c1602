// Whether the hosts of peers that say nothing are there.  Nobody else asks: a device tells of a
// host that is gone when something is sent to it.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <string>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/driver.h"

namespace mad {

Status OfiDriver::silent(const OfiConnection& connection) const {
  return {StatusCode::kPeerFailed,
          "the host of " + to_text(connection.address) + " has answered nothing for " +
              std::to_string(options_.silence_timeout.count()) + " ms (silence timeout)"};
}

// What else is under way to a peer is not asked for beside: its device gives up by itself, and may
// rightly wait for a receiver that has no buffer, which this write does not need.
void OfiDriver::ask_the_silent() {
  const std::chrono::milliseconds timeout = options_.silence_timeout;
  silence_clock_.tick();
  const PolledClock::time_point now = silence_clock_.now();
  if (timeout.count() == 0 || now < look_at_) return;
  look_at_ = now + Silence::look_every(timeout);
  for (auto& entry : connections_) {
    OfiConnection& connection = entry.second;
    if (connection.state != State::kConnected) continue;
    if (connection.is_asked) {
      if (now - connection.asked_at < timeout) continue;
      drain_completions();  // the answer may be among them
      if (connection.is_asked) end_soon(connection.id, silent(connection));
    } else if (now - connection.asked_at >= timeout / 2 && connection.all_returned()) {
      connection.asked_at = now;
      ask_whether_there(connection);
    }
  }
}

// By a write of no bytes: the peer's device answers it, whatever its engine does, and it takes no
// buffer there.
void OfiDriver::ask_whether_there(OfiConnection& connection) {
  OfiOperation* const operation = connection.take_operation(OfiOperation::Kind::kAsk, nullptr);
  if (operation == nullptr) return;
  fi_rma_iov nowhere{};
  fi_msg_rma message{};
  message.rma_iov = &nowhere;
  message.rma_iov_count = 1;
  message.context = static_cast<OfiContext*>(operation);
  const ssize_t error = fi_writemsg(connection.endpoint.get(), &message, FI_COMPLETION);
  connection.is_asked = error == 0;
  if (error == 0) return;
  connection.free_operation(operation);
  if (error == -FI_EAGAIN) return;  // it is asked the next time
  end_soon(connection.id,
           ofi_status(StatusCode::kPeerFailed, "asking for " + to_text(connection.address), error));
}

}  // namespace mad
