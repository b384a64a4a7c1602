// The table of outgoing messages: ids, reuse.
#include "madlike/message/outgoing.h"

#include <gtest/gtest.h>

#include <set>

namespace mad {
namespace {

TEST(OutgoingTable, IdsNameWhatTheyWereGivenTo) {
  OutgoingTable table;
  OutgoingMessage messages[100];
  std::set<std::uint32_t> ids;
  for (OutgoingMessage& m : messages) {
    ASSERT_TRUE(table.reserve());
    ASSERT_TRUE(table.reserve());  // changes nothing
    const std::uint32_t id = table.add(&m);
    EXPECT_NE(id, 0u);
    EXPECT_EQ(table.find(id), &m);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 100u);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(101), nullptr);
  EXPECT_EQ(table.find(~0u), nullptr);
  table.remove(17);
  table.remove(44);
  EXPECT_EQ(table.find(17), nullptr);
  ASSERT_TRUE(table.reserve());
  EXPECT_EQ(table.add(&messages[0]), 44u);
  ASSERT_TRUE(table.reserve());
  EXPECT_EQ(table.add(&messages[0]), 17u);
  EXPECT_EQ(table.last_id(), 100u);
}

}  // namespace
}  // namespace mad
