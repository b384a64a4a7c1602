// Remote writes: the sender lists where the bytes are, and the receiver reads them from there,
// straight to where they belong: one copy, by the kernel.  How many it has read it says in a word
// of the lane.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "madlike/driver/shm/driver.h"

namespace mad {
namespace {

/// What a record of kind kPull begins with; the runs follow, each a Segment of the sender's.
struct PullHead {
  std::uint64_t key;     // of the exposure
  std::uint64_t offset;  // in it
};

// Payload of one run is offered from so many bytes on: on request, and where it is to be found out
// whether that is faster; less leaves at once, in one piece.
constexpr std::size_t kOfferedFrom = 12 * 1024, kWeighedFrom = 16 * 1024;
// On request runs of so many bytes are read.
constexpr std::size_t kRunsFrom = 4096;
// A number of a process comes again only once all others were given away, which takes longer.
constexpr std::chrono::milliseconds kProofStands{10};

}  // namespace

LinkCaps ShmDriver::link_of(const ShmConnection& connection) const {
  LinkCaps link = caps_.nearest();
  if (connection.we_read && connection.they_read) link.write_runs_from = kRunsFrom;
  if (connection.they_read) {
    link.offered_from = reads_all() ? kOfferedFrom : kWeighedFrom;
    link.most_offered = kMostOffered;
  }
  link.weighs_offers = !reads_all();
  link.offers_are_weighed = connection.they_read && connection.they_weigh;
  return link;
}

Status ShmDriver::post_write(ConnectionId id, SegmentList packet, const ExposureToken& token,
                             std::uint64_t offset, void* context) {
  ShmConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  const std::size_t bytes = packet.bytes();
  if (packet.count > found->link.max_write_iov || bytes > found->link.max_write_bytes ||
      bytes == 0) {
    return {StatusCode::kInvalidArgument, "write beyond the limits of shm"};
  }
  if (!found->they_read) {
    return {StatusCode::kInvalidArgument,
            "shm: the peer does not read runs of this process's memory"};
  }
  if (found->pulls.size() == ShmPulls::kMost) return StatusCode::kAgain;
  const PullHead head{token.key, token.address + offset};
  const std::size_t list_bytes = packet.count * sizeof(Segment);
  if (!reserve(*found, sizeof(head) + list_bytes)) return no_room(*found);
  ShmWriter& out = *found->out;
  std::byte* const to = out.memory().at(out.content());
  std::memcpy(to, &head, sizeof(head));
  std::memcpy(to + sizeof(head), packet.first, list_bytes);
  out.publish({RingMark::Kind::kPull, static_cast<std::uint32_t>(sizeof(head) + list_bytes), 0});
  call_reader(out.memory());
  if (found->pulls.size() == 0) pulling_.push_back(id);
  found->pulls.push(context);
  return StatusCode::kInProgress;
}

// What is read here the peer may change meanwhile: it is looked at once it has been copied.
Status ShmDriver::take_pull(ShmConnection& connection, Segment record) {
  const std::string who = "shm: process " + std::to_string(connection.peer.pid);
  PullHead head;
  const bool listed =
      record.size > sizeof(head) &&
      runs_.take({record.begin() + sizeof(head), record.size - sizeof(head)}, kMostPull);
  if (!listed || !connection.we_read) {
    return {StatusCode::kProtocol, who + " wants what no engine reads"};
  }
  std::memcpy(&head, record.data, sizeof(head));
  reader_.begin(connection.process_name.pid, runs_.runs());
  const Status read = exposures_.fill(
      connection.id, {head.offset, head.key}, runs_.runs().bytes(), places_.data(), places_.size(),
      [&](SegmentList places) { return read_peer(connection, places); });
  if (!read.ok()) return {read.code(), who + ": " + std::string(read.message())};
  connection.in->memory().store_pulled(++connection.pulled);
  wake_other_side(connection.in->memory());
  return {};
}

Status ShmDriver::read_offered(ConnectionId id, std::uint64_t address, std::uint64_t bytes,
                               ScatteredMemory& memory) {
  ShmConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  if (!found->we_read || bytes > kMostOffered) {
    return {StatusCode::kInvalidArgument, "shm: the peer offers what no engine reads"};
  }
  const Segment run{reinterpret_cast<void*>(address), static_cast<std::size_t>(bytes)};
  reader_.begin(found->process_name.pid, {&run, 1});
  const Exposure target{id, bytes, {}, &memory, 0};
  return target.fill(0, bytes, places_.data(), places_.size(),
                     [&](SegmentList places) { return read_peer(*found, places); });
}

// What was read counts if the peer has not taken it back, which its lane says, and if the process
// of that number was the peer: it was when its word was found last, and the number cannot be
// another's so soon after.  To look at the word each time would cost as much as 4 KiB.
Status ShmDriver::read_peer(ShmConnection& connection, SegmentList places) {
  Status read = reader_.read(places);
  if (!read.ok()) return read;
  shm_fence();  // what was read is older than what is loaded now
  const std::uint32_t state = connection.in->memory().head().state.load(std::memory_order_relaxed);
  if (state != static_cast<std::uint32_t>(ShmLaneState::kOpen)) {
    return {StatusCode::kPeerFailed,
            "process " + std::to_string(connection.peer.pid) + " took back what it offered"};
  }
  const PolledClock::time_point now = CoarseClock::now();
  if (now - connection.proven_at < kProofStands) return {};
  Status proof = check_is_still(connection.process_name);
  if (proof.ok()) connection.proven_at = now;
  return proof;
}

// What the peer says it has read; false: it says what cannot be.
bool ShmDriver::take_answers(ShmConnection& connection) {
  const std::uint64_t count = connection.out->memory().load_pulled() - connection.answered;
  if (count > connection.pulls.size()) return false;
  connection.answered += count;
  for (std::uint64_t i = 0; i < count; ++i) {
    completions_.push(Completion::Kind::kWritten, connection.id, connection.pulls.pop(), {});
  }
  return true;
}

// Of all peers that were to read something.
void ShmDriver::take_all_answers() {
  const auto answered = [this](ConnectionId id) {
    ShmConnection& connection = *find(id);
    if (!take_answers(connection)) {
      const std::string who = "shm: process " + std::to_string(connection.peer.pid);
      end_soon(id, Status(StatusCode::kProtocol, who + " read what was never written"));
      return true;
    }
    if (connection.pulls.size() > 0) return false;
    if (connection.state == State::kClosing) end_soon(id, connection.gone);
    return true;
  };
  pulling_.erase(std::remove_if(pulling_.begin(), pulling_.end(), answered), pulling_.end());
}

// What was posted behind a write is lost with it.
bool ShmDriver::arrived(ConnectionId id) const {
  const ShmConnection* const connection = connections_.find(id);
  return connection == nullptr || connection->pulls.size() == 0;
}

// Whether one of them has read more.
bool ShmDriver::misses_answer() {
  return std::any_of(pulling_.begin(), pulling_.end(), [this](ConnectionId id) {
    ShmConnection& connection = *find(id);
    return connection.out->memory().load_pulled() != connection.answered;
  });
}

}  // namespace mad
