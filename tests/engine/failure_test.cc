// Peers that die, leave, or cannot be reached, and what callers get to know of it.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/engine/node.h"
#include "tests/engine/other_process.h"

namespace mad::test {
namespace {

constexpr std::size_t kLarge = 64 << 20;

void progress_for_ever(Node& node) {
  while (true) node.progress();
}

// Says a word for every message and never takes a payload.
void take_nothing(Node& node, Parent& parent) {
  node.on_arrival = [&](const Arrival&) { parent.say('m'); };
  progress_for_ever(node);
}

/// What the survivor was told about the peer.
void expect_gone(const Node& node, mad_peer* peer, int status) {
  ASSERT_EQ(node.departures.size(), 1u);
  EXPECT_EQ(node.departures[0].peer, peer);
  EXPECT_EQ(node.departures[0].status, status) << node.departures[0].why;
  EXPECT_FALSE(node.departures[0].why.empty());
  EXPECT_EQ(mad_peer_status(peer), status);
}

class Failure : public ::testing::TestWithParam<const char*> {};

TEST_P(Failure, DeathEndsASendThatWaitsForItsReceiver) {
  OtherProcess other(GetParam(), take_nothing);
  Node node(GetParam());
  mad_peer* const peer = other.peer_of(node);
  const Bytes data(kLarge, std::byte{7});
  Operation sent;
  node.send(peer, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(progress_until({&node}, [&] { return other.heard(); }));
  EXPECT_FALSE(sent.done);
  other.kill();
  ASSERT_TRUE(progress_until({&node}, [&] { return !node.departures.empty(); }));
  EXPECT_TRUE(sent.done) << "operations complete before the peer is reported gone";
  EXPECT_EQ(sent.status, MAD_ERR_PEER_FAILED);
  expect_gone(node, peer, MAD_ERR_PEER_FAILED);

  Operation late;
  node.send(peer, "x", data.data(), 1, nullptr, MAD_PATH_AUTO, &late);
  EXPECT_EQ(late.status, MAD_ERR_PEER_FAILED);
  EXPECT_EQ(mad_send_header(node.engine(), peer, 1, "x", 1), MAD_ERR_PEER_FAILED);
  EXPECT_EQ(mad_peer_touch(node.engine(), peer), MAD_ERR_PEER_FAILED);
}

TEST_P(Failure, DeathEndsASendInTheMiddleOfItsPayload) {
  // The child receives into memory and is stopped, so that the payload backs up, then killed.
  OtherProcess other(GetParam(), [](Node& node, Parent& parent) {
    Bytes memory(kLarge);
    Operation received;
    node.on_arrival = [&](const Arrival& arrival) {
      node.receive(arrival.incoming, memory.data(), memory.size(), nullptr, MAD_PATH_AUTO,
                   &received);
      parent.say('m');
    };
    while (node.counters().packets_received < 3) node.progress();
    parent.say('m');
    while (true) {
    }
  });
  Node node(GetParam());
  mad_peer* const peer = other.peer_of(node);
  const TypeHandle gapped = blocks(kLarge / 4096, 2048, 4096);
  const Bytes data(kLarge, std::byte{7});
  Operation sent[4];
  for (Operation& operation : sent) {
    node.send(peer, "x", data.data(), 1, gapped.get(), MAD_PATH_AUTO, &operation);
  }
  ASSERT_TRUE(progress_until({&node}, [&] { return other.heard(); }));
  for (int i = 0; i < 10000; ++i) node.progress();
  other.kill();
  ASSERT_TRUE(progress_until({&node}, [&] { return !node.departures.empty(); }));
  for (const Operation& operation : sent) {
    EXPECT_EQ(operation.callbacks, 1);
    EXPECT_EQ(operation.status, MAD_ERR_PEER_FAILED);
  }
  expect_gone(node, peer, MAD_ERR_PEER_FAILED);
  EXPECT_TRUE(mad_engine_idle(node.engine()));
}

TEST_P(Failure, DeathEndsAReceive) {
  // The child sends more than fits its way, says so and hangs.
  OtherProcess other(GetParam(), [](Node& node, Parent& parent) {
    const Bytes data(kLarge, std::byte{7});
    Operation sent;
    node.on_arrival = [&](const Arrival& arrival) {
      node.send(arrival.from, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, &sent);
      parent.say('m');
    };
    while (!parent.heard()) node.progress();
    while (true) {
    }
  });
  Node node(GetParam());
  mad_peer* const peer = other.peer_of(node);
  ASSERT_EQ(mad_send_header(node.engine(), peer, 1, "go", 2), MAD_SUCCESS);
  ASSERT_TRUE(progress_until({&node}, [&] { return node.arrivals.size() == 1; }));
  other.say('s');  // from here on the child does nothing
  Bytes memory(kLarge);
  Operation received;
  other.stop();
  node.receive(node.take().incoming, memory.data(), memory.size(), nullptr, MAD_PATH_AUTO,
               &received);
  for (int i = 0; i < 1000; ++i) node.progress();
  EXPECT_FALSE(received.done);
  other.kill();
  ASSERT_TRUE(progress_until({&node}, [&] { return !node.departures.empty(); }));
  EXPECT_EQ(received.callbacks, 1);
  EXPECT_EQ(received.status, MAD_ERR_PEER_FAILED);
  expect_gone(node, peer, MAD_ERR_PEER_FAILED);
}

TEST_P(Failure, PayloadOfTheDeadCanStillBeAskedForAndFails) {
  OtherProcess other(GetParam(), [](Node& node, Parent&) {
    const Bytes data(kLarge, std::byte{7});
    Operation sent[2];
    int next = 0;
    node.on_arrival = [&](const Arrival& arrival) {
      node.send(arrival.from, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, &sent[next++]);
    };
    progress_for_ever(node);
  });
  Node node(GetParam());
  mad_peer* const peer = other.peer_of(node);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(mad_send_header(node.engine(), peer, 1, "go", 2), MAD_SUCCESS);
  }
  ASSERT_TRUE(progress_until({&node}, [&] { return node.arrivals.size() == 2; }));
  other.kill();
  ASSERT_TRUE(progress_until({&node}, [&] { return !node.departures.empty(); }));
  Bytes memory(kLarge);
  Operation received;
  node.receive(node.take().incoming, memory.data(), memory.size(), nullptr, MAD_PATH_AUTO,
               &received);
  ASSERT_TRUE(progress_until({&node}, [&] { return received.done; }));
  EXPECT_EQ(received.status, MAD_ERR_PEER_FAILED);
  mad_discard(node.engine(), node.take().incoming);
}

TEST_P(Failure, TouchNoticesADeathWithoutAnyMessage) {
  OtherProcess other(GetParam(), [](Node& node, Parent& parent) {
    while (node.counters().packets_received == 0) node.progress();
    parent.say('m');
    progress_for_ever(node);
  });
  Node node(GetParam());
  mad_peer* const peer = other.peer_of(node);
  ASSERT_EQ(mad_peer_touch(node.engine(), peer), MAD_SUCCESS);
  ASSERT_TRUE(progress_until({&node}, [&] { return other.heard(); }));  // it stands on both sides
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (std::chrono::steady_clock::now() < until) node.progress();
  EXPECT_EQ(mad_peer_status(peer), MAD_SUCCESS);
  other.kill();
  ASSERT_TRUE(progress_until({&node}, [&] { return !node.departures.empty(); }));
  expect_gone(node, peer, MAD_ERR_PEER_FAILED);
}

TEST_P(Failure, GoodbyeIsToldFromADeath) {
  OtherProcess other(GetParam(), [](Node& node, Parent&) {
    while (node.arrivals.empty()) node.progress();
    node.close();
    while (true) {
    }
  });
  Node node(GetParam());
  mad_peer* const peer = other.peer_of(node);
  ASSERT_EQ(mad_send_header(node.engine(), peer, 1, "x", 1), MAD_SUCCESS);
  ASSERT_TRUE(progress_until({&node}, [&] { return !node.departures.empty(); }));
  expect_gone(node, peer, MAD_ERR_CLOSED);
  EXPECT_EQ(mad_send_header(node.engine(), peer, 1, "x", 1), MAD_ERR_CLOSED);
}

TEST_P(Failure, NobodyAtTheAddress) {
  std::vector<unsigned char> address;
  {
    Node other(GetParam());
    address = other.address();
  }
  Node node(GetParam());
  mad_peer* peer = nullptr;
  ASSERT_EQ(mad_engine_peer(node.engine(), address.data(), address.size(), &peer), MAD_SUCCESS);
  const auto data = pattern(100, 1);
  Operation sent;
  node.send(peer, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(progress_until({&node}, [&] { return sent.done && !node.departures.empty(); }));
  EXPECT_EQ(sent.status, MAD_ERR_UNREACHABLE);
  expect_gone(node, peer, MAD_ERR_UNREACHABLE);
}

INSTANTIATE_TEST_SUITE_P(Engine, Failure, ::testing::ValuesIn(kNetworks), fabric_test_name);

class Goodbye : public ::testing::TestWithParam<const char*> {};

TEST_P(Goodbye, EndsWhatWaitsForTheOtherSide) {
  Node a(GetParam()), b(GetParam());
  mad_peer* const peer = a.peer(b);
  const auto data = pattern(2000000, 1);
  Operation sent;
  a.send(peer, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return !b.arrivals.empty(); }));
  b.close();
  ASSERT_TRUE(progress_until({&a}, [&] { return !a.departures.empty(); }));
  EXPECT_EQ(sent.callbacks, 1);
  EXPECT_EQ(sent.status, MAD_ERR_CLOSED);
  expect_gone(a, peer, MAD_ERR_CLOSED);
}

TEST_P(Goodbye, CloseDeliversWhatWasSent) {
  Node a(GetParam()), b(GetParam());
  mad_peer* const peer = a.peer(b);
  constexpr int kMessages = 12;  // every fabric has room for so many that nobody takes
  for (int i = 0; i < kMessages; ++i) {
    const std::string header = std::to_string(i);
    ASSERT_EQ(mad_send_header(a.engine(), peer, 1, header.data(), header.size()), MAD_SUCCESS);
  }
  // b has to run for a's connection to come up; close() gives it time, but another thread may not
  // use b meanwhile, so the connection is made first.
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return !b.arrivals.empty(); }));
  a.close();
  ASSERT_TRUE(progress_until(
      {&b}, [&] { return b.arrivals.size() == kMessages && !b.departures.empty(); }));
  EXPECT_EQ(b.arrivals.back().header, std::to_string(kMessages - 1));
  EXPECT_EQ(b.departures[0].status, MAD_ERR_CLOSED);
}

