// Remote writes as they come: bytes in a message, or where to read them in the peer's memory.
#include <algorithm>
#include <cstring>
#include <utility>

#include "madlike/base/copy_bytes.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/ucx/driver.h"

namespace mad {

// `move` fills one list of places after the other; false: the connection ends.
template <typename Move>
bool UcxDriver::place(const UcxConnection& connection, const UcxHeader& header, std::uint64_t bytes,
                      const Move& move) {
  const Status placed = exposures_.fill(connection.id, {header.offset, header.key}, bytes,
                                        places_.data(), kMaxRuns, move);
  if (placed.ok()) return true;
  end_soon(connection.id, Status(placed.code(), to_text(connection.peer.socket) + ": " +
                                                    std::string(placed.message())));
  return false;
}

void UcxDriver::take_write(UcxConnection& connection, Segment message) {
  if (connection.state != State::kConnected) return;
  UcxHeader header;
  if (message.size < sizeof(header)) return;
  std::memcpy(&header, message.data, sizeof(header));
  const std::byte* bytes = message.begin() + sizeof(header);
  (void)place(connection, header, message.size - sizeof(header), [&bytes](SegmentList places) {
    for (const Segment& place : places) {
      copy_bytes(place.data, bytes, place.size);
      bytes += place.size;
    }
    return Status();
  });
}

void UcxDriver::take_pull(UcxConnection& connection, Segment message) {
  if (connection.state != State::kConnected) return;
  UcxHeader header;
  if (message.size < sizeof(header)) return;
  std::memcpy(&header, message.data, sizeof(header));
  const Segment list{message.begin() + sizeof(header), message.size - sizeof(header)};
  if (!connection.we_read || !listed_.take(list, kMostPull)) {
    return end_soon(connection.id,
                    Status(StatusCode::kProtocol,
                           to_text(connection.peer.socket) + " wants what no engine reads"));
  }
  const ProcessName& process = connection.offered->process;
  reader_.begin(process.pid, listed_.runs());
  const bool placed =
      place(connection, header, listed_.runs().bytes(), [this, &process](SegmentList places) {
        Status read = reader_.read(places);
        return read.ok() ? check_is_still(process) : read;
      });
  if (!placed) return;
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
