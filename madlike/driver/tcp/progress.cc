// The poll path: what waits is sent, and sockets are read - all of them when there are few, else
// those that have something.
#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/tcp/driver.h"

namespace mad {
namespace {

// Where sockets are read unasked: polls between two looks at the others at the most, and between
// two at the clock, whose next tick is a reason for one.
constexpr std::uint32_t kLookEvery = 256;
constexpr std::uint32_t kTickEvery = 8;

// Polls between two looks at the others at the most, where those that were found have more all the
// time than polls take.
constexpr std::uint32_t kLookWhileReading = 16;

// Bytes read of what nothing is known of yet: less than a piece leaves long packets in the socket.
constexpr std::size_t kAhead = 1024;
constexpr std::size_t kBriefAhead = 4 * 1024;    // bytes behind a large record
constexpr std::size_t kReadsPerPoll = 16;        // of one connection
constexpr std::size_t kMostListed = 256 * 1024;  // bytes that one read is offered places for

}  // namespace

std::size_t TcpDriver::poll(Completion* out, std::size_t capacity) {
  end_all_due();
  if (!sending_.empty()) flush_waiting();
  if (looking_is_due()) look();
  std::size_t count = completions_.take(out, capacity);
  count += reads_unasked() ? receive_unasked(out + count, capacity - count)
                           : receive_readable(out + count, capacity - count);
  end_all_due();
  forget_left();
  return count;
}

// From all connections, which are few; in turn the one and the other comes first.
std::size_t TcpDriver::receive_unasked(Completion* out, std::size_t capacity) {
  std::size_t count = 0;
  last_first_ = !last_first_;
  readable_.clear();
  for (std::size_t i = 0; i < standing_.size(); ++i) {
    TcpConnection& connection = *standing_[last_first_ ? standing_.size() - 1 - i : i];
    connection.listed = false;
    const bool there_is_room = count < capacity;
    if (there_is_room) count += receive(connection, out + count, capacity - count);
    if (!there_is_room || connection.unread) list_readable(connection);
  }
  return count;
}

// From those that have something; who has more than there is room for is the last next time.
std::size_t TcpDriver::receive_readable(Completion* out, std::size_t capacity) {
  std::size_t count = 0;
  std::size_t next = 0;
  const std::size_t listed = readable_.size();
  for (; next < listed && count < capacity; ++next) {
    TcpConnection* const connection = find(readable_[next]);
    if (!connection || !connection->stands()) continue;
    connection->listed = false;
    count += receive(*connection, out + count, capacity - count);
    connection->inbox.rest();
    if (connection->unread) list_readable(*connection);
  }
  readable_.erase(readable_.begin(), readable_.begin() + static_cast<std::ptrdiff_t>(next));
  return count;
}

Status TcpDriver::watch(std::vector<pollfd>* out) {
  if (!completions_.empty() || connections_.has_due() || !readable_.empty() || door_.has_events()) {
    return StatusCode::kAgain;
  }
  for (const ConnectionId id : sending_) {
    TcpConnection& connection = *find(id);
    connection.outbox.hurry();  // its room may be what ends the sleep
    if (connection.wakes_to_send) continue;
    connection.wakes_to_send = true;
    door_.watch().change(connection.socket.fd(), TcpWatch::Role::kConnection, id, true);
  }
  look_soon_ = true;  // a listener or a stranger may wake the caller
  out->push_back({door_.watch().fd(), POLLIN, 0});
  return StatusCode::kOk;
}

void TcpDriver::release(void* buffer) { chunks_.drop_user(*static_cast<Chunk*>(buffer)); }

bool TcpDriver::looking_is_due() {
  ++polls_;
  if (!reads_unasked()) return readable_.empty() || polls_ >= kLookWhileReading;
  if (look_soon_ || closing_ > 0 || door_.busy() || polls_ >= kLookEvery) return true;
  if (polls_ % kTickEvery != 0) return false;
  return look_timer_.ticked();
}

void TcpDriver::look() {
  polls_ = 0;
  look_soon_ = false;
  look_at_door();
  if (deadline_timer_.ticked()) check_deadlines();
  end_all_due();
}

void TcpDriver::on_readable(TcpConnection& connection) {
  if (connection.stands() && !reads_unasked()) list_readable(connection);
}

void TcpDriver::list_readable(TcpConnection& connection) {
  if (connection.listed) return;
  connection.listed = true;
  readable_.push_back(connection.id);
}

void TcpDriver::flush_waiting() {
  for (std::size_t i = 0; i < sending_.size(); ++i) {
    TcpConnection& connection = *find(sending_[i]);
    if (connection.outbox.due()) flush(connection);
  }
  const auto rests = [this](ConnectionId id) {
    TcpConnection& connection = *find(id);
    connection.waits_to_send = !connection.outbox.empty();
    return !connection.waits_to_send;
  };
  sending_.erase(std::remove_if(sending_.begin(), sending_.end(), rests), sending_.end());
}

void TcpDriver::flush(TcpConnection& connection) {
  finished_.clear();
  const bool moved = connection.outbox.flush(connection.socket.fd(), &finished_);
  for (const TcpOutbox::Finished& finished : finished_) {
    completions_.push(finished.kind, connection.id, finished.context, {});
  }
  const bool empty = connection.outbox.empty();
  if (empty && connection.wakes_to_send) {
    connection.wakes_to_send = false;
    door_.watch().change(connection.socket.fd(), TcpWatch::Role::kConnection, connection.id);
  }
  if (connection.state != State::kClosing) return;
  if (moved) hold_off(connection);
  if (!connection.last_posted) return post_last(connection);
  if (empty) (void)shutdown(connection.socket.fd(), SHUT_WR);
}

// Takes what one connection has.  Stops once there is something to tell: packets are dealt with
// while they are in the cache.
std::size_t TcpDriver::receive(TcpConnection& connection, Completion* out, std::size_t capacity) {
  std::size_t count = 0;
  connection.unread = false;
  connection.rest_is_free = false;
  Read last = connection.inbox.at_rest() ? read(connection) : Read::kAllAsked;
  for (std::size_t reads = 0; last != Read::kNothing; ++reads) {
    const bool all_taken = take_records(connection, out, capacity, &count);
    if (!all_taken || count > 0 || last == Read::kLess || reads == kReadsPerPoll) break;
    last = read(connection);
  }
  return count;
}

// What is in memory; false: nothing is to be read now.
bool TcpDriver::take_records(TcpConnection& connection, Completion* out, std::size_t capacity,
                             std::size_t* count) {
  TcpInbox& inbox = connection.inbox;
  for (;;) {
    if (inbox.write_left() > 0 && !fill_write(connection)) return true;
    if (*count == capacity) {
      connection.unread = !inbox.empty();
      return false;
    }
    if (connection.rest_goes_to != nullptr) {  // it is there
      connection.rest_goes_to = nullptr;
      give_packet(connection, {}, &out[(*count)++]);
      continue;
    }
    Segment packet;
    const bool begins = inbox.packet_left() == 0;
    switch (inbox.next(&packet)) {
      case TcpInbox::Found::kNothing:
        return true;
      case TcpInbox::Found::kPacket: {
        if (connection.state == State::kClosing) break;
        connection.rest_is_free = begins && inbox.packet_left() > 0;
        give_packet(connection, packet, &out[(*count)++]);
        break;
      }
      case TcpInbox::Found::kWrite:
        if (begin_write(connection)) break;
        [[fallthrough]];
      case TcpInbox::Found::kForeign:
        end_soon(connection.id, Status(StatusCode::kProtocol,
                                       to_text(connection.peer.socket) +
                                           " sent what no tcp engine of this version sends"));
        return false;
      case TcpInbox::Found::kLast:
        end_soon(connection.id, connection.state == State::kClosing
                                    ? connection.gone
                                    : Status(StatusCode::kClosed, "the peer disconnected"));
        return false;
    }
  }
}

// A packet, the next piece of one, or (without bytes) the word that the rest of one is in place.
void TcpDriver::give_packet(TcpConnection& connection, Segment bytes, Completion* out) {
  Chunk* const chunk = bytes.size > 0 ? connection.inbox.chunk() : nullptr;
  if (chunk != nullptr) chunks_.add_user(*chunk);
  connection.told = true;
  out->kind = Completion::Kind::kReceived;
  out->connection = connection.id;
  out->context = nullptr;
  out->bytes = bytes;
  out->rest = connection.inbox.packet_left();
  out->buffer = chunk;
  out->status = Status();
}

Status TcpDriver::place_rest(ConnectionId id, ScatteredMemory& memory, std::uint64_t first) {
  TcpConnection* const found = find(id);
  if (!found || found->state != State::kConnected || !found->rest_is_free) {
    return StatusCode::kAgain;
  }
  found->rest_is_free = false;
  found->rest_goes_to = &memory;
  found->rest_first = first;
  found->inbox.divert_packet();
  return {};
}

// Whether the write that begins is one into memory that this peer was given.
bool TcpDriver::begin_write(TcpConnection& connection) {
  if (connection.state == State::kClosing) return true;
  const TcpRecord& write = connection.inbox.write();
  const Exposure* const exposure = exposures_.find(connection.id, write.key);
  return exposure && exposure->holds(write.offset, write.bytes);
}

// Where the next `size` bytes of the write, or rest of a packet, under way belong, or the first of
// them; 0: nowhere, the memory was withdrawn.
std::size_t TcpDriver::write_target(const TcpConnection& connection, std::size_t size, Segment* out,
                                    std::size_t capacity) {
  const TcpRecord& write = connection.inbox.write();
  const std::uint64_t done = write.bytes - connection.inbox.write_left();
  if (connection.rest_goes_to != nullptr) {
    return connection.rest_goes_to->runs(connection.rest_first + done, size, out, capacity);
  }
  const Exposure* const exposure = exposures_.find(connection.id, write.key);
  if (connection.state != State::kConnected || !exposure) return 0;
  return exposure->runs(write.offset + done, size, out, capacity);
}

// Nothing that follows such a write may be received.
void TcpDriver::lost_target(const TcpConnection& connection) {
  end_soon(connection.id,
           Status(StatusCode::kPeerFailed, "memory that " + to_text(connection.peer.socket) +
                                               " is writing is not exposed any more"));
}

// Brings the bytes of the write that are in memory where they belong; false: some are missing.
bool TcpDriver::fill_write(TcpConnection& connection) {
  TcpInbox& inbox = connection.inbox;
  while (inbox.write_bytes().size > 0) {
    Segment bytes = inbox.write_bytes();
    const std::size_t count = write_target(connection, bytes.size, places_.data(), kMaxRuns);
    if (count == 0 && connection.state == State::kConnected) {
      lost_target(connection);
      return false;
    }
    std::size_t taken = count == 0 ? bytes.size : 0;  // a closing connection wants nothing
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(places_[i].data, bytes.begin() + taken, places_[i].size);
      taken += places_[i].size;
    }
    inbox.took_write_bytes(taken);
  }
  return inbox.write_left() == 0;
}

