// What is sent without the caller's doing: packets that the provider did not take at once, and
// packets that give credit.
#include <rdma/fi_errno.h>

#include <utility>

#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/driver.h"

namespace mad {

void OfiDriver::is_due(OfiConnection& connection) {
  if (std::exchange(connection.is_due, true)) return;
  due_.push_back(connection.id);
}

void OfiDriver::post_due() {
  const std::size_t count = due_.size();
  for (std::size_t i = 0; i < count; ++i) {
    OfiConnection* const connection = find(due_[i]);
    if (!connection) continue;
    connection->is_due = false;
    look_after(*connection);  // may find it due again, behind these
  }
  due_.erase(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(count));
}

// Who has left still gives credit until its last packet: its peer may have to send to end.
void OfiDriver::look_after(OfiConnection& connection) {
  const bool stands =
      connection.endpoint && !connection.last_posted && connection.peer_tag != 0 &&
      (connection.state == State::kConnected || connection.state == State::kClosing);
  if (stands && post_earlier(connection)) post_credit(connection);
}

// What was accepted and leaves before anything else.  False: some of it is not posted yet.
bool OfiDriver::post_earlier(OfiConnection& connection) {
  return post_unposted(connection) && post_staged(connection);
}

bool OfiDriver::post_unposted(OfiConnection& connection) {
  if (connection.unposted == nullptr) return true;
  const Status status = post_copy(connection, connection.unposted);
  if (status.again()) {
    is_due(connection);
    return false;
  }
  connection.unposted = nullptr;
  if (status.error()) end_soon(connection.id, status);
  return !status.error();
}

void OfiDriver::post_credit(OfiConnection& connection) {
  if (!connection.credit.is_much_owed()) return;
  OfiOperation* const operation =
      connection.credit.may_give() ? connection.take_operation(OfiOperation::Kind::kCredit, nullptr)
                                   : nullptr;
  const ssize_t error = operation == nullptr
                            ? -FI_EAGAIN
                            : post_alone(connection, operation, OfiHeader::Kind::kCredit);
  if (error == 0) {
    connection.credit.spend();
  } else if (error == -FI_EAGAIN) {
    is_due(connection);
  } else {
    end_soon(connection.id, ofi_status(StatusCode::kPeerFailed, "giving credit", error));
  }
}

}  // namespace mad
