#include "netmod/abi/peer_table.h"

#include <gtest/gtest.h>

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

class PeerTableTest : public ::testing::Test {
 protected:
  PeerTableTest() {
    auto fabric = std::make_unique<LoopbackDriver>(network);
    auto self = std::make_unique<LoopbackDriver>(std::make_shared<LoopbackNetwork>());
    own = card(*fabric);
    table = std::make_unique<PeerTable>(nullptr, own, std::vector<bool>{true}, self->address());
    std::vector<std::unique_ptr<Driver>> drivers;
    drivers.push_back(std::move(fabric));
    drivers.push_back(std::move(self));
    messenger = std::make_unique<Messenger>(MessengerConfig(), events, std::move(drivers));
  }

  static EngineAddress card(const Driver& driver) {
    EngineAddress address;
    address.node.assign(EngineAddress::kNodeBytes, std::byte{1});
    address.fabrics = {{driver.caps().name, driver.address()}};
    return address;
  }

  std::shared_ptr<LoopbackNetwork> network = std::make_shared<LoopbackNetwork>();
  LoopbackDriver other{network};
  NoEvents events;
  EngineAddress own;
  std::unique_ptr<PeerTable> table;
  std::unique_ptr<Messenger> messenger;
};

TEST_F(PeerTableTest, OneAddressIsOnePeer) {
  const auto first = table->find(*messenger, card(other));
  const auto again = table->find(*messenger, card(other));
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first.value(), again.value());
  EXPECT_EQ(&table->of(*first.value()->endpoint), first.value());
  EXPECT_EQ(route(*first.value()->endpoint).driver, 0u);
}

TEST_F(PeerTableTest, OwnAddressIsReachedByTheSelfFabric) {
  const auto self = table->find(*messenger, own);
  ASSERT_TRUE(self.ok());
  EXPECT_EQ(route(*self.value()->endpoint).driver, table->self());
}

TEST_F(PeerTableTest, PeersAreNumberedAsTheyAreMet) {
  const auto first = table->find(*messenger, card(other));
  const auto second = table->find(*messenger, own);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first.value()->number, 0u);
  EXPECT_EQ(second.value()->number, 1u);
  EXPECT_EQ(table->find(*messenger, card(other)).value()->number, 0u);
}

TEST_F(PeerTableTest, WhoConnectedToUsGetsItsNodeWhenItsCardIsSeen) {
  const EngineAddress address = card(other);
  const auto endpoint = messenger->connect({{0, other.address()}});
  ASSERT_TRUE(endpoint.ok());
  mad_peer& adopted = table->of(*endpoint.value());
  EXPECT_TRUE(adopted.address.node.empty());
  const auto found = table->find(*messenger, address);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value(), &adopted);
  EXPECT_EQ(adopted.address.node, address.node);
}

TEST_F(PeerTableTest, WhoIsGoneStaysGoneAndItsAddressGivesAnother) {
  mad_peer* const gone = table->find(*messenger, card(other)).value();
  ASSERT_TRUE(messenger->touch(*gone->endpoint).ok());
  other.fail();
  for (int i = 0; i < 10; ++i) (void)messenger->progress();
  table->gone(*gone, MAD_ERR_PEER_FAILED);
  mad_peer* const next = table->find(*messenger, card(other)).value();
  EXPECT_NE(next, gone);
  EXPECT_EQ(next->status, MAD_SUCCESS);
  EXPECT_NE(next->endpoint, gone->endpoint);
  EXPECT_EQ(gone->status, MAD_ERR_PEER_FAILED);
  EXPECT_EQ(&table->of(*gone->endpoint), gone) << "what it sent before is still its own";
  EXPECT_EQ(&table->of(*next->endpoint), next);
  EXPECT_EQ(table->find(*messenger, card(other)).value(), next);
}

TEST_F(PeerTableTest, WhoConnectsFromTheAddressOfOneThatIsGoneIsAnother) {
  const EngineAddress address = card(other);
  const auto endpoint_there = [&]() -> Endpoint& {
    return *messenger->connect({{0, other.address()}}).value();
  };
  mad_peer& first = table->of(endpoint_there());
  ASSERT_TRUE(messenger->touch(*first.endpoint).ok());
  other.fail();
  for (int i = 0; i < 10; ++i) (void)messenger->progress();
  // Nobody has said yet that the first one is gone.
  mad_peer& second = table->of(endpoint_there());
  EXPECT_NE(&second, &first);
  EXPECT_EQ(&table->of(*first.endpoint), &first);
  EXPECT_EQ(table->find(*messenger, address).value(), &second);
}

TEST_F(PeerTableTest, ARecordGoesWhenCallerAndEngineNameItNoMore) {
  mad_peer* const first = table->find(*messenger, card(other)).value();
  table->gone(*first, MAD_ERR_CLOSED);
  table->release(*first);
  EXPECT_EQ(table->size(), 1u) << "its messages may still wait";
  Endpoint& endpoint = *first->endpoint;
  table->forget(endpoint);
  EXPECT_EQ(table->size(), 0u);
  EXPECT_EQ(user_data(endpoint), nullptr);
  table->forget(endpoint);  // of a peer that the caller never heard of

  LoopbackDriver third(network);
  mad_peer* const second = table->find(*messenger, card(third)).value();
  table->gone(*second, MAD_ERR_CLOSED);
  table->forget(*second->endpoint);
  EXPECT_EQ(table->size(), 1u) << "the caller may ask how it went";
  EXPECT_EQ(second->status, MAD_ERR_CLOSED);
  table->release(*second);
  EXPECT_EQ(table->size(), 0u);
}

TEST_F(PeerTableTest, EachOfItsAddressesNamesThePeer) {
  mad_peer* const met = &table->of(*messenger->connect({{0, other.address()}}).value());
  EngineAddress two = card(other);
  two.fabrics.push_back({"tcp", std::vector<std::byte>(16)});
  EXPECT_EQ(table->find(*messenger, two).value(), met) << "who came by one of them";
  EngineAddress one = two;
  one.fabrics.erase(one.fabrics.begin());
  EXPECT_EQ(table->find(*messenger, one).value(), met) << "as its card says";
  EXPECT_EQ(met->address.fabric_names(), "loopback;tcp");
  table->gone(*met, MAD_ERR_CLOSED);
  EXPECT_EQ(table->find(*messenger, one).status().code(), StatusCode::kUnreachable);
}

TEST_F(PeerTableTest, AnotherFabricIsUnreachable) {
  EngineAddress address = card(other);
  address.fabrics[0].fabric = "ofi:tcp";
  const auto peer = table->find(*messenger, address);
  ASSERT_FALSE(peer.ok());
  EXPECT_EQ(peer.status().code(), StatusCode::kUnreachable);
  EXPECT_NE(peer.status().message().find("'ofi:tcp'"), std::string::npos);
}

TEST_F(PeerTableTest, AnEmptyDriverAddressIsRefused) {
  EngineAddress address = card(other);
  address.fabrics[0].address.clear();
  const auto peer = table->find(*messenger, address);
  ASSERT_FALSE(peer.ok());
  EXPECT_EQ(peer.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mad
