// Who is found by which address and connection, and when an endpoint's record goes.
#include "madlike/message/peers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "madlike/driver/loopback/loopback.h"

namespace mad {
namespace {

struct NoEvents final : MessageEvents {
  void on_message(Endpoint&, std::uint8_t, Segment, std::uint64_t, IncomingMessage*) override {}
  void on_sent(OutgoingMessage&, const Status&) override {}
  void on_received(void*, std::uint64_t, const Status&) override {}
  void on_peer_gone(Endpoint&, const Status&) override {}
};

class PeersTest : public ::testing::Test {
 protected:
  static std::vector<std::unique_ptr<Driver>> one_driver(
      const std::shared_ptr<LoopbackNetwork>& network) {
    std::vector<std::unique_ptr<Driver>> drivers;
    drivers.push_back(std::make_unique<LoopbackDriver>(network));
    return drivers;
  }
  Endpoint& find(const LoopbackDriver& other) {
    return *peers_.find({{0, other.address()}}).value();
  }
  /// The connection that `other` asks for.
  ConnectionId connect_from(LoopbackDriver& other) {
    const std::vector<std::byte>& address = peers_.driver(0).address();
    EXPECT_TRUE(other.connect(address.data(), address.size()).ok());
    Completion completion;
    EXPECT_EQ(peers_.driver(0).poll(&completion, 1), 1u);
    EXPECT_EQ(completion.kind, Completion::Kind::kConnected);
    return completion.connection;
  }
  /// What progress() does at an end.
  void end(Endpoint& endpoint) {
    core_.end(endpoint, {StatusCode::kPeerFailed, "it died"});
    endpoint.state.set_gone();
    peers_.forget(endpoint);
    peers_.driver(0).disconnect(endpoint.state.connection());
    endpoint.active = false;
    endpoint.state.set_told_gone();
    core_.active.clear();
    core_.ending.clear();
  }

