#include <array>
#include <chrono>
#include <thread>

#include "tests/conformance/driver_conformance.h"

namespace mad {

void Station::poll() {
  std::array<Completion, 16> completions;
  const std::size_t count = driver.poll(completions.data(), completions.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Completion& c = completions[i];
    switch (c.kind) {
      case Completion::Kind::kSent:
      case Completion::Kind::kWritten:
        ++finished[c.context];
        ++finished_count;
        finished_status[c.context] = c.status;
        break;
      case Completion::Kind::kReceived:
        EXPECT_EQ(disconnected.count(c.connection), 0u) << "packet after the end of its connection";
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(c.bytes.data) % 8, 0u);
        received.push_back({c.connection, {c.bytes.begin(), c.bytes.end()}});
        if (keep) {
          kept.push_back(c.buffer);
        } else {
          driver.release(c.buffer);
        }
        break;
      case Completion::Kind::kConnected:
        ++connected[c.connection];
        break;
      case Completion::Kind::kDisconnected:
        EXPECT_EQ(disconnected.count(c.connection), 0u) << "two ends of one connection";
        disconnected[c.connection] = c.status;
        break;
    }
  }
}

void DriverConformance::SetUp() {
  pair = GetParam().make();
  ASSERT_TRUE(pair.a);
  ASSERT_TRUE(pair.b);
  a = std::make_unique<Station>(*pair.a);
  b = std::make_unique<Station>(*pair.b);
}

void DriverConformance::TearDown() {
  for (const auto& station : {a.get(), b.get()}) {
    if (!station) continue;
    for (void* buffer : station->kept) station->driver.release(buffer);
  }
}

bool DriverConformance::pump(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int idle = 0; !done(); ++idle) {
    const std::size_t before = (a ? a->received.size() + a->finished_count : 0) +
                               (b ? b->received.size() + b->finished_count : 0);
    if (a) a->poll();
    if (b) b->poll();
    const std::size_t after = (a ? a->received.size() + a->finished_count : 0) +
                              (b ? b->received.size() + b->finished_count : 0);
    if (after != before) idle = 0;
    if (idle > 100) std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

ConnectionId DriverConformance::connect(bool from_b) {
  Driver& from = from_b ? *pair.b : *pair.a;
  const std::vector<std::byte>& address = (from_b ? *pair.a : *pair.b).address();
  Result<ConnectionId> connection = from.connect(address.data(), address.size());
  EXPECT_TRUE(connection.ok()) << connection.status().message();
  return connection.ok() ? *connection : 0;
}

Status DriverConformance::send(Station& from, ConnectionId connection, SegmentList packet,
                               void* context) {
  Status status = StatusCode::kAgain;
  pump([&] {
    status = from.driver.post_send(connection, packet, context);
    return !status.again();
  });
  return status;
}

Status DriverConformance::write(Station& from, ConnectionId connection, SegmentList packet,
                                const ExposureToken& token, std::uint64_t offset, void* context) {
  Status status = StatusCode::kAgain;
  pump([&] {
    status = from.driver.post_write(connection, packet, token, offset, context);
    return !status.again();
  });
  return status;
}

void DriverConformance::establish() {
  to_b = connect();
  std::uint64_t word = 0x1122334455667788;
  const Segment segment{&word, sizeof(word)};
  ASSERT_FALSE(send(*a, to_b, {&segment, 1}, &word).error());
  ASSERT_TRUE(pump([&] { return b->received.size() == 1; }));
  to_a = connect(true);
  EXPECT_EQ(to_a, b->received[0].connection) << "connect() must find the peer's own connection";
  ASSERT_FALSE(send(*b, to_a, {&segment, 1}, &word).error());
  ASSERT_TRUE(pump([&] { return a->received.size() == 1; }));
  EXPECT_EQ(a->received[0].connection, to_b);
  pump([&] { return a->received.size() == 1 && b->received.size() == 1; });
  a->received.clear();
  b->received.clear();
  a->finished.clear();
  b->finished.clear();
}

}  // namespace mad
