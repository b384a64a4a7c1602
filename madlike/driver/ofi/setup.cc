// How connections come.
//
// Both sides may ask for a connection at the same time.  Then the request of the engine with the
// smaller address stands: that engine refuses the other's request (kCrossing), and the other one
// accepts and drops its own.  No packet is posted before the connection stands, so none is lost.
#include <rdma/fi_errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

#include "madlike/driver/door/handshake.h"
#include "madlike/driver/door/sockets.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/memory/registering.h"
#include "madlike/driver/ofi/driver.h"
#include "madlike/driver/ofi/iovs.h"

namespace mad {
namespace {

// On devices: packets of so many segments; and of payload that is better written, as registering it
// pays on both sides (writes.cc), runs of so many bytes.
constexpr std::size_t kSegmentsCopied = 4;
constexpr std::size_t kWriteRunsFrom = 64 * 1024;

bool settled(OfiConnection::State state) {
  return state == OfiConnection::State::kConnected || state == OfiConnection::State::kGone;
}

}  // namespace

OfiDriver::OfiDriver(const OfiOptions& options, std::unique_ptr<OfiFabric> fabric)
    : options_(options),
      fabric_(std::move(fabric)),
      incarnation_(random_number<std::uint64_t>()),
      receives_(*fabric_->domain(), fabric_->facts()),
      sends_(*fabric_->domain(), fabric_->facts()),
      credits_(fabric_->facts().by_device ? fabric_->facts().receive_buffers : 0),
      openings_(*fabric_) {
  const fi_info& info = fabric_->info();
  const OfiFacts& facts = fabric_->facts();
  caps_.name = "ofi:" + options.provider;
  LinkCaps& link = caps_.links.front();
  link.prices = caps_.name;
  link.max_packet_bytes = facts.packet_bytes;
  receives_.replenish(fabric_->receives(), endpoints_.size());
  caps_.remote_write = true;
  caps_.one_sided = true;
  // A connection carries one thing at a time: a longer write would keep small packets waiting.
  link.max_write_bytes = std::min<std::size_t>(info.ep_attr->max_msg_size, 1024 * 1024);
  const std::size_t most_iov = std::min(info.tx_attr->iov_limit, OfiIovs::kMost);
  if (facts.by_device) {
    link.max_iov = kSegmentsCopied;
    link.inject_bytes = link.piece_bytes = link.lent_bytes = link.short_bytes = facts.packet_bytes;
    link.max_write_iov = std::min(most_iov, StagedWrite::kMostSegments);
    link.write_runs_from = kWriteRunsFrom;
    link.write_whole_from = written_whole_from(options.registered_from, link.max_write_bytes);
    return;
  }
  link.max_iov = most_iov - 1;  // the header is one of them
  const std::size_t inject = std::max(info.tx_attr->inject_size, OfiHeader::kBytes);
  link.inject_bytes = std::min(inject - OfiHeader::kBytes, link.max_packet_bytes);
  link.max_write_iov = most_iov;
  link.write_runs_from = 0;
}

const std::vector<std::byte>& OfiDriver::peer_address(ConnectionId connection) const {
  return connections_.at(connection).address;
}

void OfiDriver::set_state(OfiConnection& connection, State state) {
  if (!settled(connection.state)) --unsettled_;
  if (!settled(state)) ++unsettled_;
  connection.state = state;
}

OfiConnection& OfiDriver::add_connection(const std::vector<std::byte>& address) {
  ++unsettled_;  // kConnecting
  OfiConnection& added = connections_.add(address, random_number<std::uint64_t>());
  added.credit.set_grant(credits_.first());
  return added;
}

Result<ConnectionId> OfiDriver::connect(const std::byte* address, std::size_t size) {
  Result<std::vector<std::byte>> peer = to_address(address, size);
  if (!peer.ok()) return peer.status();
  if (peer->size() != fabric_->address().size()) {
    return Status(
        StatusCode::kInvalidArgument,
        to_text(*peer) + " is of another address family than " + to_text(this->address()));
  }
  if (*peer == this->address()) {
    return Status(StatusCode::kInvalidArgument, "an engine does not connect to itself over ofi");
  }
  if (OfiConnection* const known = connections_.live(*peer)) {
    known->told = true;
    return known->id;
  }
  OfiConnection& connection = add_connection(*peer);
  connection.told = true;
  start_request(connection);
  return connection.id;
}

// Makes an endpoint that was opened the connection's.
Status OfiDriver::attach(OfiConnection& connection, Result<FidPtr<fid_ep>> opened) {
  if (!opened.ok()) return opened.status();
  // Events of an endpoint closed before must not be taken for those of a new one at the same place.
  read_events();
  Status enabled = fabric_->enable(opened->get());
  if (!enabled.ok()) return enabled;
  connection.endpoint = std::move(*opened);
  ++connection.endpoints_opened;
  endpoints_[&connection.endpoint->fid] = connection.id;
  return {};
}

void OfiDriver::start_request(OfiConnection& connection) {
  set_state(connection, State::kConnecting);
  connection.deadline = Clock::now() + options_.connect_timeout;
  openings_.add(connection.id, ++connection.requests, connection.address);
  take_opened();
}

void OfiDriver::take_opened() {
  while (std::optional<OfiOpenings::Opened> opened = openings_.take()) {
    OfiConnection* const connection = find(opened->connection);
    // The peer's own request, or our caller, may have been faster.
    if (!connection || connection->state != State::kConnecting ||
        connection->requests != opened->number) {
      continue;
    }
    Status attached = attach(*connection, std::move(opened->endpoint));
    if (attached.ok()) {
      ask(*connection);
    } else {
      end_soon(connection->id, std::move(attached));
    }
  }
}

void OfiDriver::ask(OfiConnection& connection) {
  Greeting greeting;
  greeting.kind = Greeting::Kind::kRequest;
  greeting.incarnation = incarnation_;
  greeting.sequence = next_sequence_++;
  greeting.tag = connection.tag;
  greeting.credit = connection.credit.grant();
  greeting.address = fabric_->address();
  const std::vector<std::byte> data = greeting.pack();
  const int error =
      fi_connect(connection.endpoint.get(), connection.address.data(), data.data(), data.size());
  if (error != 0) {
    end_soon(connection.id,
             tcp_dial_status("connecting to " + to_text(connection.address), std::abs(error)));
  }
}

void OfiDriver::refuse(fi_info* request, Greeting::Kind why) {
  Greeting greeting;
  greeting.kind = why;
  const std::vector<std::byte> data = greeting.pack();
  fi_reject(fabric_->listener(), request->handle, data.data(), data.size());
}

void OfiDriver::accept(OfiConnection& connection, const Greeting& greeting, InfoPtr request) {
  connection.peer_tag = greeting.tag;
  connection.peer_incarnation = greeting.incarnation;
  connection.peer_sequence = greeting.sequence;
  connection.credit.set_given(greeting.credit);
  openings_.cancel(connection.id);
  set_state(connection, State::kAccepting);
  connection.deadline = Clock::now() + options_.connect_timeout;
  Status attached = attach(connection, fabric_->open_endpoint(request.get()));
  if (!attached.ok()) {
    end_soon(connection.id, std::move(attached));
    refuse(request.get(), Greeting::Kind::kCrossing);  // so that it asks again
    return;
  }
  Greeting answer;
  answer.kind = Greeting::Kind::kAcceptance;
  answer.incarnation = incarnation_;
  answer.sequence = next_sequence_++;
  answer.tag = connection.tag;
  answer.credit = connection.credit.grant();
  const std::vector<std::byte> data = answer.pack();
  const int error = fi_accept(connection.endpoint.get(), data.data(), data.size());
  if (error != 0) {
    end_soon(connection.id, ofi_status(StatusCode::kPeerFailed,
                                       "accepting " + to_text(connection.address), error));
  }
}

void OfiDriver::check_deadlines() {
  const Clock::time_point now = Clock::now();
  for (auto& entry : connections_) {
    OfiConnection& connection = entry.second;
    if (settled(connection.state)) continue;
    if (connection.state == State::kClosing && !connection.last_posted && connection.endpoint &&
        connection.peer_tag != 0) {
      post_last(connection);  // the queue was full before
    }
    if (now >= connection.deadline) on_deadline(connection, now);
  }
}

void OfiDriver::on_deadline(OfiConnection& connection, Clock::time_point now) {
  switch (connection.state) {
    case State::kConnecting: {
      sockaddr_storage peer;
      std::size_t size = sizeof(peer);
      // Opening ends by itself; a host that answered has a busy engine; and a device's connection
      // manager, which says nothing here, gives up by itself, too.
      if (!connection.endpoint || fi_getpeer(connection.endpoint.get(), &peer, &size) == 0) {
        connection.deadline = now + options_.connect_timeout;
      } else {
        end_soon(connection.id,
                 Status(StatusCode::kAgain, to_text(connection.address) + " does not answer"));
      }
      return;
    }
    case State::kAwaiting:
      start_request(connection);
      return;
    case State::kAccepting:
      if (fabric_->facts().by_device) {
        // The peer's engine has to look before the connection stands, and may take its time; one
        // that is gone is told of by the connection manager.
        connection.deadline = now + options_.connect_timeout;
        return;
      }
      end_soon(connection.id,
               Status(StatusCode::kAgain,
                      to_text(connection.address) + " asked for a connection and gave up"));
      return;
    case State::kClosing:
      drain_completions();  // what it took while nobody polled moves its deadline
      if (now >= connection.deadline) end_soon(connection.id, connection.gone);
      return;
    case State::kConnected:
    case State::kGone:
      return;
  }
}

}  // namespace mad
