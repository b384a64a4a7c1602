#include "madlike/driver/ofi/conversation.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

class ConversationTest : public ::testing::Test {
 protected:
  ConversationTest() {
    side.peer_tag = 9;
    side.credit.set_grant(4);
    side.credit.set_given(4);
  }
  static OfiHeader packet(std::uint32_t rest, std::uint16_t credit = 0) {
    OfiHeader header;
    header.rest = rest;
    header.credit = credit;
    return header;
  }
  Conversation side{7};
};

TEST_F(ConversationTest, APacketGivesWhatIsOwed) {
  CreditPool pool(8);  // none to spare
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(side.arrived(packet(0)), nullptr);
    side.credit.released(&pool);
  }
  const OfiHeader header = side.header(OfiHeader::Kind::kPacket, 5);
  EXPECT_EQ(header.tag, 9u);
  EXPECT_EQ(header.rest, 5u);
  EXPECT_EQ(header.credit, 2u);
  EXPECT_EQ(side.header(OfiHeader::Kind::kLast).credit, 0u) << "it was given";
}

TEST_F(ConversationTest, AGrantIsWhatMayCome) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(side.arrived(packet(0)), nullptr);
  EXPECT_NE(side.arrived(packet(0)), nullptr);
  OfiHeader last;
  last.kind = OfiHeader::Kind::kLast;
  EXPECT_EQ(side.arrived(last), nullptr) << "it takes none";
}

TEST_F(ConversationTest, PiecesFitOneAnother) {
  EXPECT_EQ(side.take(packet(100), 50), nullptr);
  OfiHeader credit;
  credit.kind = OfiHeader::Kind::kCredit;
  EXPECT_EQ(side.take(credit, 0), nullptr) << "it may stand between them";
  EXPECT_EQ(side.take(packet(40), 60), nullptr);
  EXPECT_NE(side.take(packet(0), 30), nullptr);
  EXPECT_EQ(side.take(packet(0), 40), nullptr);
  EXPECT_EQ(side.take(packet(0), 1), nullptr) << "another packet";
}

TEST_F(ConversationTest, MoreCreditThanThereIsIsRefused) {
  EXPECT_EQ(side.take(packet(0, CreditPool::kMost - 4), 1), nullptr);
  EXPECT_NE(side.take(packet(0, 1), 1), nullptr);
}

}  // namespace
}  // namespace mad
