// RawPeer, AnnouncingDriver, Hostile: for tests of what a messenger does to a peer that does not
// keep to docs/wire_protocol.md - that connection ends, nothing else is touched.
#ifndef MADLIKE_MESSAGE_RAW_PEER_H_
#define MADLIKE_MESSAGE_RAW_PEER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "madlike/message/side.h"
#include "madlike/message/wire.h"

namespace mad {

/// A peer that says what the test wants, byte by byte.
class RawPeer {
 public:
  RawPeer(std::shared_ptr<LoopbackNetwork> network, Side& victim)
      : driver_(std::move(network)), victim_(victim) {
    const std::vector<std::byte>& address = victim.driver->address();
    connection_ = driver_.connect(address.data(), address.size()).value();
    (void)victim_.messenger->progress();
    look();
  }

  void post(const Bytes& packet) {
    Bytes copy = packet;
    const Segment segment{copy.data(), copy.size()};
    (void)driver_.post_send(connection_, {&segment, 1}, nullptr);
    look();
  }
  void post(Frame frame, const Bytes& body = {}) { post(bytes_of(frame, body)); }

  static Bytes bytes_of(Frame frame, const Bytes& body) {
    frame.body_bytes = static_cast<std::uint32_t>(body.size());
    Bytes packet(kFrameBytes);
    encode_frame(frame, packet.data());
    packet.insert(packet.end(), body.begin(), body.end());
    return packet;
  }
  static Frame hello_frame(std::uint64_t credit) {
    Frame frame;
    frame.kind = FrameKind::kHello;
    frame.length = credit;
    return frame;
  }
  void hello(std::uint64_t credit = 10000) { post(hello_frame(credit), {}); }

  /// Lets both sides work, and keeps what the victim said.
  void look() {
    for (int i = 0; i < 5; ++i) {
      (void)victim_.messenger->progress();
      Completion completions[8];
      const std::size_t count = driver_.poll(completions, 8);
      for (std::size_t k = 0; k < count; ++k) {
        const Completion& c = completions[k];
        if (c.kind != Completion::Kind::kReceived) continue;
        Frame frame;
        EXPECT_TRUE(decode_frame(c.bytes, &frame).ok());
        heard.push_back(frame);
        driver_.release(c.buffer);
      }
    }
  }
  const Frame& heard_last(FrameKind kind) const {
    static const Frame nothing;
    const auto found =
        std::find_if(heard.rbegin(), heard.rend(), [&](const Frame& f) { return f.kind == kind; });
    EXPECT_NE(found, heard.rend());
    return found == heard.rend() ? nothing : *found;
  }
  const std::vector<std::byte>& address() const { return driver_.address(); }

  std::vector<Frame> heard;

 private:
  LoopbackDriver driver_;
  Side& victim_;
  ConnectionId connection_ = 0;
};

inline Frame frame_of(FrameKind kind, std::uint32_t id = 0, std::uint64_t length = 0) {
  Frame frame;
  frame.kind = kind;
  frame.id = id;
  frame.length = length;
  return frame;
}

inline MessengerConfig small_credit() {
  MessengerConfig out;
  out.peer_credit = 5000;
  return out;
}

class Hostile : public ::testing::Test {
 protected:
  explicit Hostile(const LoopbackOptions& options = {})
      : network_(std::make_shared<LoopbackNetwork>(options)),
        victim_(network_, small_credit()),
        friend_(network_, small_credit()),
        raw_(network_, victim_) {
    EXPECT_TRUE(friend_.messenger->touch(friend_.to(victim_)).ok());
    settle(victim_, friend_);
  }
  ~Hostile() override {
    // Whatever happened, others are served.
    friend_.send(friend_.to(victim_), 77, pattern(100000), "friend");
    settle(victim_, friend_);
    const auto found = std::find_if(victim_.arrived.begin(), victim_.arrived.end(),
                                    [](const Arrived& a) { return a.handler == 77; });
    EXPECT_TRUE(found != victim_.arrived.end() && found->sink->bytes == pattern(100000));
  }
  void expect_end(StatusCode code) {
    raw_.look();
    ASSERT_EQ(victim_.gone.size(), 1u);
    EXPECT_EQ(victim_.gone[0].second.code(), code) << victim_.gone[0].second.message();
    EXPECT_EQ(route(*victim_.gone[0].first).address, raw_.address());
    raw_.look();
    EXPECT_EQ(victim_.gone.size(), 1u);
  }
  void expect_alive() {
    raw_.look();
    EXPECT_TRUE(victim_.gone.empty()) << victim_.gone[0].second.message();
  }
  /// The victim sends `bytes` to the raw peer; the id under which it waits.
  std::uint32_t victim_sends(std::size_t bytes) {
    Endpoint& to = *victim_.messenger->connect({{0, raw_.address()}}).value();
    victim_.send(to, 1, pattern(bytes));
    raw_.look();
    return raw_.heard_last(FrameKind::kMessage).id;
  }
  /// The raw peer sends a message without head; the victim's id of it.
  std::uint32_t victim_accepts(std::uint32_t id, std::size_t bytes) {
    raw_.post(frame_of(FrameKind::kMessage, id, bytes));
    return raw_.heard_last(FrameKind::kClear).reply_id;
  }

  std::shared_ptr<LoopbackNetwork> network_;
  Side victim_, friend_;
  RawPeer raw_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_RAW_PEER_H_
