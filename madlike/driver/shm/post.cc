// Posting: packets are written where their receiver reads them.
#include <algorithm>
#include <utility>

#include "madlike/base/copy_bytes.h"
#include "madlike/driver/shm/driver.h"

namespace mad {
namespace {

constexpr std::size_t kAlignment = 8;
// Short runs may be collected beside the ring and then copied there as one, from so many bytes on.
constexpr std::size_t kStagedFrom = 2048;

}  // namespace

Status ShmDriver::no_room(const ShmConnection& connection) {
  if (!connection.out->corrupt()) return StatusCode::kAgain;
  Status why(StatusCode::kProtocol, "shm: process " + std::to_string(connection.peer.pid) +
                                        " wrote to its words what no engine writes");
  end_soon(connection.id, why);
  return why;
}

Status ShmDriver::post_send(ConnectionId id, SegmentList packet, void* /*context*/) {
  ShmConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  const std::size_t bytes = packet.bytes();
  if (packet.count > found->link.max_iov || bytes > found->link.max_packet_bytes || bytes == 0) {
    return {StatusCode::kInvalidArgument, "packet beyond the limits of shm"};
  }
  if (!reserve(*found, bytes)) return no_room(*found);
  ShmWriter& out = *found->out;
  std::byte* to = out.memory().at(out.content());
  for (const Segment& segment : packet) {
    copy_bytes(to, segment.data, segment.size);
    to += segment.size;
  }
  out.publish({RingMark::Kind::kPacket, static_cast<std::uint32_t>(bytes), 0});
  call_reader(out.memory());
  return {};
}

void ShmDriver::write_runs(PacketWriter& writer, StagingTimes& times, Segment room) {
  const StagingTimes::Way way = times.next();
  const auto begin = way.timed ? StagingTimes::Clock::now() : StagingTimes::Clock::time_point();
  if (way.staged) {
    writer.write({staging_.content(), room.size});
    copy_bytes(room.data, staging_.content(), room.size);
  } else {
    writer.write(room);
  }
  if (way.timed) times.took(way, room.size, StagingTimes::Clock::now() - begin);
}

// As few pieces as can be, all about as long.
Status ShmDriver::post_lent(ConnectionId id, PacketWriter& writer) {
  ShmConnection* const found = find(id);
  if (!found || found->state != State::kConnected) return not_connected(found);
  const std::size_t left = writer.left();
  std::size_t bytes = left;
  if (left > kShmPieceBytes) {
    if (left - 1 > RingMark::kMostLeft) {
      return {StatusCode::kInvalidArgument, "packet beyond the limits of shm"};
    }
    const std::size_t pieces = (left + kShmPieceBytes - 1) / kShmPieceBytes;
    bytes = ((left + pieces - 1) / pieces + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (!reserve(*found, bytes)) return no_room(*found);
  ShmWriter& out = *found->out;
  std::byte* const to = out.memory().at(out.content());
  if (bytes >= kStagedFrom && writer.run_bytes() <= StagingTimesByRun::kMostRun) {
    write_runs(writer, found->staging_times.of(writer.run_bytes()), {to, bytes});
  } else {
    writer.write({to, bytes});
  }
  out.publish({RingMark::Kind::kPacket, static_cast<std::uint32_t>(bytes), left - bytes});
  call_reader(out.memory());
  return {};
}

}  // namespace mad
