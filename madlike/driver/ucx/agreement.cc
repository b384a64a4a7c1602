// How the two sides of a connection come by a transport, over its control socket.
//
// Both try the transports that both have in the same order, and say of each whether it works, until
// both say yes; then each sends a hello over it.  Who has sent one and got one is connected.
#include <sys/stat.h>

#include <array>
#include <utility>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ucx/driver.h"

namespace mad {
namespace {

// Of one control socket: an offer and two notes are what there is to say.
constexpr int kMessagesAtOnce = 8;
static_assert(UcxOffer::kBytes <= DoorReader::kMostBytes);

}  // namespace

void UcxDriver::make_offer(UcxConnection& connection) {
  UcxOffer& own = connection.own;
  own.tag = connection.tag;
  struct stat network {};
  if (stat("/proc/self/ns/net", &network) == 0) {
    own.namespace_device = network.st_dev;
    own.namespace_inode = network.st_ino;
  }
  for (std::size_t i = 0; i < kUcxTransports; ++i) {
    UcxLane* const lane = fabric_->lane(static_cast<UcxTransport>(i));
    if (lane == nullptr) continue;
    if (posix_broke_ && lane->transport() == UcxTransport::kPosix) continue;
    Result<UctEndpoint> prepared = lane->prepare(&own.lanes[i]);
    if (!prepared.ok()) return end_soon(connection.id, prepared.status());
    connection.prepared[i] = std::move(*prepared);
  }
  const auto bytes = own.pack();
  connection.reader.expect(UcxOffer::kBytes);
  (void)tcp_send(connection.control.fd(), bytes.data(), bytes.size());  // else its end is read
}

void UcxDriver::on_control(UcxConnection& connection) {
  for (int i = 0; i < kMessagesAtOnce && connection.control && !connection.doomed; ++i) {
    switch (connection.reader.read(connection.control.fd())) {
      case DoorReader::Outcome::kWaiting:
        return;
      case DoorReader::Outcome::kEnded:
        return on_hang_up(connection);
      case DoorReader::Outcome::kComplete:
        break;
    }
    const bool understood = connection.offered ? on_note(connection) : on_offer(connection);
    if (!understood) {
      return end_soon(connection.id, Status(StatusCode::kProtocol,
                                            to_text(connection.peer.socket) +
                                                " sent what no ucx engine of this version sends"));
    }
    connection.reader.expect(UcxNote::kBytes);
  }
}

bool UcxDriver::on_offer(UcxConnection& connection) {
  connection.offered = UcxOffer::parse(connection.reader.bytes());
  if (!connection.offered) return false;
  if (connection.state != State::kAgreeing) return true;  // we leave
  auto common = transports_in_common(connection.own, *connection.offered);
  if (!common.ok()) {
    end_soon(connection.id,
             Status(common.status().code(), to_text(connection.peer.socket) + ": " +
                                                std::string(common.status().message())));
    return true;
  }
  connection.candidates = std::move(*common);
  try_candidate(connection);
  return true;
}

bool UcxDriver::on_note(UcxConnection& connection) {
  const auto note = UcxNote::parse(connection.reader.bytes());
  if (!note) return false;
  if (connection.state != State::kAgreeing) return true;  // its hello came first, or we leave
  if (note->transport != connection.candidates[connection.candidate]) return false;
  connection.they = note->kind == UcxNote::Kind::kYes;
  judge_candidate(connection);
  return true;
}

void UcxDriver::try_candidate(UcxConnection& connection) {
  const UcxTransport transport = connection.candidates[connection.candidate];
  const auto i = static_cast<std::size_t>(transport);
  UcxLane& lane = *fabric_->lane(transport);
  const bool broke = posix_broke_ && transport == UcxTransport::kPosix;
  const Status wired = broke ? Status(StatusCode::kUnreachable, "ucx: our shared memory broke")
                             : lane.wire(&connection.prepared[i], connection.offered->lanes[i]);
  connection.we = wired.ok();
  connection.they.reset();
  if (wired.ok()) {
    connection.endpoint = std::move(connection.prepared[i]);
    connection.lane = &lane;
    lane.add_user();
    endpoints_[connection.endpoint.get()] = connection.id;
  } else {
    connection.gone = wired;  // if no other does
  }
  const UcxNote note{wired.ok() ? UcxNote::Kind::kYes : UcxNote::Kind::kNo, transport};
  const auto bytes = note.pack();
  (void)tcp_send(connection.control.fd(), bytes.data(), bytes.size());  // else its end is read
}

void UcxDriver::judge_candidate(UcxConnection& connection) {
  if (*connection.we && *connection.they) return;  // greet() follows
  if (*connection.we) {
    drop_endpoint(connection);
    connection.gone = Status(StatusCode::kUnreachable, "ucx: its side cannot reach us");
  }
  if (++connection.candidate < connection.candidates.size()) return try_candidate(connection);
  end_soon(connection.id,
           Status(StatusCode::kUnreachable,
                  to_text(connection.peer.socket) + ": " + std::string(connection.gone.message())));
}

void UcxDriver::greet(UcxConnection& connection) {
  const bool agreed = connection.we.value_or(false) && connection.they.value_or(false);
  if (!agreed || connection.hello_sent) return;
  const UcxHeader header{connection.offered->tag, 0, 0};
  // So long that shared memory has to attach the peer's buffers: if it cannot, here is the place.
  std::array<std::byte, UcxLane::kMostShort> rest{};
  const Segment segment{rest.data(), rest.size()};
  const ucs_status_t status = connection.lane->send(connection.endpoint.get(), UcxMessage::kHello,
                                                    header, {&segment, 1}, rest.size(), nullptr);
  if (status == UCS_ERR_NO_RESOURCE) return;  // not connected yet, or its queue is full
  if (status != UCS_OK) return on_failed(connection.endpoint.get());
  connection.hello_sent = true;
  for (UctEndpoint& other : connection.prepared) other.reset();
  connect_if_greeted(connection);
}

void UcxDriver::connect_if_greeted(UcxConnection& connection) {
  if (!connection.hello_sent || !connection.hello_received) return;
  set_state(connection, State::kConnected);
  tell(connection, Completion::Kind::kConnected, {});
}

}  // namespace mad
