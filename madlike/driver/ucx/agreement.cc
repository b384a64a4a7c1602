// How the two sides of a connection come by a transport, over its control socket.
//
// Both try the transports that both have in the same order, and say of each whether it works, until
// both say yes; then each sends a hello over it.  Who has sent one and got one is connected.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "madlike/base/say.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/ucx/driver.h"
#include "madlike/driver/ucx/manners.h"

namespace mad {
namespace {

// Of one control socket: an offer and two notes are what there is to say.
constexpr int kMessagesAtOnce = 8;
static_assert(UcxOffer::kBytes <= DoorReader::kMostBytes);

}  // namespace

void UcxDriver::make_offer(UcxConnection& connection) {
  set_state(connection, State::kAgreeing);
  UcxOffer& own = connection.own;
  own.tag = connection.tag;
  struct stat network {};
  if (stat("/proc/self/ns/net", &network) == 0) {
    own.namespace_device = network.st_dev;
    own.namespace_inode = network.st_ino;
  }
  if (options_.cma) {
    own.process = {static_cast<std::uint64_t>(getpid()),
                   reinterpret_cast<std::uintptr_t>(&connection.word), connection.word};
  }
  UcxTransport last = UcxTransport::kPosix;
  for (const UcxTransport transport : kAllUcxTransports) {
    if (has(transport)) last = transport;
  }
  for (const UcxTransport transport : kAllUcxTransports) {
    if (!has(transport)) continue;
    if (transport == UcxTransport::kPosix && !interface_of(connection.peer.socket).ok()) {
      connection.without_posix = Status(StatusCode::kUnreachable, "its address is of another host");
      continue;
    }
    Status ready = prepare(connection, transport);
    if (ready.ok()) continue;
    if (transport == last) return end_soon(connection.id, std::move(ready));  // it may pass
    go_without(connection, transport, std::move(ready));
  }
  const auto bytes = own.pack();
  connection.reader.expect(UcxOffer::kBytes);
  (void)tcp_send(connection.socket.fd(), bytes.data(), bytes.size());  // else its end is read
}

Status UcxDriver::prepare(UcxConnection& connection, UcxTransport transport) {
  const auto i = static_cast<std::size_t>(transport);
  UcxConnection::Way& way = connection.prepared[i];
  if (fabric_->limits(transport) == nullptr) return fabric_->why_not(transport);
  auto lane = fabric_->lane(transport);
  if (!lane.ok()) return lane.status();
  way.lane = std::move(*lane);
  auto endpoint = way.lane->prepare(&connection.own.lanes[i]);
  if (!endpoint.ok()) return endpoint.status();
  way.endpoint = std::move(*endpoint);
  return {};
}

// What was asked for, but for devices that this host does not have.
bool UcxDriver::has(UcxTransport transport) const {
  if (transport == UcxTransport::kPosix) return options_.posix;
  if (transport == UcxTransport::kTcp) return options_.tcp;
  return fabric_->limits(transport) != nullptr;
}

void UcxDriver::go_without(UcxConnection& connection, UcxTransport transport, Status why) {
  const bool is_posix = transport == UcxTransport::kPosix;
  if (!std::exchange(said_without_[static_cast<std::size_t>(transport)], true)) {
    say("ucx", "no " + std::string(is_posix ? "shared memory" : to_string(transport)) + " with " +
                   to_text(connection.peer.socket) + " and maybe others" +
                   (is_posix ? " of this host: " : ": ") + std::string(why.message()));
  }
  if (is_posix) connection.without_posix = std::move(why);
}

void UcxDriver::try_reading(UcxConnection& connection) {
  const ProcessName& peer = connection.offered->process;
  if (!options_.cma || peer.pid == 0) return;
  const Status readable = check_readable(peer);
  connection.we_read = readable.ok();
  if (readable.ok() || std::exchange(said_without_cma_, true)) return;
  say("ucx", "no cma with " + to_text(connection.peer.socket) +
                 " and maybe others of this host: " + std::string(readable.message()));
}

void UcxDriver::on_readable(UcxConnection& connection) {
  for (int i = 0; i < kMessagesAtOnce && connection.socket && !connection.doomed; ++i) {
    switch (connection.reader.read(connection.socket.fd())) {
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
    std::string why =
        to_text(connection.peer.socket) + ": " + std::string(common.status().message());
    if (!connection.without_posix.ok())
      why += "; " + std::string(connection.without_posix.message());
    end_soon(connection.id, Status(common.status().code(), std::move(why)));
    return true;
  }
  connection.candidates = std::move(*common);
  try_candidate(connection);
  return true;
}

bool UcxDriver::on_note(UcxConnection& connection) {
  const auto note = UcxNote::parse(connection.reader.bytes());
  // Its hello came first, or we leave.
  if (connection.state != State::kAgreeing) return note.has_value();
  if (!note || note->transport != connection.candidates[connection.candidate]) return false;
  const bool yes = note->kind == UcxNote::Kind::kYes;
  if (connection.they && !yes) return false;  // a yes stands: our hello may have left
  connection.they = yes;
  judge_candidate(connection);
  return true;
}

void UcxDriver::try_candidate(UcxConnection& connection) {
  const UcxTransport transport = connection.candidates[connection.candidate];
  const auto i = static_cast<std::size_t>(transport);
  UcxConnection::Way& way = connection.prepared[i];
  const Status wired = way.lane->wire(&way.endpoint, connection.offered->lanes[i]);
  if (wired.code() == StatusCode::kNoMemory) return end_soon(connection.id, wired);
  connection.we = wired.ok();
  connection.they.reset();
  if (wired.ok()) {
    connection.way = std::move(way);
    connection.way.lane->add_user();
    endpoints_[connection.way.endpoint.get()] = connection.id;
    if (transport == UcxTransport::kPosix) try_reading(connection);
  } else {
    connection.gone = wired;  // if no other does
    if (transport != UcxTransport::kTcp) go_without(connection, transport, wired);
  }
  const UcxNote note{wired.ok() ? UcxNote::Kind::kYes : UcxNote::Kind::kNo, transport};
  const auto bytes = note.pack();
  (void)tcp_send(connection.socket.fd(), bytes.data(), bytes.size());  // else its end is read
}

void UcxDriver::judge_candidate(UcxConnection& connection) {
  if (*connection.we && *connection.they) return;  // greet() follows
  if (*connection.we) {
    drop_way(connection);
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
  std::array<std::byte, UcxLane::kMostShort> rest{std::byte{connection.we_read}};
  const Segment segment{rest.data(), rest.size()};
  const UcxComplaints complaints;
  const ucs_status_t status =
      connection.way.lane->send(connection.way.endpoint.get(), UcxMessage::kHello, header,
                                {&segment, 1}, rest.size(), nullptr);
  // With the first message UCX takes a lane's memory for sending.
  if (const std::string why = complaints.first(); status == UCS_ERR_NO_RESOURCE && !why.empty()) {
    return end_soon(connection.id, Status(StatusCode::kNoMemory, "ucx: no room to send" + why));
  }
  if (status == UCS_ERR_NO_RESOURCE) return;  // not connected yet, or its queue is full
  if (status != UCS_OK) return on_failed(connection.way.endpoint.get());
  connection.hello_sent = true;
  connection.prepared = {};
  connect_if_greeted(connection);
}

void UcxDriver::connect_if_greeted(UcxConnection& connection) {
  if (!connection.hello_sent || !connection.hello_received) return;
  set_state(connection, State::kConnected);
  connection.told = true;
  completions_.push(Completion::Kind::kConnected, connection.id, nullptr, {});
}

}  // namespace mad
