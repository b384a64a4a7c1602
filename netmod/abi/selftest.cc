#include "netmod/abi/selftest.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mad {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kPacketBytes = 4096;  // at most
// What the fabric rather writes than sends, but in these bounds.
constexpr std::size_t kLeastWriteBytes = 64 * 1024, kMostWriteBytes = 1024 * 1024;

// No byte is that of its neighbour, nor of the same place in another page or pattern.
Bytes pattern(std::size_t size, std::uint32_t seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(7 * i + (i >> 12) + std::size_t{31} * seed);
  }
  return bytes;
}

/// One of the two engines, and what has happened to it.
class Party {
 public:
  explicit Party(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}

  Driver& driver() { return *driver_; }
  /// How many completions it took.
  std::size_t poll();
  /// What came of the peer, as one row of bytes.
  Bytes& received() { return received_; }
  /// Posts that were accepted and are not completed.
  std::size_t& under_way() { return under_way_; }
  /// The first thing that failed.
  const Status& failure() const { return failure_; }

 private:
  void take(const Completion& completion);
  void fail(const Status& why) {
    if (failure_.ok()) failure_ = why;
  }

  Bytes received_;
  std::size_t under_way_ = 0;
  Status failure_;
  std::unique_ptr<Driver> driver_;
};

std::size_t Party::poll() {
  std::array<Completion, 8> completions;
  const std::size_t count = driver_->poll(completions.data(), completions.size());
  for (std::size_t i = 0; i < count; ++i) take(completions[i]);
  return count;
}

void Party::take(const Completion& completion) {
  switch (completion.kind) {
    case Completion::Kind::kReceived:
      received_.insert(received_.end(), completion.bytes.begin(), completion.bytes.end());
      if (completion.buffer != nullptr) driver_->release(completion.buffer);
      break;
    case Completion::Kind::kSent:
    case Completion::Kind::kWritten:
      --under_way_;
      if (completion.status.error()) fail(completion.status);
      break;
    case Completion::Kind::kDisconnected:
      fail({StatusCode::kPeerFailed,
            "the connection ended: " + std::string(completion.status.message())});
      break;
    case Completion::Kind::kConnected:
      break;
  }
}

class SelfTest {
 public:
  SelfTest(std::unique_ptr<Driver> one, std::unique_ptr<Driver> other, Clock::duration limit)
      : deadline_(Clock::now() + limit), one_(std::move(one)), other_(std::move(other)) {}

  Status run();

 private:
  using Post = std::function<Status()>;

  /// Polls both until `done` holds; `what` is what has not come about else.
  Status until(const std::function<bool()>& done, const char* what);
  /// Posts, polling while the driver says kAgain.
  Status post(Party& from, const char* what, const Post& once);
  /// The peer's connection to who calls, if it has called already.
  static Result<ConnectionId> connect(Party& from, Party& to);
  Status send(Party& from, Party& to, std::uint32_t seed);
  Status write(Party& from, Party& to, std::uint32_t seed);
  Status write_all(Party& from, ConnectionId connection, const ExposureToken& token);

  const Clock::time_point deadline_;
  // They outlive the drivers, which may be reading and writing them when a test has failed.
  std::array<Bytes, 2> packets_;
  Bytes source_, target_;
  Party one_, other_;
};

Status SelfTest::until(const std::function<bool()>& done, const char* what) {
  while (!done()) {
    const std::size_t happened = one_.poll() + other_.poll();
    for (const Party* party : {&one_, &other_}) {
      if (!party->failure().ok()) {
        return {party->failure().code(),
                std::string(what) + " failed: " + std::string(party->failure().message())};
      }
    }
    if (Clock::now() >= deadline_ && !done()) {
      return {StatusCode::kUnreachable, std::string(what) + " did not come about in time"};
    }
    if (happened == 0) std::this_thread::yield();  // a thread of the driver's may be at work
  }
  return {};
}

Status SelfTest::post(Party& from, const char* what, const Post& once) {
  Status posted = StatusCode::kAgain;
  Status waited = until(
      [&] {
        posted = once();
        return !posted.again();
      },
      what);
  if (!waited.ok()) return waited;
  if (posted.error()) return posted;
  if (posted.in_progress()) ++from.under_way();
  return {};
}

Result<ConnectionId> SelfTest::connect(Party& from, Party& to) {
  const std::vector<std::byte>& address = to.driver().address();
  return from.driver().connect(address.data(), address.size());
}

Status SelfTest::send(Party& from, Party& to, std::uint32_t seed) {
  const Result<ConnectionId> connection = connect(from, to);
  if (!connection.ok()) return connection.status();
  Bytes& packet = packets_[seed % packets_.size()];
  packet = pattern(std::min(kPacketBytes, from.driver().caps().nearest().max_packet_bytes), seed);
  const Segment segment{packet.data(), packet.size()};
  Status status = post(from, "sending a packet", [&] {
    return from.driver().post_send(*connection, {&segment, 1}, nullptr);
  });
  if (!status.ok()) return status;
  status = until([&] { return to.received().size() >= packet.size() && from.under_way() == 0; },
                 "a packet");
  if (!status.ok()) return status;
  if (std::exchange(to.received(), {}) == packet) return {};
  return {StatusCode::kCorrupt, "the bytes of a packet are not those that were sent"};
}

Status SelfTest::write_all(Party& from, ConnectionId connection, const ExposureToken& token) {
  const std::size_t most = from.driver().link(connection).max_write_bytes;
  for (std::size_t begin = 0; begin < source_.size(); begin += most) {
    const Segment part{source_.data() + begin, std::min(most, source_.size() - begin)};
    Status status = post(from, "writing into the peer's memory", [&] {
      return from.driver().post_write(connection, {&part, 1}, token, begin, nullptr);
    });
    if (!status.ok()) return status;
  }
  return {};
}

// A packet that is sent after a write comes when its bytes are placed.
Status SelfTest::write(Party& from, Party& to, std::uint32_t seed) {
  const Result<ConnectionId> there = connect(from, to), back = connect(to, from);
  if (!there.ok() || !back.ok()) return there.ok() ? back.status() : there.status();
  source_ = pattern(
      std::clamp(from.driver().link(*there).write_whole_from, kLeastWriteBytes, kMostWriteBytes),
      seed);
  target_ = Bytes(source_.size());
  const Result<ExposureToken> token = to.driver().expose(*back, {target_.data(), target_.size()});
  if (!token.ok()) return token.status();
  Status status = write_all(from, *there, *token);
  if (status.ok()) status = send(from, to, seed + 1);
  if (!status.ok()) return status;
  to.driver().withdraw(*back, *token);
  if (target_ == source_) return {};
  return {StatusCode::kCorrupt, "the bytes in memory are not those that were written there"};
}

Status SelfTest::run() {
  std::uint32_t seed = 1;
  Status status;
  for (const bool swapped : {false, true}) {
    Party& from = swapped ? other_ : one_;
    Party& to = swapped ? one_ : other_;
    if (status.ok()) status = send(from, to, seed++);
    if (status.ok() && from.driver().caps().remote_write) status = write(from, to, seed++);
  }
  return status;
}

}  // namespace

Status self_test(std::unique_ptr<Driver> one, std::unique_ptr<Driver> other,
                 std::chrono::milliseconds limit) {
  return SelfTest(std::move(one), std::move(other), limit).run();
}

}  // namespace mad
