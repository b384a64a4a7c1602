// How connections end.
//
// A record is forgotten when its connection is gone, the caller has left it, and neither the caller
// (by a region it exposed) nor the provider (by an operation) can name it any more.
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/driver.h"

namespace mad {

OfiDriver::~OfiDriver() {
  linger();
  for (auto& entry : connections_) close_endpoint(entry.second);
  read_events();  // requests that nobody will answer any more
  for (Event& event : events_) {
    if (event.request) fi_reject(fabric_->listener(), event.request->handle, nullptr, 0);
  }
  fabric_->end_receives();  // before the buffers that were posted go
}

void OfiDriver::close_endpoint(OfiConnection& connection) {
  if (!connection.endpoint) return;
  endpoints_.erase(&connection.endpoint->fid);
  // Closing is enough for the peer to notice.
  connection.endpoint.reset();
}

// Of an endpoint that is closed devices forget what they have received for it, with its buffers, so
// that it is read before.
void OfiDriver::shut_down(OfiConnection& connection) {
  if (connection.endpoint && fabric_->facts().by_device) {
    (void)fi_shutdown(connection.endpoint.get(), 0);
    drain_completions();
  }
  close_endpoint(connection);
}

void OfiDriver::disconnect(ConnectionId id) {
  OfiConnection* const left = connections_.leave(id);
  if (!left) return;
  OfiConnection& connection = *left;
  (void)connections_.retire(connection);
  const bool stands = connection.state == State::kConnected;
  const bool accepting = connection.state == State::kAccepting;
  set_state(connection, State::kClosing);
  connection.deadline = Clock::now() + options_.close_timeout;
  if (connection.exposed > 0) {
    // A write may have come in half.  The provider looked at its key when it began and would go on
    // with it after withdraw(), for as long as this connection stands.
    shut_down(connection);
    end_soon(id, connection.gone);
  } else if (stands) {
    post_last(connection);
  } else if (!accepting) {
    // Nothing was accepted: the request is withdrawn.
    end_soon(id, StatusCode::kClosed);
  }
}

void OfiDriver::post_last(OfiConnection& connection) {
  if (!post_earlier(connection)) return;
  OfiOperation* operation = connection.take_operation(OfiOperation::Kind::kLast, nullptr);
  if (!operation) return;  // cannot be: one record is kept for it
  const ssize_t error = post_alone(connection, operation, OfiHeader::Kind::kLast);
  connection.last_posted = error == 0;
  if (error == 0) return;
  if (error != -FI_EAGAIN) end_soon(connection.id, StatusCode::kClosed);
}

void OfiDriver::end(OfiConnection& connection, Status why) {
  if (connection.state == State::kGone) return;
  openings_.cancel(connection.id);
  shut_down(connection);
  // What came before the end is told before it; the provider gives back its operations as failed.
  drain_completions();
  if (connection.peer_finished) why = Status(StatusCode::kClosed, "the peer disconnected");
  for (OfiOperation& operation : connection.operations) {
    if (!operation.busy) continue;
    Completion completion;
    if (finish(&operation, why, &completion)) completions_.push(std::move(completion));
  }
  if (connection.unposted != nullptr) {
    Completion none;
    (void)returned(std::exchange(connection.unposted, nullptr), why, &none);
  }
  if (connection.staged.left() > 0) {
    completions_.push(Completion::Kind::kWritten, connection.id, connection.staged.context(), why);
    connection.staged = {};
  }
  connection.credit.end(&credits_);
  (void)connections_.retire(connection);
  connections_.ended(connection, why, &completions_);
  set_state(connection, State::kGone);
}

void OfiDriver::forget_left() {
  connections_.forget_left([](const OfiConnection& connection) {
    return connection.exposed > 0 || !connection.all_returned();
  });
}

void OfiDriver::linger() {
  const Clock::time_point deadline = Clock::now() + options_.linger;
  bool closing = false;
  do {
    slow_progress();
    drain_completions();
    for (Completion dropped; completions_.take(&dropped, 1) > 0;) {
      if (dropped.kind == Completion::Kind::kReceived) release(dropped.buffer);
    }
    receives_.replenish(fabric_->receives(), endpoints_.size());
    post_due();
    closing = connections_.any_closing();
    if (closing) std::this_thread::yield();
  } while (closing && Clock::now() < deadline);
}

}  // namespace mad
