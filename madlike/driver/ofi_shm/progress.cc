// The poll path.  What came in one go is told before more is asked for.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <utility>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ofi_shm/driver.h"

namespace mad {
namespace {

constexpr std::uint32_t kLookEvery = 64;  // polls
constexpr std::size_t kBatch = 16;        // completions read at once
// Receive buffers that stand ready in one endpoint.  What comes when there are none waits in the
// provider's queue.
constexpr std::size_t kPosted = 8;

}  // namespace

std::size_t OfiShmDriver::poll(Completion* out, std::size_t capacity) {
  end_all_due();
  if (looking_is_due()) look();
  if (!unsettled_.empty()) advance_unsettled();
  if (completions_.empty()) {
    for (OfiShmConnection* const connection : opened_) {
      if (connection->gate->called()) (void)progress(*connection);
    }
    if (!hung_up_.empty()) end_hung_up();
  }
  end_all_due();
  forget_left();
  return completions_.take(out, capacity);
}

// Each connection that stands has one buffer for sure.
bool OfiShmDriver::may_post(const OfiShmConnection& connection) const {
  return chunks_.available() > (connection.posted.empty() ? 0 : opened_.size());
}

void OfiShmDriver::post_buffers(OfiShmConnection& connection) {
  while (connection.posted.size() < kPosted && may_post(connection)) {
    Chunk* const chunk = chunks_.take();
    if (chunk == nullptr) return;
    const ssize_t error =
        connection.endpoint->receive(chunk->bytes, options_.max_packet_bytes, chunk);
    if (error != 0) return chunks_.drop_user(*chunk);
    connection.posted.push_back(chunk);
  }
}

std::size_t OfiShmDriver::progress(OfiShmConnection& connection) {
  std::size_t received = 0;
  bool call_back = connection.state == State::kAgreeing;
  {
    const OfiShmGate::Visit visit(*connection.gate);
    if (visit.broken()) (void)end_broken(connection);
    if (!visit.inside()) return 0;
    connection.gate->heed();
    // A peer that takes something may take its time.
    if (connection.state == State::kClosing) {
      connection.deadline = door_.now() + options_.close_timeout;
    }
    post_buffers(connection);
    std::array<fi_cq_data_entry, kBatch> entries;
    const ssize_t found = connection.endpoint->read(entries.data(), entries.size());
    if (found == -FI_EAVAIL) take_error(connection);
    for (ssize_t i = 0; i < found; ++i) {
      const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
      received += take(connection, entry) ? 1 : 0;
      // Its sender has to hear of it.
      call_back = call_back || entry.len > OfiShmEndpoint::kMostInjected;
    }
    // There may be more, or there will be, once there are buffers for it.
    if (found != -FI_EAGAIN || connection.posted.empty()) connection.gate->remember();
    call_back = (received > 0 && connection.gate->room_is_wanted()) || call_back;
  }
  if (call_back) call(connection);
  return received;
}

bool OfiShmDriver::take(OfiShmConnection& connection, const fi_cq_data_entry& entry) {
  if ((entry.flags & FI_RECV) == 0) {
    finish(connection, {});
    return false;
  }
  auto* const chunk = static_cast<Chunk*>(entry.op_context);
  connection.posted.erase(std::find(connection.posted.begin(), connection.posted.end(), chunk));
  take_message(connection, *chunk, entry);
  return true;
}

void OfiShmDriver::take_message(OfiShmConnection& connection, Chunk& chunk,
                                const fi_cq_data_entry& entry) {
  const bool ours = OfiShmTag::of(entry.data) == connection.tag && !connection.doomed;
  const Kind kind = OfiShmTag::kind(entry.data);
  if (ours && kind == Kind::kPacket && connection.state == State::kConnected) {
    Completion received;
    received.kind = Completion::Kind::kReceived;
    received.connection = connection.id;
    received.bytes = {chunk.bytes, entry.len};
    received.buffer = &chunk;
    completions_.push(std::move(received));
    return;
  }
  chunks_.drop_user(chunk);
  if (!ours) return;
  if (kind == Kind::kHello && connection.state == State::kAgreeing) {
    connection.hello_received = true;
    connect_if_greeted(connection);
  }
  if (kind == Kind::kLast) {
    connection.peer_finished = true;
    if (connection.state == State::kConnected) end_soon(connection.id, StatusCode::kClosed);
  }
}

void OfiShmDriver::take_error(OfiShmConnection& connection) {
  const fi_cq_err_entry error = connection.endpoint->read_error();
  end_soon(connection.id,
           ofi_status(StatusCode::kPeerFailed,
                      "the connection to " + to_text(connection.peer.socket), error.err));
}

bool OfiShmDriver::looking_is_due() {
  ++polls_;
  if (look_soon_ || !unsettled_.empty() || door_.busy() || polls_ >= kLookEvery) return true;
  return look_timer_.ticked();
}

void OfiShmDriver::look() {
  polls_ = 0;
  // Before what woke us is read, so that nothing more comes.
  if (std::exchange(look_soon_, false)) {
    for (OfiShmConnection* const connection : opened_) connection->gate->wake_up();
  }
  ready_.clear();
  arrivals_.clear();
  door_.look(&arrivals_, &ready_);
  for (Door::Event& arrival : arrivals_) on_door(arrival);
  end_all_due();
  for (const ConnectionId id : ready_) {
    OfiShmConnection* const connection = find(id);
    if (connection) on_control(*connection);
  }
  if (deadline_timer_.ticked() && !unsettled_.empty()) check_deadlines();
  end_all_due();
}

void OfiShmDriver::advance_unsettled() {
  advancing_ = unsettled_;
  for (const ConnectionId id : advancing_) {
    OfiShmConnection& connection = *find(id);
    if (connection.doomed) continue;
    if (connection.state == State::kAgreeing) {
      if (connection.endpoint) {
        greet(connection);
      } else {
        offer(connection);
      }
    }
    if (connection.state != State::kClosing) continue;
    if (!connection.last_sent) send_last(connection);
    if (connection.last_sent && connection.peer_finished) end_soon(id, connection.gone);
  }
}

Status OfiShmDriver::watch(std::vector<pollfd>* out) {
  if (!completions_.empty() || connections_.has_due() || !hung_up_.empty() || door_.has_events()) {
    return StatusCode::kAgain;
  }
  look_soon_ = true;  // a control socket or a stranger may wake the caller
  for (OfiShmConnection* const connection : opened_) {
    const bool again = std::exchange(connection->turned_away, false);
    if (again || !connection->gate->fall_asleep()) return StatusCode::kAgain;
  }
  out->push_back({door_.watch().fd(), POLLIN, 0});
  return {};
}

}  // namespace mad
