// What the provider's event queue says: requests, connections that stand, refusals, ends.
#include <rdma/fi_errno.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "madlike/driver/door/sockets.h"
#include "madlike/driver/ip/address.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/driver.h"

namespace mad {
namespace {

constexpr std::uint32_t kError = 0;     // Event::type of what fi_eq_readerr() said
constexpr std::size_t kMostData = 256;  // bytes of connection data on any provider

}  // namespace

// Takes everything out of the event queue.  Endpoints are resolved here, at once, because a closed
// endpoint's place in memory may be that of the next one.
void OfiDriver::read_events() {
  alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + kMostData> buffer;
  for (;;) {
    Event event;
    const fid* endpoint = nullptr;
    // tcp 1.17 takes a stale errno for the reason of a short read and would then keep a foreign
    // connection that ended early (tcpx_conn_mgr.c, rx_cm_data()).
    errno = 0;
    const ssize_t size =
        fi_eq_read(fabric_->events(), &event.type, buffer.data(), buffer.size(), 0);
    if (size >= static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) {
      fi_eq_cm_entry entry;
      std::memcpy(&entry, buffer.data(), sizeof(entry));
      endpoint = entry.fid;
      event.data.assign(buffer.data() + sizeof(entry), buffer.data() + size);
      if (event.type == FI_CONNREQ) event.request.reset(entry.info);
    } else if (size == -FI_EAVAIL) {
      std::array<std::byte, kMostData> data;
      fi_eq_err_entry error{};
      error.err_data = data.data();
      error.err_data_size = data.size();
      if (fi_eq_readerr(fabric_->events(), &error, 0) < 0) return;
      event.type = kError;
      endpoint = error.fid;
      event.error = error.err;
      const auto* bytes = static_cast<const std::byte*>(error.err_data);
      if (bytes) event.data.assign(bytes, bytes + std::min(error.err_data_size, data.size()));
    } else {
      return;  // -FI_EAGAIN, or nothing that can be read
    }
    if (!event.request) {
      const auto owner = endpoints_.find(endpoint);
      if (owner == endpoints_.end()) continue;  // of an endpoint closed meanwhile
      event.connection = owner->second;
      event.endpoint_number = find(owner->second)->endpoints_opened;
    }
    events_.push_back(std::move(event));
  }
}

void OfiDriver::dispatch_events() {
  while (!events_.empty()) {
    Event event = std::move(events_.front());
    events_.pop_front();
    if (event.request) {
      on_request(event);
      end_all_due();
      continue;
    }
    OfiConnection* const found = find(event.connection);
    if (!found || !found->endpoint || found->endpoints_opened != event.endpoint_number) continue;
    OfiConnection& connection = *found;
    if (event.type == FI_CONNECTED) {
      on_connected(connection, event);
    } else if (connection.state == State::kClosing) {
      end_soon(connection.id, connection.gone);
    } else if (event.type == kError && connection.state == State::kConnecting) {
      on_refused(connection, event);
    } else {
      const bool stood = connection.state == State::kConnected;
      end_soon(connection.id,
               Status(stood ? StatusCode::kPeerFailed : StatusCode::kAgain,
                      "the connection to " + to_text(connection.address) + " broke"));
    }
    end_all_due();
  }
}

void OfiDriver::on_request(Event& event) {
  const std::optional<Greeting> greeting = Greeting::parse(event.data.data(), event.data.size());
  if (!greeting || greeting->kind != Greeting::Kind::kRequest ||
      greeting->address.size() != address().size() || greeting->address == address() ||
      !credits_.may_be_given(greeting->credit)) {
    refuse(event.request.get(), Greeting::Kind::kForeign);
    return;
  }
  OfiConnection* const found = connections_.live(greeting->address);
  if (found == nullptr) {
    accept(add_connection(greeting->address), *greeting, std::move(event.request));
    return;
  }
  OfiConnection& known = *found;
  if (known.under_way()) {
    if (known.state == State::kConnecting && address() < greeting->address) {
      refuse(event.request.get(), Greeting::Kind::kCrossing);
      return;
    }
    close_endpoint(known);
    accept(known, *greeting, std::move(event.request));
    return;
  }
  // The connection stands for us.  Either this request crossed it and was given up meanwhile, or
  // the peer has lost or left the connection and asks anew.
  if (greeting->incarnation == known.peer_incarnation &&
      greeting->sequence <= known.peer_sequence) {
    refuse(event.request.get(), Greeting::Kind::kCrossing);
    return;
  }
  end(known, Status(StatusCode::kPeerFailed,
                    "the engine at " + to_text(known.address) + " started a new connection"));
  accept(add_connection(greeting->address), *greeting, std::move(event.request));
}

void OfiDriver::on_connected(OfiConnection& connection, const Event& event) {
  if (connection.state == State::kConnecting) {
    const std::optional<Greeting> answer = Greeting::parse(event.data.data(), event.data.size());
    if (!answer || answer->kind != Greeting::Kind::kAcceptance ||
        !credits_.may_be_given(answer->credit)) {
      end_soon(connection.id,
               Status(StatusCode::kVersion,
                      to_text(connection.address) + " is no ofi engine of this version"));
      return;
    }
    connection.peer_tag = answer->tag;
    connection.peer_incarnation = answer->incarnation;
    connection.peer_sequence = answer->sequence;
    connection.credit.set_given(answer->credit);
  } else if (connection.state == State::kClosing) {
    post_last(connection);  // disconnected while accepting
    return;
  } else if (connection.state != State::kAccepting) {
    return;
  }
  set_state(connection, State::kConnected);
  connection.told = true;
  completions_.push(Completion::Kind::kConnected, connection.id, nullptr, {});
  look_after(connection);  // packets may have come before
}

void OfiDriver::on_refused(OfiConnection& connection, const Event& event) {
  const std::optional<Greeting> answer = Greeting::parse(event.data.data(), event.data.size());
  const std::string peer = to_text(connection.address);
  if (answer && answer->kind == Greeting::Kind::kCrossing) {
    close_endpoint(connection);
    set_state(connection, State::kAwaiting);
    connection.deadline = Clock::now() + OfiConnection::kAskAgain;
  } else if (answer) {
    end_soon(connection.id, Status(StatusCode::kVersion, peer + " refused the connection"));
  } else {
    end_soon(connection.id, tcp_dial_status("connecting to " + peer, std::abs(event.error)));
  }
}

}  // namespace mad