TEST_P(Goodbye, CloseGivesEverySlotBack) {
  constexpr std::size_t kMoreThanIsOffered = 20000000;
  const auto data = pattern(kMoreThanIsOffered, 1);
  Bytes memory(data.size());
  Operation sent, received;
  {
    Node a(GetParam()), b(GetParam());
    a.send(a.peer(b), "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, &sent);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return !b.arrivals.empty(); }));
    b.receive(b.take().incoming, memory.data(), memory.size(), nullptr, MAD_PATH_AUTO, &received);
    EXPECT_FALSE(received.done);
    b.close();
    EXPECT_EQ(received.callbacks, 1);
    EXPECT_EQ(received.status, MAD_ERR_CLOSED);
    a.close();
  }
  EXPECT_EQ(sent.callbacks, 1);
  EXPECT_EQ(sent.status, MAD_ERR_CLOSED);
}

TEST_P(Goodbye, CallbacksMayNotCloseAndDoNotProgress) {
  Node a(GetParam()), b(GetParam());
  int calls = 0;
  b.on_arrival = [&](const Arrival&) {
    ++calls;
    int events = 99;
    EXPECT_EQ(mad_engine_progress(b.engine(), &events), MAD_SUCCESS);
    EXPECT_EQ(events, 0);
    mad_engine_close(b.engine());
    EXPECT_NE(std::string(mad_last_error()).find("inside a callback"), std::string::npos);
  };
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(mad_send_header(a.engine(), a.peer(b), 1, "x", 1), MAD_SUCCESS);
  }
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return calls == 3; }));
  close_together({&a, &b});
}

INSTANTIATE_TEST_SUITE_P(Engine, Goodbye, ::testing::ValuesIn(kFabrics), fabric_test_name);

}  // namespace
}  // namespace mad::test
