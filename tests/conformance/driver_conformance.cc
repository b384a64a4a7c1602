#include "tests/conformance/driver_conformance.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "tests/support/bytes.h"

namespace mad {
namespace {

TEST_P(DriverConformance, CapsAreSane) {
  const DriverCaps& caps = pair.a->caps();
  EXPECT_FALSE(caps.name.empty());
  ASSERT_FALSE(caps.links.empty());
  for (std::size_t kind = 0; kind < caps.links.size(); ++kind) {
    const LinkCaps& link = caps.links[kind];
    EXPECT_EQ(link.kind, kind);
    EXPECT_FALSE(link.prices.empty());
    EXPECT_GE(link.max_iov, 1u);
    EXPECT_GE(link.max_packet_bytes, 128u);
    EXPECT_LE(link.inject_bytes, link.max_packet_bytes);
    EXPECT_EQ(caps.remote_write, link.max_write_iov > 0);
    EXPECT_EQ(caps.remote_write, link.max_write_bytes > 0);
  }
}

TEST_P(DriverConformance, WhatALinkCanDoIsSane) {
  establish();
  const DriverCaps& caps = pair.a->caps();
  for (const LinkCaps& link : {pair.a->link(to_b), pair.b->link(to_a)}) {
    ASSERT_LT(link.kind, caps.links.size());
    const LinkCaps& kind = caps.links[link.kind];
    EXPECT_EQ(link.prices, kind.prices);
    EXPECT_EQ(link.max_iov, kind.max_iov);
    EXPECT_EQ(link.max_packet_bytes, kind.max_packet_bytes);
    EXPECT_EQ(link.inject_bytes, kind.inject_bytes);
    EXPECT_EQ(link.piece_bytes, kind.piece_bytes);
    EXPECT_EQ(link.cork_bytes, kind.cork_bytes);
    EXPECT_EQ(link.max_write_iov, kind.max_write_iov);
    EXPECT_GE(link.max_write_bytes, kind.max_write_bytes);
    EXPECT_EQ(caps.remote_write, link.max_write_bytes > 0);
    EXPECT_TRUE(link.lent_bytes == 0 || link.lent_bytes == link.piece_bytes);
    EXPECT_TRUE(link.lent_bytes == 0 || link.lent_bytes == link.short_bytes);
    EXPECT_TRUE(link.lent_bytes > 0 || link.short_bytes <= link.max_packet_bytes);
    EXPECT_FALSE(link.prefers_writes(SIZE_MAX) && !caps.remote_write);
    EXPECT_FALSE(link.prefers_writes(1) && !link.prefers_writes(2)) << "longer runs are no worse";
  }
}

TEST_P(DriverConformance, AddressesAreShortAndDistinct) {
  EXPECT_GT(pair.a->address().size(), 0u);
  EXPECT_LE(pair.a->address().size(), 64u);
  EXPECT_NE(pair.a->address(), pair.b->address());
}

TEST_P(DriverConformance, ForeignAddressIsRefused) {
  const Bytes foreign = pattern(5, 1);
  Result<ConnectionId> connection = pair.a->connect(foreign.data(), foreign.size());
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.status().code(), StatusCode::kInvalidArgument);
}

TEST_P(DriverConformance, ConnectIsLazyAndFindsTheSameConnection) {
  const ConnectionId first = connect();
  EXPECT_EQ(connect(), first);
  EXPECT_EQ(pair.a->peer_address(first), pair.b->address());
  establish();
  EXPECT_EQ(to_b, first);
  EXPECT_EQ(pair.b->peer_address(to_a), pair.a->address());
}

TEST_P(DriverConformance, SimultaneousConnectGivesOneConnectionPerPeer) {
  to_b = connect();
  to_a = connect(true);
  Bytes word = pattern(8, 3);
  const Segment segment{word.data(), word.size()};
  for (int round = 0; round < 4; ++round) {
    ASSERT_FALSE(send(*a, to_b, {&segment, 1}, &word).error());
    ASSERT_FALSE(send(*b, to_a, {&segment, 1}, &word).error());
  }
  ASSERT_TRUE(pump([&] { return a->received.size() == 4 && b->received.size() == 4; }));
  for (const auto& packet : a->received) EXPECT_EQ(packet.connection, to_b);
  for (const auto& packet : b->received) EXPECT_EQ(packet.connection, to_a);
  EXPECT_EQ(connect(), to_b);
  EXPECT_EQ(connect(true), to_a);
  EXPECT_TRUE(a->disconnected.empty());
  EXPECT_TRUE(b->disconnected.empty());
}

// Stations that poll only when they may not sleep, or are woken, still see everything.
TEST_P(DriverConformance, SleepersAreWoken) {
  establish();
  std::vector<pollfd> descriptors;
  if (pair.b->watch(&descriptors).code() == StatusCode::kNotFound) {
    EXPECT_TRUE(descriptors.empty()) << "who cannot tell gives nothing to sleep on";
    return;
  }
  const auto poll_when_woken = [&](Station& station) {
    descriptors.clear();
    const Status status = station.driver.watch(&descriptors);
    ASSERT_TRUE(status.ok() || status.again());
    if (status.again() || ::poll(descriptors.data(), descriptors.size(), 0) > 0) station.poll();
  };
  // More than the fabric keeps on the way, so that the sender has to be woken, too.
  const int kPackets = 400;
  std::vector<Bytes> sent;
  for (int i = 0; i < kPackets; ++i) {
    sent.push_back(pattern(i % 3 == 0 ? pair.a->caps().nearest().max_packet_bytes : 8, i));
  }
  std::size_t posted = 0, kept = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (b->received.size() < sent.size() && std::chrono::steady_clock::now() < deadline) {
    while (posted < sent.size()) {
      const Segment segment{sent[posted].data(), sent[posted].size()};
      const Status status = pair.a->post_send(to_b, {&segment, 1}, &sent[posted]);
      ASSERT_FALSE(status.error());
      if (status.again()) break;
      if (status.in_progress()) ++kept;
      ++posted;
    }
    poll_when_woken(*a);
    poll_when_woken(*b);
  }
  ASSERT_EQ(b->received.size(), sent.size());
  for (int i = 0; i < kPackets; ++i) ASSERT_EQ(b->received[i].bytes, sent[i]) << "packet " << i;
  while (a->finished_count < kept && std::chrono::steady_clock::now() < deadline) {
    poll_when_woken(*a);
  }
  EXPECT_EQ(a->finished_count, kept);
  // Now nothing happens any more, and a sleeper is left alone.
  descriptors.clear();
  ASSERT_TRUE(pump([&] { return pair.b->watch(&descriptors).ok(); }));
  descriptors.clear();
  ASSERT_TRUE(pair.b->watch(&descriptors).ok());
  EXPECT_EQ(::poll(descriptors.data(), descriptors.size(), 20), 0);
}

TEST_P(DriverConformance, PacketsArriveWholeAndInOrder) {
  establish();
  const std::size_t most =
      std::min<std::size_t>(pair.a->caps().nearest().max_packet_bytes, 16 * 1024);
  const int kPackets = 400;
  std::vector<Bytes> sent;
  for (int i = 0; i < kPackets; ++i) sent.push_back(pattern(1 + (i * 977u) % most, i));
  for (int i = 0; i < kPackets; ++i) {
    const Segment segment{sent[i].data(), sent[i].size()};
    ASSERT_FALSE(send(*a, to_b, {&segment, 1}, &sent[i]).error());
  }
  ASSERT_TRUE(pump([&] { return b->received.size() == static_cast<std::size_t>(kPackets); }));
  for (int i = 0; i < kPackets; ++i) ASSERT_EQ(b->received[i].bytes, sent[i]) << "packet " << i;
}

TEST_P(DriverConformance, CorkedPacketsArriveInOrder) {
  establish();
  const std::size_t sizes[] = {8, 300, 5000, pair.a->caps().nearest().max_packet_bytes, 40};
  std::vector<Bytes> sent;
  for (unsigned i = 0; i < 300; ++i) {
    sent.push_back(pattern(std::min(sizes[i % 5], pair.a->caps().nearest().max_packet_bytes), i));
  }
  std::size_t next = 0, kept = a->finished_count;
  ASSERT_TRUE(pump([&] {
    pair.a->cork(to_b);
    for (std::size_t turn = 0; turn < 7 && next < sent.size(); ++turn) {
      const Segment segment{sent[next].data(), sent[next].size()};
      const Status status = pair.a->post_send(to_b, {&segment, 1}, &sent[next]);
      EXPECT_FALSE(status.error());
      if (status.again()) break;
      if (status.in_progress()) ++kept;
      ++next;
    }
    pair.a->uncork(to_b);
    return b->received.size() == sent.size() && a->finished_count == kept;
  }));
  for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_TRUE(b->received[i].bytes == sent[i]) << i;
}

TEST_P(DriverConformance, EverySizeAndSegmentCountIsGathered) {
  establish();
  const DriverCaps& caps = pair.a->caps();
  std::vector<std::size_t> sizes = {1, 7, 8, 9, 64, 1000, 4096};
  for (const std::size_t around : {caps.nearest().inject_bytes, caps.nearest().max_packet_bytes}) {
    for (const std::size_t size : {around - 1, around, around + 1}) sizes.push_back(size);
  }
  for (const std::size_t size : sizes) {
    if (size == 0 || size > caps.nearest().max_packet_bytes) continue;
    const std::size_t step = size <= 65536 ? 1 : 15;
    for (std::size_t count = 1; count <= caps.nearest().max_iov; count += step) {
      if (size < count) continue;
      Bytes bytes = pattern(size, static_cast<unsigned>(size + count));
      const std::vector<Segment> segments = cut(bytes, count);
      b->received.clear();
      a->finished.clear();
      const Status status = send(*a, to_b, list(segments), &bytes);
      ASSERT_FALSE(status.error()) << status.message();
      ASSERT_TRUE(pump([&] {
        return b->received.size() == 1 && (status.ok() || a->finished.count(&bytes) == 1);
      })) << size
          << " bytes in " << count << " segments";
      ASSERT_EQ(b->received[0].bytes, bytes) << size << " bytes in " << count << " segments";
      if (!status.ok()) {
        ASSERT_TRUE(a->finished_status[&bytes].ok());
      }
    }
  }
}

// In pieces or whole, placed or not, with short ones between.
TEST_P(DriverConformance, LongPacketsArriveWholeAndInOrder) {
  establish();
  const DriverCaps& caps = pair.a->caps();
  b->place_rests = true;
  const int kPackets = 120;
  const std::size_t piece = caps.nearest().piece_bytes == 0 ? 1000 : caps.nearest().piece_bytes;
  const std::size_t sizes[] = {
      40, piece, 2 * piece, 2 * piece + 1, 3 * piece - 5, caps.nearest().max_packet_bytes};
  std::vector<Bytes> sent;
  for (int i = 0; i < kPackets; ++i) {
    sent.push_back(pattern(std::min(sizes[i % 6], caps.nearest().max_packet_bytes), i));
  }
  for (int i = 0; i < kPackets; ++i) {
    const Segment segment{sent[i].data(), sent[i].size()};
    ASSERT_FALSE(send(*a, to_b, {&segment, 1}, &sent[i]).error());
  }
  ASSERT_TRUE(pump([&] { return b->received.size() == static_cast<std::size_t>(kPackets); }));
  for (int i = 0; i < kPackets; ++i) ASSERT_TRUE(b->received[i].bytes == sent[i]) << i;
  EXPECT_EQ(b->placed_rests > 0, b->refused_rests < b->asked_rests);
  EXPECT_TRUE(caps.name != "tcp" || b->refused_rests == 0);
}

// The memory is the caller's again at once.
TEST_P(DriverConformance, NothingIsPlacedAfterDisconnect) {
  establish();
  if (pair.a->caps().nearest().piece_bytes == 0)
    GTEST_SKIP() << "packets of this fabric arrive whole";
  if (pair.a->link(to_b).lent_bytes > 0) GTEST_SKIP() << "nor are pieces of lent memory placed";
  Bytes bytes = pattern(pair.a->caps().nearest().max_packet_bytes, 5);
  const Segment segment{bytes.data(), bytes.size()};
  Status posted = StatusCode::kAgain;
  for (int i = 0; i < 1000 && posted.again(); ++i) {  // b is not polled meanwhile
    posted = pair.a->post_send(to_b, {&segment, 1}, &bytes);
  }
  ASSERT_TRUE(posted.ok() || posted.in_progress());
  Completion piece;
  ASSERT_TRUE(pump([&] {
    b.reset();  // not polled by the station
    return pair.b->poll(&piece, 1) == 1;
  }));
  ASSERT_EQ(piece.kind, Completion::Kind::kReceived);
  ASSERT_GT(piece.rest, 0u);
  RestMemory memory(piece.rest);
  const Status placed = pair.b->place_rest(piece.connection, memory, 0);
  if (piece.buffer != nullptr) pair.b->release(piece.buffer);
  ASSERT_TRUE(placed.ok() || (placed.again() && pair.b->caps().name != "tcp"));
  pair.b->disconnect(piece.connection);
  const Bytes before = pattern(memory.bytes.size(), 6);
  memory.bytes = before;
  for (int i = 0; i < 200; ++i) {
    a->poll();
    Completion next;
    if (pair.b->poll(&next, 1) == 1 && next.buffer != nullptr) pair.b->release(next.buffer);
  }
  EXPECT_TRUE(memory.bytes == before);
}

TEST_P(DriverConformance, EmptySegmentsAreAllowed) {
  establish();
  if (pair.a->caps().nearest().max_iov < 3) GTEST_SKIP() << "needs three segments";
  Bytes bytes = pattern(40, 2);
  const std::vector<Segment> segments = {{bytes.data(), 16}, {nullptr, 0}, {bytes.data() + 16, 24}};
  ASSERT_FALSE(send(*a, to_b, list(segments), &bytes).error());
  ASSERT_TRUE(pump([&] { return b->received.size() == 1; }));
  EXPECT_EQ(b->received[0].bytes, bytes);
}

TEST_P(DriverConformance, InjectedPacketsAreCopiedAtOnce) {
  establish();
  const std::size_t size = pair.a->caps().nearest().inject_bytes;
  if (size == 0) GTEST_SKIP() << "this fabric does not inject";
  const int kPackets = 200;
  const std::size_t before = a->finished_count;
  std::size_t in_progress = 0;
  for (int i = 0; i < kPackets; ++i) {
    Bytes bytes = pattern(size, i);
    const Segment segment{bytes.data(), bytes.size()};
    const Status status = send(*a, to_b, {&segment, 1}, &bytes);
    ASSERT_FALSE(status.error());
    if (status.in_progress()) ++in_progress;
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
  }
  ASSERT_TRUE(pump([&] {
    return b->received.size() == static_cast<std::size_t>(kPackets) &&
           a->finished_count - before == in_progress;
  }));
  for (int i = 0; i < kPackets; ++i) ASSERT_EQ(b->received[i].bytes, pattern(size, i));
}

TEST_P(DriverConformance, EveryAcceptedPacketHasOneCompletion) {
  establish();
  const std::size_t size = pair.a->caps().nearest().inject_bytes + 1;
  if (size > pair.a->caps().nearest().max_packet_bytes) GTEST_SKIP() << "every packet is injected";
  const int kPackets = 300;
  std::vector<Bytes> sent(kPackets, pattern(size, 1));
  int in_progress = 0;
  for (Bytes& bytes : sent) {
    const Segment segment{bytes.data(), bytes.size()};
    const Status status = send(*a, to_b, {&segment, 1}, &bytes);
    ASSERT_FALSE(status.error());
    if (status.in_progress()) ++in_progress;
  }
  ASSERT_TRUE(pump([&] {
    return b->received.size() == static_cast<std::size_t>(kPackets) &&
           a->finished.size() == static_cast<std::size_t>(in_progress);
  }));
  for (const auto& entry : a->finished) EXPECT_EQ(entry.second, 1);
}

TEST_P(DriverConformance, FullQueueSaysAgainAndRecovers) {
  establish();
  b->keep = true;  // the receiver sits on its buffers
  const std::size_t size =
      std::min<std::size_t>(pair.a->caps().nearest().max_packet_bytes, 16 * 1024);
  Bytes bytes = pattern(size, 9);
  const Segment segment{bytes.data(), bytes.size()};
  std::vector<int> contexts(20000);
  std::size_t accepted = 0;
  // Nobody polls the receiver: sooner or later the fabric is full.
  while (accepted < contexts.size()) {
    const Status status = pair.a->post_send(to_b, {&segment, 1}, &contexts[accepted]);
    ASSERT_FALSE(status.error());
    if (status.again()) {
      a->poll();
      const Status second = pair.a->post_send(to_b, {&segment, 1}, &contexts[accepted]);
      if (second.again()) break;
    }
    ++accepted;
  }
  ASSERT_LT(accepted, contexts.size()) << "320 MB accepted without back-pressure";
  ASSERT_GT(accepted, 0u);
  ASSERT_TRUE(pump([&] {
    if (!b->kept.empty()) {
      pair.b->release(b->kept.back());
      b->kept.pop_back();
    }
    return b->received.size() == accepted && b->kept.empty();
  }));
  b->keep = false;
  for (const auto& packet : b->received) ASSERT_EQ(packet.bytes, bytes);
  ASSERT_FALSE(send(*a, to_b, {&segment, 1}, &contexts[0]).error());
  ASSERT_TRUE(pump([&] { return b->received.size() == accepted + 1; }));
}

// What a driver said has left is not held up by a sender that polls no more.
TEST_P(DriverConformance, WhatHasLeftArrivesWithoutItsSender) {
  establish();
  const std::size_t most =
      std::min<std::size_t>({pair.a->caps().nearest().inject_bytes,
                             pair.a->caps().nearest().max_packet_bytes, std::size_t{4096}});
  // 8 bytes and the headers of libfabric's tcp are a power of two: its socket is then full at the
  // end of a packet, and the next one is the provider's to stage or to refuse.
  for (const std::size_t size : {std::min<std::size_t>(8, most), most}) {
    SCOPED_TRACE(size);
    Bytes bytes = pattern(size, 3);
    const Segment segment{bytes.data(), bytes.size()};
    std::vector<int> contexts(200000);
    std::size_t left_at_once = 0;
    a->finished_count = 0;
    b->received.clear();
    // Nobody polls the receiver: sooner or later the fabric is full.
    for (std::size_t i = 0; i < contexts.size(); ++i) {
      const auto post = [&] { return pair.a->post_send(to_b, {&segment, 1}, &contexts[i]); };
      Status status = post();
      for (int tries = 0; tries < 3 && status.again(); ++tries) {
        a->poll();
        status = post();
      }
      ASSERT_FALSE(status.error());
      if (status.again()) break;
      left_at_once += status.ok() ? 1 : 0;
    }
    const std::size_t left = left_at_once + a->finished_count;
    EXPECT_TRUE(left > 0 || GetParam().leaves_when_polled);
    EXPECT_TRUE(pump_receiver([&] { return b->received.size() >= left; }))
        << b->received.size() << " of " << left;
    ASSERT_TRUE(pump([&] { return b->received.size() == left_at_once + a->finished_count; }));
  }
}

TEST_P(DriverConformance, BuffersComeBackInAnyOrder) {
  establish();
  std::mt19937 random(11);
  b->keep = true;
  const auto release_any = [&] {
    const std::size_t victim = random() % b->kept.size();
    pair.b->release(b->kept[victim]);
    b->kept.erase(b->kept.begin() + static_cast<std::ptrdiff_t>(victim));
  };
  const std::size_t kPackets = 10000;
  Bytes bytes = pattern(64, 5);
  for (std::size_t i = 0; i < kPackets; ++i) {
    std::memcpy(bytes.data(), &i, sizeof(i));
    const Segment segment{bytes.data(), bytes.size()};
    Status status;
    ASSERT_TRUE(pump([&] {
      status = pair.a->post_send(to_b, {&segment, 1}, &bytes);
      if (status.again() && !b->kept.empty()) release_any();
      return !status.again();
    })) << "packet "
        << i << ": buffers leak";
    ASSERT_FALSE(status.error());
    ASSERT_TRUE(pump([&] {
      return b->received.size() == 1 && (status.ok() || a->finished.count(&bytes) == 1);
    })) << "packet "
        << i;
    std::size_t number = 0;
    std::memcpy(&number, b->received[0].bytes.data(), sizeof(number));
    ASSERT_EQ(number, i);
    b->received.clear();
    a->finished.clear();
    while (b->kept.size() > 8) release_any();
  }
}

TEST_P(DriverConformance, BothDirectionsAtOnce) {
  establish();
  const std::size_t size =
      std::min<std::size_t>(pair.a->caps().nearest().max_packet_bytes, 8 * 1024);
  Bytes bytes = pattern(size, 4);
  const Segment segment{bytes.data(), bytes.size()};
  std::vector<int> contexts(500);
  for (int& context : contexts) {
    ASSERT_FALSE(send(*a, to_b, {&segment, 1}, &context).error());
    ASSERT_FALSE(send(*b, to_a, {&segment, 1}, &context).error());
  }
  ASSERT_TRUE(pump([&] { return a->received.size() == 500 && b->received.size() == 500; }));
}

TEST_P(DriverConformance, DisconnectDeliversWhatWasAccepted) {
  establish();
  Bytes bytes = pattern(std::min<std::size_t>(pair.a->caps().nearest().max_packet_bytes, 4096), 6);
  const Segment segment{bytes.data(), bytes.size()};
  std::vector<int> contexts(10);
  std::size_t accepted = 0;
  for (int& context : contexts) {
    const Status status = send(*a, to_b, {&segment, 1}, &context);
    ASSERT_FALSE(status.error());
    ++accepted;
  }
  pair.a->disconnect(to_b);
  ASSERT_TRUE(pump([&] {
    (void)pair.b->link(to_a);  // whoever reads the last packets may ask
    return b->disconnected.count(to_a) == 1;
  }));
  EXPECT_EQ(b->received.size(), accepted);
  EXPECT_TRUE(pair.a->post_send(to_b, {&segment, 1}, &bytes).error());
  EXPECT_TRUE(pair.b->post_send(to_a, {&segment, 1}, &bytes).error());
}

TEST_P(DriverConformance, DeathIsNoticedAndCompletesEverything) {
  establish();
  const std::size_t size =
      std::min<std::size_t>(pair.a->caps().nearest().max_packet_bytes, 16 * 1024);
  Bytes bytes = pattern(size, 8);
  const Segment segment{bytes.data(), bytes.size()};
  std::vector<int> contexts(50);
  std::size_t in_progress = 0;
  for (int& context : contexts) {
    const Status status = pair.a->post_send(to_b, {&segment, 1}, &context);
    ASSERT_FALSE(status.error());
    if (status.again()) break;
    if (status.in_progress()) ++in_progress;
  }
  b.reset();
  if (pair.kill_b) {
    pair.kill_b();
  } else {
    pair.b.reset();
  }
  ASSERT_TRUE(pump([&] {
    return a->disconnected.count(to_b) == 1 && a->finished.size() == in_progress;
  })) << a->finished.size()
      << " of " << in_progress << " completions, " << a->disconnected.size() << " disconnected";
  for (const auto& entry : a->finished) EXPECT_EQ(entry.second, 1);
  EXPECT_EQ(a->disconnected[to_b].code(), StatusCode::kPeerFailed);
  EXPECT_TRUE(pair.a->post_send(to_b, {&segment, 1}, &bytes).error());
}

TEST_P(DriverConformance, NobodyAtTheAddressIsAnEndNotAHang) {
  if (!GetParam().nobody) GTEST_SKIP() << "the factory knows no such address";
  const Bytes address = GetParam().nobody(pair);
  Result<ConnectionId> connection = pair.a->connect(address.data(), address.size());
  if (!connection.ok()) {
    EXPECT_EQ(connection.status().code(), StatusCode::kUnreachable);
    return;
  }
  ASSERT_TRUE(pump([&] { return a->disconnected.count(*connection) == 1; }));
  EXPECT_TRUE(a->disconnected[*connection].error());
  std::uint64_t word = 0;
  const Segment segment{&word, sizeof(word)};
  EXPECT_TRUE(pair.a->post_send(*connection, {&segment, 1}, &word).error());
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverConformance);

}  // namespace mad