// Reads the socket once.  The bytes of a write go where they belong, what follows them into the
// inbox.
TcpDriver::Read TcpDriver::read(TcpConnection& connection) {
  TcpInbox& inbox = connection.inbox;
  std::size_t count = 0;
  std::size_t past = 0;
  if (inbox.write_left() > 0) {
    const std::size_t size = std::min(inbox.write_left(), kMostListed);
    count = write_target(connection, size, places_.data(), kMaxRuns);
    past = SegmentList{places_.data(), count}.bytes();
    if (past == 0 && connection.state == State::kConnected) {
      lost_target(connection);
      return Read::kNothing;
    }
  }
  std::size_t asked = past;
  if (past == inbox.write_left() || past == 0) {
    const bool brief =
        past > 0 || inbox.packet_left() > 0 || connection.exposed > 0 || !inbox.empty();
    const Segment room = inbox.room(brief ? kBriefAhead : limits_.piece_bytes + kAhead, past > 0);
    if (room.size == 0) {
      look_soon_ = true;
      return Read::kNothing;
    }
    places_[count++] = room;
    asked += room.size;
  }
  msghdr message{};
  message.msg_iov = reinterpret_cast<iovec*>(places_.data());
  message.msg_iovlen = count;
  ssize_t got = 0;
  do {
    got = count == 1 ? recv(connection.socket.fd(), places_[0].data, places_[0].size, MSG_DONTWAIT)
                     : recvmsg(connection.socket.fd(), &message, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) {
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
      on_end_of_stream(connection, got == 0 ? 0 : errno);
    }
    return Read::kNothing;
  }
  const auto bytes = static_cast<std::size_t>(got);
  const std::size_t passed = std::min(bytes, past);
  inbox.read_past(passed);
  inbox.filled(bytes - passed);
  if (connection.state == State::kClosing) {
    hold_off(connection);
  }
  return bytes == asked ? Read::kAllAsked : Read::kLess;
}

void TcpDriver::on_end_of_stream(TcpConnection& connection, int error) {
  const std::string peer = to_text(connection.peer.socket);
  Status why = connection.gone;
  if (connection.state != State::kClosing) {
    why = error == 0 ? Status(StatusCode::kPeerFailed, "the engine at " + peer + " is gone")
                     : tcp_status(StatusCode::kPeerFailed, "the connection to " + peer, error);
  }
  end_soon(connection.id, std::move(why));
}

}  // namespace mad
