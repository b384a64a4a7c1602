// How connections come.
#include <algorithm>
#include <exception>

#include "madlike/driver/tcp/driver.h"

namespace mad {
namespace {

constexpr DoorMagic kMagic{'M', 'A', 'D', 'T', 'C', 'P'};
// A connection carries one thing at a time: a longer write would keep small packets waiting.
constexpr std::size_t kMaxWriteBytes = 1024 * 1024;

}  // namespace

TcpDriver::TcpDriver(const TcpOptions& options, Door door)
    : DoorDriver(std::move(door), options),
      options_(options),
      limits_{options.max_packet_bytes, options.piece_bytes},
      chunks_(options.receive_chunks, TcpInbox::chunk_bytes(limits_)) {
  caps_.name = "tcp";
  caps_.remote_write = true;
  caps_.scattered_writes = true;
  LinkCaps& link = caps_.links.front();
  link.prices = caps_.name;
  link.max_iov = TcpOutbox::kMaxSegments;
  link.max_packet_bytes = options.max_packet_bytes;
  link.inject_bytes = std::min(TcpOutbox::kCopyBytes, link.max_packet_bytes);
  link.piece_bytes = limits_.piece_bytes;
  link.cork_bytes = std::min(TcpOutbox::kCorkBytes, link.max_packet_bytes);
  link.short_bytes = std::min(TcpOutbox::kShortBytes, link.max_packet_bytes);
  link.max_write_iov = link.max_iov;
  link.max_write_bytes = kMaxWriteBytes;
  link.write_runs_from = 0;
}

Result<std::unique_ptr<Driver>> open_tcp(const TcpOptions& options) {
  if (options.receive_chunks == 0 || options.max_packet_bytes < 256 || options.piece_bytes < 256) {
    return Status(StatusCode::kInvalidArgument, "tcp: too few or too small receive chunks");
  }
  Result<Door> door = Door::open({"tcp", kMagic}, options);
  if (!door.ok()) return door.status();
  try {
    return std::unique_ptr<Driver>(std::make_unique<TcpDriver>(options, std::move(*door)));
  } catch (const std::exception& error) {
    return Status(StatusCode::kNoMemory, std::string("opening tcp: ") + error.what());
  }
}

void TcpDriver::set_state(TcpConnection& connection, State state) {
  const bool stood = connection.stands();
  connection.state = state;
  if (connection.stands() == stood) return;
  if (stood) {
    standing_.erase(std::find(standing_.begin(), standing_.end(), &connection));
  } else {
    standing_.push_back(&connection);
    sending_.reserve(standing_.size());       // a message that left in part is not to fail
    readable_.reserve(standing_.capacity());  // polls allocate nothing
  }
}

TcpConnection& TcpDriver::add_connection(const DoorAddress& address) {
  chunks_.allow_one_more();
  TcpConnection& added = connections_.add(address, chunks_, limits_);
  added.link = caps_.nearest();
  return added;
}

void TcpDriver::on_socket(TcpConnection& connection) {
  set_state(connection, State::kConnected);
  connection.told = true;
  completions_.push(Completion::Kind::kConnected, connection.id, nullptr, {});
}

}  // namespace mad
