// A peer over a fabric, FABRIC, after the handshake: its packets, what they say of themselves where
// the fabric lends memory, and writes to memory that it was, or was not, given.
//
// The engines stay open from one input to the next, and each input is a connection of its own.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "tests/fuzz/fuzzed_fabric.h"
#include "tests/fuzz/fuzzed_frames.h"
#include "tests/fuzz/fuzzed_messenger.h"

namespace mad::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostSteps = 200;
constexpr int kTurns = 20;   // of each side, after each step
constexpr int kTries = 200;  // to post, then the peer gives up
constexpr std::chrono::seconds kPatience{60};

std::unique_ptr<Driver> open() {
  auto opened = open_on_lo(FABRIC);
  expect_nothing_wrong(opened.ok() ? "" : std::string(opened.status().message()), FABRIC);
  return std::move(opened.value());
}

// Says that it has another length than it has.
class LyingWriter final : public PacketWriter {
 public:
  LyingWriter(const std::vector<std::byte>& bytes, std::size_t said)
      : PacketWriter(std::max<std::size_t>(said, 1)), bytes_(bytes) {}

 private:
  void write_next(Segment room) override {
    const std::size_t size = std::min(room.size, bytes_.size() - done_);
    std::memset(room.data, 0, room.size);
    std::memcpy(room.data, bytes_.data() + done_, size);
    done_ += size;
  }

  const std::vector<std::byte>& bytes_;
  std::size_t done_ = 0;
};

class Peer {
 public:
  Peer() : victim_(open()), driver_(open()) {}

  void run(const std::uint8_t* bytes, std::size_t size) {
    FuzzedBytes choices(bytes, size);
    FuzzedFrames frames(choices);
    frames_ = &frames;
    connected_ = gone_ = false;
    victim_.meet(driver_->address(), &choices);
    const auto& address = victim_.driver().address();
    connection_ = driver_->connect(address.data(), address.size()).value();
    expect(pump([&] { return connected_ || gone_; }), "no connection");
    for (int i = 0; i < kMostSteps && !choices.empty() && !gone_; ++i) {
      if (choices.below(3) == 0) {
        victim_.act();
      } else {
        post(choices, frames.next());
      }
      for (int k = 0; k < kTurns; ++k) look();
    }
    driver_->disconnect(connection_);
    expect(pump([&] { return victim_.alone() && posted_.empty(); }), "no end");
    expect_nothing_wrong(victim_.part(), FABRIC);
  }

 private:
  static void expect(bool holds, const char* what) {
    expect_nothing_wrong(holds ? "" : what, FABRIC);
  }

  // One in eight is a write; of lent packets one in eight lies about its length.
  void post(FuzzedBytes& choices, std::vector<std::byte> packet) {
    packet.resize(std::min(packet.size(), driver_->caps().nearest().max_packet_bytes));
    if (packet.empty()) return;
    const bool lies = choices.below(8) == 0;
    if (driver_->caps().remote_write && choices.below(8) == 0) {
      ExposureToken token = frames_->token();
      if (lies) token.key += choices.below(4);
      const std::uint64_t offset = choices.below(4) == 0 ? choices.below(UINT64_MAX) : 0;
      packet.resize(std::min(packet.size(), driver_->caps().nearest().max_write_bytes));
      keep(std::move(packet), [&](SegmentList list, void* context) {
        return driver_->post_write(connection_, list, token, offset, context);
      });
    } else if (driver_->link(connection_).lent_bytes > 0) {
      lend(LyingWriter(packet, lies ? choices.below(UINT64_MAX) : packet.size()));
    } else {
      keep(std::move(packet), [&](SegmentList list, void* context) {
        return driver_->post_send(connection_, list, context);
      });
    }
  }

  template <typename Post>
  void keep(std::vector<std::byte> packet, Post post) {
    const Segment segment{packet.data(), packet.size()};
    posted_[segment.data] = std::move(packet);
    Status status = StatusCode::kAgain;
    for (int i = 0; i < kTries && status.again() && !gone_; ++i) {
      status = post(SegmentList{&segment, 1}, segment.data);
      look();
    }
    if (!status.in_progress()) posted_.erase(segment.data);
  }

  void lend(LyingWriter writer) {
    for (int i = 0; i < kTries && writer.left() > 0 && !gone_; ++i) {
      if (driver_->post_lent(connection_, writer).error()) return;
      look();
    }
  }

  template <typename Done>
  bool pump(Done done) {
    const auto deadline = Clock::now() + kPatience;
    while (!done()) {
      look();
      if (Clock::now() > deadline) return false;
    }
    return true;
  }

  void look() {
    victim_.progress();
    Completion news;
    if (driver_->poll(&news, 1) == 0) return;
    switch (news.kind) {
      case Completion::Kind::kConnected:
        connected_ = connected_ || news.connection == connection_;
        return;
      case Completion::Kind::kDisconnected:
        gone_ = gone_ || news.connection == connection_;
        return;
      case Completion::Kind::kReceived:
        frames_->hear(news.bytes, news.rest);
        if (news.buffer != nullptr) driver_->release(news.buffer);
        return;
      default:
        posted_.erase(news.context);
    }
  }

  FuzzedMessenger victim_;
  std::unique_ptr<Driver> driver_;
  ConnectionId connection_ = 0;
  FuzzedFrames* frames_ = nullptr;
  bool connected_ = false, gone_ = false;
  std::map<void*, std::vector<std::byte>> posted_;  // packets that the driver may still read
};

}  // namespace
}  // namespace mad::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static auto* const peer = new mad::test::Peer;  // for the process's life
  peer->run(bytes, size);
  return 0;
}