  std::shared_ptr<LoopbackNetwork> network_ = std::make_shared<LoopbackNetwork>();
  NoEvents events_;
  Core core_{MessengerConfig(), events_};
  Peers peers_{core_, one_driver(network_)};
  LoopbackDriver other_{network_};
};

TEST_F(PeersTest, AnAddressIsOneEndpointUntilThatEnds) {
  Endpoint& first = find(other_);
  EXPECT_EQ(&find(other_), &first);
  EXPECT_TRUE(first.state.live());
  EXPECT_FALSE(first.state.has_connection()) << "nothing travels before it is needed";
  EXPECT_EQ(first.route().address, other_.address());
  ASSERT_TRUE(peers_.contact(first).ok());
  EXPECT_TRUE(first.state.has_connection());
  EXPECT_EQ(peers_.of_connection(0, first.state.connection()), &first);
  end(first);
  EXPECT_NE(&find(other_), &first);
  EXPECT_EQ(peers_.contact(first).code(), StatusCode::kPeerFailed);
}

TEST_F(PeersTest, WhatIsNoAddressIsRefused) {
  const std::vector<std::byte> bytes(kMaxAddressBytes + 1);
  EXPECT_EQ(peers_.find({{0, {}}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(peers_.find({{0, bytes}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(peers_.find({{1, {8, std::byte{}}}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(peers_.find({{0, std::vector<std::byte>(kMaxAddressBytes)}}).ok()) << "the longest";
  // Only the driver knows the others; it is asked when the endpoint is contacted.
  Endpoint& foreign = *peers_.find({{0, {8, std::byte{}}}}).value();
  EXPECT_EQ(peers_.contact(foreign).code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(foreign.state.live());
}

TEST_F(PeersTest, WhoConnectsIsTheOneThatWasAskedFor) {
  Endpoint& asked = find(other_);
  const ConnectionId connection = connect_from(other_);
  EXPECT_EQ(peers_.of_connection(0, connection), nullptr);
  EXPECT_EQ(&peers_.welcome(0, connection), &asked);
  EXPECT_EQ(&peers_.welcome(0, connection), &asked);
  EXPECT_EQ(peers_.of_connection(0, connection), &asked);
}

TEST_F(PeersTest, WhoConnectsUnaskedGetsAnEndpoint) {
  Endpoint& stranger = peers_.welcome(0, connect_from(other_));
  EXPECT_EQ(stranger.route().address, other_.address());
  EXPECT_EQ(&find(other_), &stranger);
}

TEST_F(PeersTest, AnEngineRestartedAtAnAddressIsAnotherEndpoint) {
  Endpoint& old = peers_.welcome(0, connect_from(other_));
  peers_.driver(0).disconnect(old.state.connection());  // the driver knows, we have not heard
  Completion gone;
  (void)other_.poll(&gone, 1);
  (void)other_.poll(&gone, 1);
  Endpoint& restarted = peers_.welcome(0, connect_from(other_));
  EXPECT_NE(&restarted, &old);
  EXPECT_EQ(&find(other_), &restarted);
  end(old);
  EXPECT_EQ(&find(other_), &restarted) << "the end of the old one is none of its";
}

TEST_F(PeersTest, ARecordGoesWhenItIsReleasedAndNothingElseNamesIt) {
  Endpoint& endpoint = peers_.welcome(0, connect_from(other_));
  const ConnectionId connection = endpoint.state.connection();
  end(endpoint);
  peers_.sweep();
  EXPECT_EQ(peers_.all().size(), 1u) << "its user may hold it";
  IncomingMessage* const unread = core_.incoming.add();
  unread->endpoint = &endpoint;
  endpoint.arrivals = 1;
  endpoint.packets.posts = 1;
  core_.refused.push_back(&endpoint);
  peers_.release(endpoint);
  peers_.sweep();
  EXPECT_EQ(peers_.all().size(), 1u);
  core_.remove(*unread);
  peers_.sweep();
  EXPECT_EQ(peers_.all().size(), 1u);
  endpoint.packets.posts = 0;
  peers_.sweep();
  EXPECT_EQ(peers_.all().size(), 1u);
  core_.refused.clear();
  endpoint.active = true;
  peers_.sweep();
  EXPECT_EQ(peers_.all().size(), 1u);
  endpoint.active = false;
  peers_.sweep();
  EXPECT_TRUE(peers_.all().empty());
  // A late packet finds an endpoint that is gone, not a new one.
  Endpoint& late = peers_.welcome(0, connection);
  EXPECT_TRUE(late.state.gone());
  EXPECT_EQ(late.driver, &peers_.driver(0));
  EXPECT_TRUE(peers_.all().empty());
}

TEST_F(PeersTest, ReleasingOneKeepsTheOthers) {
  LoopbackDriver third(network_);
  Endpoint& first = peers_.welcome(0, connect_from(other_));
  Endpoint& second = peers_.welcome(0, connect_from(third));
  end(first);
  peers_.release(first);
  peers_.sweep();
  ASSERT_EQ(peers_.all().size(), 1u);
  EXPECT_EQ(&peers_.all().front(), &second);
  EXPECT_EQ(&find(third), &second);
}

// Nothing can be said to it any more where the goodbye went.
TEST(Peers, WhoComesByAnotherRouteWhileWeLeaveIsAnotherEndpoint) {
  const auto first = std::make_shared<LoopbackNetwork>();
  const auto second = std::make_shared<LoopbackNetwork>();
  NoEvents events;
  Core core(MessengerConfig(), events);
  std::vector<std::unique_ptr<Driver>> drivers;
  drivers.push_back(std::make_unique<LoopbackDriver>(first));
  drivers.push_back(std::make_unique<LoopbackDriver>(second));
  Peers peers(core, std::move(drivers));
  const LoopbackDriver mute(first);
  LoopbackDriver other(second);
  Endpoint& left = *peers.find({{0, mute.address()}, {1, other.address()}}).value();
  ASSERT_TRUE(peers.contact(left).ok());
  left.state.set_said_hello();
  left.state.set_leaving();
  left.state.set_said_goodbye();
  const std::vector<std::byte>& ours = peers.driver(1).address();
  ASSERT_TRUE(other.connect(ours.data(), ours.size()).ok());
  Completion connected;
  ASSERT_EQ(peers.driver(1).poll(&connected, 1), 1u);
  Endpoint& come = peers.welcome(1, connected.connection);
  EXPECT_NE(&come, &left);
  EXPECT_FALSE(come.state.said_goodbye());
  EXPECT_EQ(left.route().driver, 0u);
}

}  // namespace
}  // namespace mad
