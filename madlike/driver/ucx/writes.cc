// Remote writes as they come: bytes in a message, or where to read them in the peer's memory.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ucx/driver.h"

namespace mad {
namespace {

using RunsRoom = std::array<Segment, ProcessReader::kMostRuns>;

/// None: no engine sends such a list.
SegmentList listed_runs(Segment list, RunsRoom* room) {
  if (list.size > sizeof(*room) || list.size % sizeof(Segment) != 0) return {};
  std::memcpy(room->data(), list.data, list.size);
  return {room->data(), list.size / sizeof(Segment)};
}

bool hold_at_most(SegmentList runs, std::size_t bytes) {
  for (const Segment& run : runs) {
    if (run.size > bytes) return false;
    bytes -= run.size;
  }
  return true;
}

}  // namespace

// `move` fills one list of places after the other.
template <typename Move>
Status UcxDriver::place(const UcxConnection& connection, const UcxHeader& header,
                        std::uint64_t bytes, const Move& move) {
  const Exposure* const exposure = exposures_.find(connection.id, header.key);
  if (!exposure || !exposure->holds(header.offset, bytes)) {
    return {StatusCode::kProtocol,
            to_text(connection.peer.socket) + " wrote where it was not allowed to"};
  }
  for (std::uint64_t done = 0; done < bytes;) {
    const std::size_t count =
        exposure->runs(header.offset + done, bytes - done, places_.data(), kMaxRuns);
    if (count == 0) {
      return {StatusCode::kPeerFailed, "memory that " + to_text(connection.peer.socket) +
                                           " is writing is not exposed any more"};
    }
    const SegmentList places{places_.data(), count};
    Status moved = move(places);
    if (!moved.ok()) return moved;
    done += places.bytes();
  }
  return {};
}

void UcxDriver::take_write(UcxConnection& connection, Segment message) {
  if (connection.state != State::kConnected) return;
  UcxHeader header;
  if (message.size < sizeof(header)) return;
  std::memcpy(&header, message.data, sizeof(header));
  const std::byte* bytes = message.begin() + sizeof(header);
  Status placed =
      place(connection, header, message.size - sizeof(header), [&bytes](SegmentList places) {
        for (const Segment& place : places) {
          std::memcpy(place.data, bytes, place.size);
          bytes += place.size;
        }
        return Status();
      });
  if (!placed.ok()) end_soon(connection.id, std::move(placed));
}

void UcxDriver::take_pull(UcxConnection& connection, Segment message) {
  if (connection.state != State::kConnected) return;
  UcxHeader header;
  if (message.size < sizeof(header)) return;
  std::memcpy(&header, message.data, sizeof(header));
  RunsRoom room;
  const SegmentList runs =
      listed_runs({message.begin() + sizeof(header), message.size - sizeof(header)}, &room);
  if (!connection.we_read || runs.count == 0 || !hold_at_most(runs, kMostPull)) {
    return end_soon(connection.id,
                    Status(StatusCode::kProtocol,
                           to_text(connection.peer.socket) + " wants what no engine reads"));
  }
  reader_.begin(connection.offered->process, runs);
  Status placed = place(connection, header, runs.bytes(),
                        [this](SegmentList places) { return reader_.read(places); });
  if (!placed.ok()) return end_soon(connection.id, std::move(placed));
  if (connection.owed++ == 0) owing_.push_back(connection.id);
}

void UcxDriver::answer_pulls() {
  const auto answered = [this](ConnectionId id) {
    UcxConnection* const connection = find(id);
    if (!connection || connection->way.lane == nullptr) return true;
    const UcxHeader header{connection->offered->tag, 0, 0};
    const Segment count{&connection->owed, sizeof(connection->owed)};
    const ucs_status_t status =
        connection->way.lane->send(connection->way.endpoint.get(), UcxMessage::kPulled, header,
                                   {&count, 1}, count.size, nullptr);
    if (status == UCS_ERR_NO_RESOURCE) return false;
    connection->owed = 0;
    if (status != UCS_OK) on_failed(connection->way.endpoint.get());
    return true;
  };
  owing_.erase(std::remove_if(owing_.begin(), owing_.end(), answered), owing_.end());
}

void UcxDriver::take_answer(UcxConnection& connection, Segment message) {
  std::uint64_t count = 0;
  if (message.size != UcxHeader::kTagBytes + sizeof(count)) return;
  std::memcpy(&count, message.begin() + UcxHeader::kTagBytes, sizeof(count));
  if (count > connection.pulls.size()) {
    return end_soon(connection.id, Status(StatusCode::kProtocol, to_text(connection.peer.socket) +
                                                                     " read what we never wrote"));
  }
  if (connection.state == State::kClosing) {
    connection.deadline = door_.now() + options_.close_timeout;
  }
  for (; count > 0; --count) {
    completions_.push(Completion::Kind::kWritten, connection.id, connection.pulls.pop(), {});
  }
}

}  // namespace mad
