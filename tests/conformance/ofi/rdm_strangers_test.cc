// What an engine makes of who comes in by its door, or sends to its endpoint, and is no engine.
#include "tests/conformance/ofi/rdm_engine.h"

namespace mad {
namespace {

class RdmStrangers : public ::testing::Test {
 protected:
  /// How the connection ends.
  StatusCode end() {
    EXPECT_TRUE(
        stranger.pump([&] { return engine.station.disconnected.count(stranger.connection) == 1; }));
    return engine.station.disconnected[stranger.connection].code();
  }
  /// The packets that came, each of one byte, its number.
  std::vector<int> numbers() {
    std::vector<int> out;
    for (const auto& each : engine.station.received) {
      out.push_back(std::to_integer<int>(each.bytes.at(0)));
    }
    return out;
  }
  bool receives(std::vector<int> expected) {
    return stranger.pump([&] { return numbers().size() >= expected.size(); }) &&
           numbers() == expected;
  }

  RdmEngine engine;
  RdmStranger stranger{engine};
};

TEST_F(RdmStrangers, AnotherVersionIsNone) {
  auto bytes = stranger.offer().pack();
  bytes[0] = std::byte{2};
  stranger.say(bytes);
  EXPECT_EQ(end(), StatusCode::kVersion);
}

TEST_F(RdmStrangers, NoCreditIsNone) {
  RdmOffer own = stranger.offer();
  own.credit = 1;
  stranger.say(own.pack());
  EXPECT_EQ(end(), StatusCode::kVersion);
}

TEST_F(RdmStrangers, AnotherProviderIsUnreachable) {
  RdmOffer own = stranger.offer();
  own.provider = "verbs;ofi_rxm";
  stranger.say(own.pack());
  EXPECT_EQ(end(), StatusCode::kUnreachable);
  const std::string why(engine.station.disconnected[stranger.connection].message());
  EXPECT_NE(why.find("verbs;ofi_rxm"), std::string::npos) << why;
  EXPECT_EQ(engine.driver->addresses(), 0u);
}

TEST_F(RdmStrangers, AnAddressOfAnotherLengthIsUnreachable) {
  RdmOffer own = stranger.offer();
  own.name.resize(8);
  stranger.say(own.pack());
  EXPECT_EQ(end(), StatusCode::kUnreachable);
  EXPECT_EQ(engine.driver->addresses(), 0u);
}

TEST_F(RdmStrangers, NothingFollowsAnOffer) {
  stranger.say(stranger.offer().pack());
  stranger.say(std::array<std::byte, 1>{});
  EXPECT_EQ(end(), StatusCode::kProtocol);
}

TEST_F(RdmStrangers, WhoLeavesBeforeItSpeaksWasNotThere) {
  stranger.say(stranger.offer().pack());
  stranger.socket.close();
  EXPECT_EQ(end(), StatusCode::kAgain);
  EXPECT_EQ(engine.driver->addresses(), 0u);
}

TEST_F(RdmStrangers, PacketsAreTakenInTheOrderOfTheirNumbers) {
  stranger.become_acquainted();
  for (const int number : {2, 4, 3, 1, 5}) stranger.send(static_cast<std::uint8_t>(number));
  EXPECT_TRUE(receives({1, 2, 3, 4, 5}));
}

TEST_F(RdmStrangers, WhatNamesNobodyIsDropped) {
  stranger.become_acquainted();
  OfiHeader wrong;
  wrong.tag = stranger.engines.tag ^ 1;
  stranger.send(wrong);
  stranger.send(Bytes(5, std::byte{1}));
  stranger.send(Bytes(16, std::byte{0xFF}));
  stranger.send(1);
  EXPECT_TRUE(receives({1}));
}

// rxm's connection with whoever sends that breaks; all others go on.
TEST_F(RdmStrangers, WhatIsLongerThanAnyPacketHurtsNobodyElse) {
  stranger.become_acquainted();
  stranger.send(Bytes(10000, std::byte{1}));
  RdmEngine other;
  const ConnectionId id = other.connect(engine);
  Bytes word(8, std::byte{3});
  for (int i = 0; i < 300; ++i) {
    ASSERT_FALSE(post_polling(other, id, word, {&engine, &other}).error());
  }
  EXPECT_TRUE(pump({&engine, &other}, [&] { return engine.station.received.size() == 300; }));
}

TEST_F(RdmStrangers, ANumberComesOnce) {
  stranger.become_acquainted();
  stranger.send(1);
  stranger.send(1);
  EXPECT_EQ(end(), StatusCode::kProtocol);
  EXPECT_EQ(numbers(), std::vector<int>{1});
}

// They wait in its buffers, of which it has no more than it was granted.
TEST_F(RdmStrangers, NoMorePacketsWaitForTheirTurnThanAreGranted) {
  stranger.become_acquainted();
  for (int i = 0; i < stranger.engines.credit + 2 && engine.station.disconnected.empty(); ++i) {
    stranger.send(static_cast<std::uint8_t>(2 + i));
  }
  EXPECT_EQ(end(), StatusCode::kProtocol);
  EXPECT_TRUE(numbers().empty());
}

TEST_F(RdmStrangers, WhatWasSentBeforeAHangUpComes) {
  stranger.become_acquainted();
  stranger.send(2);
  stranger.send(1);
  stranger.socket.close();
  EXPECT_EQ(end(), StatusCode::kPeerFailed);
  EXPECT_EQ(numbers(), (std::vector<int>{1, 2}));
}

TEST_F(RdmStrangers, TheLastPacketEndsInGoodOrderThoughItComesEarly) {
  stranger.become_acquainted();
  stranger.send(2, OfiHeader::Kind::kLast);
  stranger.send(1);
  EXPECT_EQ(end(), StatusCode::kClosed);
  EXPECT_EQ(numbers(), std::vector<int>{1});
}

}  // namespace
}  // namespace mad
