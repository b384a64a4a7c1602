// Peers: who they are, and many of them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/engine/node.h"

namespace mad::test {
namespace {

class Peers : public ::testing::TestWithParam<const char*> {};

TEST_P(Peers, TheSameAddressIsTheSamePeer) {
  Node a(GetParam()), b(GetParam());
  EXPECT_EQ(a.peer(b), a.peer(b));
  EXPECT_NE(a.peer(b), a.peer(a));
  EXPECT_EQ(a.peer(a), a.peer(a));
}

TEST_P(Peers, WhoCameByItselfIsFoundByItsAddress) {
  Node a(GetParam()), b(GetParam());
  ASSERT_EQ(mad_send_header(a.engine(), a.peer(b), 1, "x", 1), MAD_SUCCESS);
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return !b.arrivals.empty(); }));
  mad_peer* const from = b.arrivals[0].from;
  EXPECT_EQ(b.peer(a), from);
  // And it has an address that another engine can use.
  std::vector<unsigned char> address(MAD_ADDRESS_MAX);
  std::size_t size = address.size();
  ASSERT_EQ(mad_peer_address(from, address.data(), &size), MAD_SUCCESS);
  Node c(GetParam());
  mad_peer* peer = nullptr;
  ASSERT_EQ(mad_engine_peer(c.engine(), address.data(), size, &peer), MAD_SUCCESS);
  ASSERT_EQ(mad_send_header(c.engine(), peer, 1, "y", 1), MAD_SUCCESS);
  ASSERT_TRUE(progress_until({&a, &c}, [&] { return !a.arrivals.empty(); }));
  close_together({&a, &b, &c});
}

TEST_P(Peers, ContextIsTheCallers) {
  Node a(GetParam()), b(GetParam());
  mad_peer* const peer = a.peer(b);
  EXPECT_EQ(mad_peer_context(peer), nullptr);
  int mine = 0;
  mad_peer_set_context(peer, &mine);
  EXPECT_EQ(mad_peer_context(a.peer(b)), &mine);
}

TEST_P(Peers, WhoBreaksTheCallersProtocolIsRejected) {
  Node a(GetParam()), b(GetParam());
  ASSERT_EQ(mad_send_header(b.engine(), b.peer(a), 1, "nonsense", 8), MAD_SUCCESS);
  int rejected = 0;
  a.on_arrival = [&](const Arrival& arrival) {
    rejected += mad_peer_reject(a.engine(), arrival.from, "it sent nonsense") == MAD_SUCCESS;
  };
  ASSERT_TRUE(progress_until({&a, &b},
                             [&] { return a.departures.size() == 1 && b.departures.size() == 1; }));
  EXPECT_EQ(rejected, 1);
  EXPECT_EQ(a.departures[0].status, MAD_ERR_PROTOCOL);
  EXPECT_NE(a.departures[0].why.find("it sent nonsense"), std::string::npos);
  EXPECT_EQ(b.departures[0].status, MAD_ERR_PEER_FAILED);
  EXPECT_EQ(mad_peer_reject(a.engine(), a.departures[0].peer, "again"), MAD_SUCCESS);
  // It may come again.
  a.on_arrival = nullptr;
  ASSERT_EQ(mad_send_header(b.engine(), b.peer(a), 1, "sense", 5), MAD_SUCCESS);
  EXPECT_TRUE(progress_until({&a, &b}, [&] { return a.arrivals.size() == 1; }));
  EXPECT_EQ(a.departures.size(), 1u);
  close_together({&a, &b});
}

TEST_P(Peers, BothConnectAtOnce) {
  for (int i = 0; i < 10; ++i) {
    Node a(GetParam()), b(GetParam());
    ASSERT_EQ(mad_send_header(a.engine(), a.peer(b), 1, "from a", 6), MAD_SUCCESS);
    ASSERT_EQ(mad_send_header(b.engine(), b.peer(a), 1, "from b", 6), MAD_SUCCESS);
    ASSERT_TRUE(
        progress_until({&a, &b}, [&] { return a.arrivals.size() == 1 && b.arrivals.size() == 1; }));
    EXPECT_EQ(a.arrivals[0].from, a.peer(b));
    EXPECT_EQ(b.arrivals[0].from, b.peer(a));
    close_together({&a, &b});
  }
}

TEST_P(Peers, ManyPeersTalkToEachOther) {
  constexpr std::size_t kNodes = 12;
  std::vector<std::unique_ptr<Node>> nodes;
  for (std::size_t i = 0; i < kNodes; ++i) nodes.push_back(std::make_unique<Node>(GetParam()));
  const auto data = pattern(100000, 1);
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<Bytes> memory;
  const auto fresh = [&] {
    operations.push_back(std::make_unique<Operation>());
    return operations.back().get();
  };
  std::size_t arrived = 0;
  for (auto& node : nodes) {
    Node* const here = node.get();
    here->on_arrival = [&, here](const Arrival& arrival) {
      ++arrived;
      memory.emplace_back(arrival.payload_bytes);
      here->receive(arrival.incoming, memory.back().data(), arrival.payload_bytes, nullptr,
                    MAD_PATH_AUTO, fresh());
    };
  }
  for (auto& from : nodes) {
    for (auto& to : nodes) {
      from->send(from->peer(*to), "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, fresh());
    }
  }
  const auto finished = [&] {
    if (arrived < kNodes * kNodes) return false;
    for (const auto& operation : operations) {
      if (!operation->done) return false;
    }
    return true;
  };
  bool done = false;
  for (int i = 0; i < 200000 && !done; ++i) {
    for (auto& node : nodes) node->progress();
    done = finished();
  }
  ASSERT_TRUE(done);
  for (const auto& got : memory) EXPECT_EQ(got, data);
  std::vector<Node*> all;
  for (auto& node : nodes) all.push_back(node.get());
  close_together(all);
}

INSTANTIATE_TEST_SUITE_P(Engine, Peers, ::testing::ValuesIn(kFabrics), fabric_test_name);
INSTANTIATE_TEST_SUITE_P(Lists, Peers, ::testing::ValuesIn(kLists), fabric_test_name);

TEST(Addresses, OfAnotherVersionAreRefused) {
  Node a("loopback"), b("loopback");
  std::vector<unsigned char> address = b.address();
  address[1] = 99;
  mad_peer* peer = nullptr;
  EXPECT_EQ(mad_engine_peer(a.engine(), address.data(), address.size(), &peer), MAD_ERR_VERSION);
  EXPECT_NE(std::string(mad_last_error()).find("99"), std::string::npos);
  EXPECT_EQ(peer, nullptr);
  EXPECT_EQ(mad_engine_peer(a.engine(), "nonsense", 8, &peer), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_peer(a.engine(), address.data(), 0, &peer), MAD_ERR_ARGUMENT);
}

TEST(Addresses, OfAnotherFabricAreUnreachable) {
  Node a("loopback"), b("ofi:tcp");
  const std::vector<unsigned char> address = b.address();
  mad_peer* peer = nullptr;
  EXPECT_EQ(mad_engine_peer(a.engine(), address.data(), address.size(), &peer),
            MAD_ERR_UNREACHABLE);
  EXPECT_NE(std::string(mad_last_error()).find("ofi:tcp"), std::string::npos);
}

}  // namespace
}  // namespace mad::test
