// A peer of the ucx fabric over TRANSPORT that came in by the door: the messages of its lane, of
// whatever kind, and notes on the control socket.
//
// docs/ucx_protocol.md has them.  The engine stays open from one input to the next.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "madlike/driver/door/door.h"
#include "madlike/driver/ucx/driver.h"
#include "madlike/driver/ucx/side.h"
#include "tests/fuzz/fuzzed_frames.h"
#include "tests/fuzz/fuzzed_messenger.h"

namespace mad::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr UcxTransport kTransport = UcxTransport::TRANSPORT;
constexpr int kMostSteps = 100;
constexpr int kTurns = 10;
constexpr int kTries = 100;  // to send, then the peer gives up
constexpr std::chrono::seconds kPatience{60};

void expect(bool holds, const char* what) { expect_nothing_wrong(holds ? "" : what, "ucx"); }

std::unique_ptr<Driver> open_engine() {
  UcxOptions options;
  options.interface = "lo";
  options.posix = kTransport == UcxTransport::kPosix;
  options.tcp = kTransport == UcxTransport::kTcp;
  auto opened = open_ucx(options);
  expect(opened.ok(), "the engine does not open");
  return std::move(*opened);
}

Door open_door() {
  DoorOptions options;
  options.interface = "lo";
  auto opened = Door::open({"ucx", {'M', 'A', 'D', 'U', 'C', 'X'}}, options);
  expect(opened.ok(), "the door does not open");
  return std::move(*opened);
}

class Peer {
 public:
  Peer() : victim_(open_engine()) {}

  void run(const std::uint8_t* bytes, std::size_t size) {
    FuzzedBytes choices(bytes, size);
    FuzzedFrames frames(choices);
    Door door = open_door();  // another address each time
    Side side(kTransport);
    side_ = &side;
    heard_ = 0;
    victim_.meet(door.address(), &choices);
    enter(door, frames);
    for (int i = 0; i < kMostSteps && !choices.empty() && !victim_.alone(); ++i) {
      if (choices.below(3) == 0) {
        victim_.act();
      } else {
        say(choices, frames);
      }
      for (int k = 0; k < kTurns; ++k) look(frames);
    }
    socket_.close();
    side.endpoint.reset();
    expect(pump(frames, [&] { return victim_.alone(); }), "no end");
    expect_nothing_wrong(victim_.part(), "ucx");
    side_ = nullptr;
  }

 private:
  void enter(Door& door, FuzzedFrames& frames) {
    const auto& address = victim_.driver().address();
    door.call(*door.parse(address.data(), address.size()));
    std::vector<Door::Event> events;
    std::vector<std::uint32_t> ready;
    expect(pump(frames,
                [&] {
                  door.look(&events, &ready);
                  return !events.empty();
                }),
           "no connection");
    socket_ = std::move(events[0].socket);
    expect(static_cast<bool>(socket_), "not let in");
    DoorReader reader;
    reader.expect(UcxOffer::kBytes);
    expect(
        pump(frames, [&] { return reader.read(socket_.fd()) == DoorReader::Outcome::kComplete; }),
        "no offer");
    const auto offer = UcxOffer::parse(reader.bytes());
    expect(offer.has_value(), "no offer");
    tag_ = offer->tag;
    UcxOffer own = *offer;
    const auto lane = static_cast<std::size_t>(kTransport);
    for (UcxLaneOffer& each : own.lanes) each.open = false;
    own.lanes[lane] = side_->offer;
    note(own.pack());
    note(UcxNote{UcxNote::Kind::kYes, kTransport}.pack());
    side_->wire(offer->lanes[lane]);
    send(UcxMessage::kHello, {tag_, 0, 0}, std::vector<std::byte>(8));
    expect(pump(frames, [&] { return heard_ > 0; }), "no hello");
  }

  template <std::size_t kSize>
  void note(const std::array<std::byte, kSize>& bytes) {
    (void)tcp_send(socket_.fd(), bytes.data(), bytes.size());  // it may be closed
  }

