#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "tests/conformance/driver_conformance.h"

namespace mad {

std::size_t RestMemory::runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                             std::size_t capacity) {
  constexpr std::size_t kRun = 1000;
  std::size_t count = 0;
  for (; count < capacity && size > 0; ++count) {
    out[count] = {bytes.data() + offset, std::min<std::size_t>(size, kRun)};
    offset += out[count].size;
    size -= out[count].size;
  }
  return count;
}

std::vector<Segment> cut(std::vector<std::byte>& bytes, std::size_t count) {
  std::vector<Segment> segments;
  const std::size_t step = bytes.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = i * step;
    const std::size_t last = i + 1 == count ? bytes.size() : first + step;
    segments.push_back({bytes.data() + first, last - first});
  }
  return segments;
}

void Station::take(const Completion& c) {
  EXPECT_EQ(disconnected.count(c.connection), 0u) << "packet after the end of its connection";
  Begun& packet = begun[c.connection];
  const bool first = packet.left == 0;
  if (first) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(c.bytes.data) % 8, 0u);
    const LinkCaps& link = driver.link(c.connection);
    const std::size_t least = link.piece_bytes / (link.lent_bytes > 0 ? 2 : 1);
    EXPECT_TRUE(c.rest == 0 || c.bytes.size >= least);
  } else if (!packet.rest) {
    EXPECT_EQ(c.bytes.size, packet.left - c.rest);
  } else {
    EXPECT_EQ(c.bytes.size, 0u);
    EXPECT_EQ(c.rest, 0u);
    packet.bytes.insert(packet.bytes.end(), packet.rest->bytes.begin(), packet.rest->bytes.end());
    packet.rest.reset();
    ++placed_rests;
  }
  packet.bytes.insert(packet.bytes.end(), c.bytes.begin(), c.bytes.end());
  packet.left = c.rest;
  if (first && c.rest > 0 && place_rests && c.bytes.begin()[0] > std::byte{85}) {
    ++asked_rests;
    packet.rest = std::make_unique<RestMemory>(c.rest);
    if (!driver.place_rest(c.connection, *packet.rest, 0).ok()) {
      ++refused_rests;
      packet.rest.reset();
    }
  }
  if (c.rest == 0) received.push_back({c.connection, std::exchange(packet.bytes, {})});
  if (c.buffer == nullptr) return;
  if (keep) {
    kept.push_back(c.buffer);
  } else {
    driver.release(c.buffer);
  }
}

void Station::take_in_place() {
  ConnectionId connection = 0;
  for (int taken = 0; ++looks_ % 3 != 0; ++taken) {
    const Segment packet =
        driver.next_packet(&connection, taken == 0 ? Driver::Look::kBriefly : Driver::Look::kOnce);
    if (packet.size == 0) return;
    EXPECT_EQ(disconnected.count(connection), 0u) << "packet after the end of its connection";
    EXPECT_EQ(begun[connection].left, 0u) << "a packet within another";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packet.data) % 8, 0u);
    received.push_back({connection, {packet.begin(), packet.end()}});
    driver.drop_packet();
  }
}

void Station::poll() {
  if (!keep) take_in_place();
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
        take(c);
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

namespace {

bool poll_until(std::initializer_list<Station*> stations, const std::function<bool()>& done) {
  const auto happened = [&] {
    std::size_t count = 0;
    for (const Station* station : stations) {
      if (station) count += station->received.size() + station->finished_count;
    }
    return count;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  for (int idle = 0; !done(); ++idle) {
    const std::size_t before = happened();
    for (Station* station : stations) {
      if (station) station->poll();
    }
    if (happened() != before) idle = 0;
    if (idle > 100) std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

}  // namespace

bool DriverConformance::pump(const std::function<bool()>& done) {
  return poll_until({a.get(), b.get()}, done);
}

bool DriverConformance::pump_receiver(const std::function<bool()>& done) {
  return poll_until({b.get()}, done);
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

bool DriverConformance::put(Bytes bytes, const ExposureToken& token, std::uint64_t offset) {
  const Segment all{bytes.data(), bytes.size()};
  Status status;
  const bool posted = pump([&] {
    status = pair.a->post_put(to_b, {&all, 1}, token, offset, &bytes);
    return !status.again();
  });
  EXPECT_TRUE(status.in_progress()) << status.message();
  return posted && pump([&] { return a->finished.count(&bytes) == 1; }) &&
         a->finished_status[&bytes].ok();
}

bool DriverConformance::get_first(Segment memory, const ExposureToken& token, std::uint64_t offset,
                                  void* context) {
  Result<std::size_t> posted = Status(StatusCode::kAgain);
  const bool done = pump([&] {
    posted = pair.a->post_get(to_b, memory, token, offset, context);
    return !posted.status().again();
  });
  EXPECT_TRUE(posted.ok()) << posted.status().message();
  return done && posted.ok() && *posted == memory.size;
}

bool DriverConformance::get(Segment memory, const ExposureToken& token, std::uint64_t offset) {
  while (memory.size > 0) {
    Result<std::size_t> posted = Status(StatusCode::kAgain);
    int context = 0;
    a->finished.clear();
    const bool done = pump([&] {
      posted = pair.a->post_get(to_b, memory, token, offset, &context);
      return !posted.status().again();
    });
    EXPECT_TRUE(posted.ok()) << posted.status().message();
    if (!done || !posted.ok() || *posted == 0 || *posted > memory.size) return false;
    if (!pump([&] { return a->finished.count(&context) == 1; })) return false;
    if (!a->finished_status[&context].ok()) return false;
    memory = {memory.begin() + *posted, memory.size - *posted};
    offset += *posted;
  }
  return true;
}

bool DriverConformance::all_finished(std::vector<int>& contexts) {
  return std::all_of(contexts.begin(), contexts.end(), [this](int& context) {
    return a->finished.count(&context) == 1 && a->finished_status[&context].ok();
  });
}

void DriverConformance::establish() {
  to_b = connect();
  std::uint64_t word = 0x1122334455667788;
  const Segment segment{&word, sizeof(word)};
  std::size_t to_finish = 0;
  const auto greet = [&](Station& from, ConnectionId to) {
    const Status status = send(from, to, {&segment, 1}, &word);
    if (status.in_progress()) ++to_finish;
    return status;
  };
  ASSERT_FALSE(greet(*a, to_b).error());
  ASSERT_TRUE(pump([&] { return b->received.size() == 1; }));
  to_a = connect(true);
  EXPECT_EQ(to_a, b->received[0].connection) << "connect() must find the peer's own connection";
  ASSERT_FALSE(greet(*b, to_a).error());
  ASSERT_TRUE(pump([&] {
    return a->received.size() == 1 && a->finished_count + b->finished_count == to_finish;
  }));
  EXPECT_EQ(a->received[0].connection, to_b);
  for (Station* const station : {a.get(), b.get()}) {
    station->received.clear();
    station->finished.clear();
    station->finished_count = 0;
  }
}

}  // namespace mad
