// ScriptedDriver, NoEvents: for tests of the parts of a messenger, a fabric that answers each post
// as the test says, and a user who does not care.
#ifndef MADLIKE_MESSAGE_SCRIPTED_DRIVER_H_
#define MADLIKE_MESSAGE_SCRIPTED_DRIVER_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "madlike/message/messenger.h"
#include "madlike/message/peer_state.h"
#include "madlike/message/wire.h"

namespace mad {

/// Says what the test wrote down, then ok, and keeps the bytes it accepted.  Of two kinds of links:
/// connection kFar has the farther one.
class ScriptedDriver final : public Driver {
 public:
  static constexpr ConnectionId kFar = 77;
  ScriptedDriver() {
    link().max_iov = 4;
    link().max_packet_bytes = 512;
    link().max_write_iov = 2;
    link().max_write_bytes = 4096;
    LinkCaps far = link();
    far.kind = 1;
    far.max_iov = 2;
    far.max_packet_bytes = 128;
    caps_.links.push_back(far);
  }
  const DriverCaps& caps() const override { return caps_; }
  const LinkCaps& link(ConnectionId id) const override { return caps_.links[id == kFar ? 1 : 0]; }
  /// Writes remotely, payload from so many bytes on best as a whole, in runs of at least 10.
  void write_whole_from(std::size_t bytes) {
    caps_.remote_write = true;
    link().write_whole_from = bytes;
    link().write_runs_from = 10;
  }
  const std::vector<std::byte>& address() const override { return address_; }
  Result<ConnectionId> connect(const std::byte*, std::size_t) override { return ConnectionId{0}; }
  const std::vector<std::byte>& peer_address(ConnectionId) const override { return address_; }
  Status post_send(ConnectionId, SegmentList packet, void* context) override {
    return answer(packet, context);
  }
  /// Finds out that it fails when the packet is written.
  Status post_lent(ConnectionId, PacketWriter& writer) override {
    Status status;
    if (!lent_script.empty()) {
      status = lent_script.front();
      lent_script.pop_front();
    }
    if (status.again() && !writes_in_vain) return status;
    lent_run_bytes = writer.run_bytes();
    accepted.emplace_back(std::min<std::size_t>(writer.left(), 512));
    writer.write({accepted.back().data(), accepted.back().size()});
    if (!status.ok()) accepted.pop_back();
    return status;
  }
  Result<ExposureToken> expose(ConnectionId, Segment) override { return ExposureToken{}; }
  void withdraw(ConnectionId, const ExposureToken&) override {}
  Status post_write(ConnectionId, SegmentList packet, const ExposureToken& token,
                    std::uint64_t offset, void* context) override {
    written_to = token.address + offset;
    return answer(packet, context);
  }
  void cork(ConnectionId) override { corked = true; }
  void uncork(ConnectionId) override { corked = false; }
  std::size_t poll(Completion*, std::size_t) override { return 0; }
  Status watch(std::vector<pollfd>*) override { return StatusCode::kNotFound; }
  void release(void*) override {}
  void disconnect(ConnectionId) override {}

  /// How many of the accepted packets are frames of this kind.
  std::size_t accepted_of(FrameKind kind) {
    return static_cast<std::size_t>(
        std::count_if(accepted.begin(), accepted.end(), [&](std::vector<std::byte>& bytes) {
          Frame frame;
          return decode_frame({bytes.data(), bytes.size()}, &frame).ok() && frame.kind == kind;
        }));
  }

  std::deque<Status> script;
  std::deque<Status> lent_script;  // of posts to lent memory
  bool writes_in_vain = false;     // post_lent() has it written also where it says kAgain
  std::vector<std::vector<std::byte>> accepted;
  void* context = nullptr;  // of the last post
  std::uint64_t written_to = 0;
  std::uint64_t lent_run_bytes = 0;  // of the last writer of lent memory
  bool corked = false;
  std::size_t uncorked_posts = 0;  // accepted while nothing was corked

 private:
  Status answer(SegmentList packet, void* its_context) {
    context = its_context;
    Status status;
    if (!script.empty()) {
      status = script.front();
      script.pop_front();
    }
    if (status.again() || status.error()) return status;
    if (!corked) ++uncorked_posts;
    accepted.emplace_back();
    for (const Segment& s : packet) {
      accepted.back().insert(accepted.back().end(), s.begin(), s.end());
    }
    return status;
  }
  LinkCaps& link() { return caps_.links.front(); }

  DriverCaps caps_;
  std::vector<std::byte> address_;
};

/// Of a peer that both HELLOs were exchanged with.
inline PeerState greeted(ConnectionId connection = 0) {
  PeerState state;
  state.set_connection(connection);
  state.set_said_hello();
  state.set_heard_hello();
  return state;
}

struct NoEvents final : MessageEvents {
  void on_message(Endpoint&, std::uint8_t, Segment, std::uint64_t, IncomingMessage*) override {}
  void on_sent(OutgoingMessage&, const Status&) override {}
  void on_received(void*, std::uint64_t, const Status&) override {}
  void on_peer_gone(Endpoint&, const Status&) override {}
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SCRIPTED_DRIVER_H_