  void send(UcxMessage kind, const UcxHeader& header, std::vector<std::byte> content) {
    const UcxLimits& limits = side_->lane->limits();
    const std::size_t most = kTransport == UcxTransport::kTcp
                                 ? limits.inject_bytes  // longer ones would have to stay
                                 : limits.max_message_bytes - sizeof(UcxHeader);
    content.resize(std::min(content.size(), most));
    const Segment segment{content.data(), content.size()};
    for (int i = 0; i < kTries && !side_->failed; ++i) {
      const ucs_status_t status = side_->lane->send(side_->endpoint.get(), kind, header,
                                                    {&segment, 1}, content.size(), nullptr);
      if (status != UCS_ERR_NO_RESOURCE) return;
      side_->progress();
      victim_.progress();
    }
  }

  // A packet or a piece of one mostly, else any kind of message.
  void say(FuzzedBytes& choices, FuzzedFrames& frames) {
    std::vector<std::byte> content = frames.next();
    UcxMessage kind = UcxMessage::kPacket;
    UcxHeader header{tag_, frames.token().key, 0};
    switch (choices.below(8)) {
      case 0: {  // a piece, of which anything may follow
        kind = UcxMessage::kPiece;
        const std::uint64_t left = choices.below(UINT64_MAX);
        insert(&content, left);
        break;
      }
      case 1: {  // a piece, which is half of a packet; then the other one
        const std::size_t half = content.size() / 2;
        std::vector<std::byte> first(content.begin(),
                                     content.begin() + static_cast<std::ptrdiff_t>(half));
        insert(&first, content.size() - half);
        send(UcxMessage::kPiece, header, std::move(first));
        content.erase(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(half));
        insert(&content, choices.below(4) == 0 ? choices.below(200) : 0);
        kind = UcxMessage::kPiece;
        break;
      }
      case 2:
        kind = UcxMessage::kWrite;
        header.key += choices.below(4) == 0 ? 1 : 0;
        header.offset = choices.below(2) == 0 ? choices.below(UINT64_MAX) : 0;
        break;
      case 3:
        kind = static_cast<UcxMessage>(choices.below(32));
        break;
      case 4:
        if (choices.below(8) == 0) note(UcxNote{UcxNote::Kind::kNo, kTransport}.pack());
        break;
      default:
        break;
    }
    if (choices.below(32) == 0) header.tag ^= choices.below(UINT64_MAX);
    if (choices.below(16) == 0) content.resize(choices.below(30));
    send(kind, header, std::move(content));
  }

  // A number at the beginning.
  static void insert(std::vector<std::byte>* content, std::uint64_t number) {
    std::array<std::byte, sizeof(number)> bytes;
    std::memcpy(bytes.data(), &number, sizeof(number));
    content->insert(content->begin(), bytes.begin(), bytes.end());
  }

  void look(FuzzedFrames& frames) {
    victim_.progress();
    side_->progress();
    for (; heard_ < side_->messages.size(); ++heard_) {
      const Side::Message& message = side_->messages[heard_];
      if (message.kind != UcxMessage::kPacket && message.kind != UcxMessage::kPiece) continue;
      UcxPieceHeader header;
      const std::size_t begins =
          message.kind == UcxMessage::kPacket ? UcxHeader::kTagBytes : sizeof(header);
      if (message.bytes.size() < begins) continue;
      std::memcpy(&header, message.bytes.data(), begins);
      auto* const packet = const_cast<std::byte*>(message.bytes.data()) + begins;
      frames.hear({packet, message.bytes.size() - begins}, header.left);
    }
  }

  template <typename Done>
  bool pump(FuzzedFrames& frames, Done done) {
    const auto deadline = Clock::now() + kPatience;
    while (!done()) {
      look(frames);
      if (Clock::now() > deadline) return false;
    }
    return true;
  }

  FuzzedMessenger victim_;
  Side* side_ = nullptr;
  TcpSocket socket_;
  std::uint64_t tag_ = 0;
  std::size_t heard_ = 0;  // of side_'s messages
};

}  // namespace
}  // namespace mad::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static auto* const peer = new mad::test::Peer;  // for the process's life
  peer->run(bytes, size);
  return 0;
}
