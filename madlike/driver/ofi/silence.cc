// Whether the hosts of peers that say nothing are there.  Nobody else asks: a device tells of a
// host that is gone when something is sent to it.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/driver.h"

namespace mad {

// What is under way to a peer asks already.  Every half of the timeout: a host that dies right
// after it was asked is asked once more within it.
void OfiDriver::ask_the_silent() {
  if (options_.silence_timeout.count() == 0) return;
  const Clock::time_point now = Clock::now();
  if (now < ask_at_) return;
  ask_at_ = now + options_.silence_timeout / 2;
  for (auto& entry : connections_) {
    OfiConnection& connection = entry.second;
    if (connection.state == State::kConnected && connection.all_returned()) {
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
  if (error == 0) return;
  connection.free_operation(operation);
  if (error == -FI_EAGAIN) return;  // it is asked the next time
  end_soon(connection.id,
           ofi_status(StatusCode::kPeerFailed, "asking for " + to_text(connection.address), error));
}

}  // namespace mad
