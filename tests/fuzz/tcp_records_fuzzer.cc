// A peer of the tcp fabric that came in by the door: records and what they carry, byte by byte.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "madlike/driver/door/handshake.h"
#include "madlike/driver/door/sockets.h"
#include "madlike/driver/tcp/record.h"
#include "madlike/driver/tcp/tcp.h"
#include "tests/fuzz/fuzzed_frames.h"
#include "tests/fuzz/fuzzed_messenger.h"

namespace mad::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr DoorMagic kMagic{'M', 'A', 'D', 'T', 'C', 'P'};
constexpr int kMostSteps = 200;
constexpr int kTurns = 10;
constexpr std::chrono::seconds kPatience{60};

void expect(bool holds, const char* what) { expect_nothing_wrong(holds ? "" : what, "tcp"); }

std::unique_ptr<Driver> open() {
  TcpOptions options;
  options.interface = "lo";
  auto opened = open_tcp(options);
  expect(opened.ok(), "the engine does not open");
  return std::move(*opened);
}

// A socket, and whose it says it is.
class Peer {
 public:
  Peer()
      : victim_(open()),
        theirs_(*DoorAddress::parse(victim_.driver().address().data(),
                                    victim_.driver().address().size())) {}

  void run(const std::uint8_t* bytes, std::size_t size) {
    FuzzedBytes choices(bytes, size);
    FuzzedFrames frames(choices);
    own_ = theirs_;
    own_.secret = random_secret();  // another engine's
    victim_.meet(own_.bytes(), &choices);
    enter();
    for (int i = 0; i < kMostSteps && !choices.empty() && !victim_.alone(); ++i) {
      if (choices.below(3) == 0) {
        victim_.act();
      } else {
        say(choices, frames);
      }
      victim_.progress(kTurns);
      listen(frames);
    }
    socket_.close();
    expect(pump([&] { return victim_.alone(); }), "no end");
    expect_nothing_wrong(victim_.part(), "tcp");
    heard_.clear();
  }

 private:
  void enter() {
    auto dialed = tcp_dial(theirs_.socket);
    expect(dialed.ok(), "no connection");
    socket_ = std::move(*dialed);
    pollfd connected{socket_.fd(), POLLOUT, 0};
    expect(::poll(&connected, 1, 60000) == 1, "no connection");
    const DoorNonce nonce = random_nonce();
    send(DoorHello{kMagic, DoorHello::Kind::kRequest, nonce}.pack());
    DoorReader reader;
    read(&reader, DoorHello::kBytes);
    const auto challenge = DoorHello::parse(reader.bytes(), kMagic, DoorHello::Kind::kChallenge);
    expect(challenge.has_value(), "no challenge");
    const auto key = session_key(theirs_.secret, nonce, *challenge);
    send(DoorAnswer{own_}.seal(key));
    read(&reader, DoorVerdict::kBytes);
    expect(DoorVerdict::open(reader.bytes(), key).has_value(), "not let in");
  }

  template <std::size_t kSize>
  void send(const std::array<std::byte, kSize>& bytes) {
    expect(tcp_send(socket_.fd(), bytes.data(), bytes.size()), "not sent");
  }
  void read(DoorReader* reader, std::size_t size) {
    reader->expect(size);
    expect(pump([&] { return reader->read(socket_.fd()) == DoorReader::Outcome::kComplete; }),
           "no answer at the door");
  }

  // A record, of a packet mostly, that tells the truth mostly.
  void say(FuzzedBytes& choices, FuzzedFrames& frames) {
    std::vector<std::byte> packet = frames.next();
    TcpRecord record;
    if (choices.below(16) == 0) {
      record.kind = TcpRecord::Kind::kFiller;
      packet.resize(choices.below(TcpRecord::kMostFiller + 2));
    }
    record.bytes = static_cast<std::uint32_t>(packet.size());
    if (choices.below(8) == 0) record.bytes += static_cast<std::uint32_t>(choices.below(64));
    if (choices.below(8) == 0) {
      record.kind = TcpRecord::Kind::kWrite;
      record.key = frames.token().key + (choices.below(4) == 0 ? 1 : 0);
      record.offset =
          frames.token().address + (choices.below(2) == 0 ? choices.below(UINT64_MAX) : 0);
    }
    std::vector<std::byte> bytes(record.header_bytes());
    encode_record(record, bytes.data());
    if (choices.below(16) == 0) bytes[choices.below(bytes.size())] = std::byte{choices.next()};
    bytes.insert(bytes.end(), packet.begin(), packet.end());
    bytes.resize(bytes.size() + record.padding_bytes());
    (void)tcp_send(socket_.fd(), bytes.data(), bytes.size());  // it may be closed, or full
  }

  // The records that the engine sent, of which packets are heard.
  void listen(FuzzedFrames& frames) {
    std::array<std::byte, 4096> bytes;
    ssize_t got = 0;
    while ((got = recv(socket_.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
      heard_.insert(heard_.end(), bytes.begin(), bytes.begin() + got);
    }
    TcpRecord record;
    while (heard_.size() >= TcpRecord::kMostBytes && decode_record(heard_.data(), &record)) {
      const std::size_t all = record.all_bytes();
      if (heard_.size() < all) return;
      if (record.kind == TcpRecord::Kind::kPacket) {
        frames.hear({heard_.data() + record.header_bytes(), record.bytes}, 0);
      }
      heard_.erase(heard_.begin(), heard_.begin() + static_cast<std::ptrdiff_t>(all));
    }
  }

  template <typename Done>
  bool pump(Done done) {
    const auto deadline = Clock::now() + kPatience;
    while (!done()) {
      victim_.progress();
      if (Clock::now() > deadline) return false;
    }
    return true;
  }

  FuzzedMessenger victim_;
  DoorAddress theirs_, own_;
  TcpSocket socket_;
  std::vector<std::byte> heard_;
};

}  // namespace
}  // namespace mad::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static auto* const peer = new mad::test::Peer;  // for the process's life
  peer->run(bytes, size);
  return 0;
}
