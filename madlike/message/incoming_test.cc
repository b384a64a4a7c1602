// The table of incoming messages: ids, reuse.
#include "madlike/message/incoming.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace mad {
namespace {

TEST(IncomingTable, RemovedMessagesAreForgottenAndUsedAgain) {
  IncomingTable table;
  std::set<IncomingMessage*> all;
  for (int i = 0; i < 200; ++i) {
    IncomingMessage* const m = table.add();
    ASSERT_NE(m, nullptr);
    EXPECT_EQ(m->phase, IncomingMessage::Phase::kArriving);
    EXPECT_EQ(table.find(m->id), m);
    all.insert(m);
  }
  EXPECT_EQ(all.size(), 200u);
  IncomingMessage* const m = *all.begin();
  const std::uint32_t id = m->id;
  HeadPool heads;
  m->kept = heads.take(10);
  m->received = 5;
  table.remove(*m);
  EXPECT_EQ(table.find(id), nullptr);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(100000), nullptr);
  EXPECT_EQ(table.add(), m);
  EXPECT_EQ(m->id, id);
  EXPECT_EQ(m->kept, nullptr);
  EXPECT_EQ(m->received, 0u);
}

TEST(IncomingTable, EveryIdUpToTheLastNamesItsMessage) {
  IncomingTable table;
  IncomingMessage* last = table.add();
  while (last->id < table.last_id()) last = table.add();
  EXPECT_EQ(table.find(table.last_id()), last);
  EXPECT_EQ(table.find(table.last_id() + 1), nullptr);
}

}  // namespace
}  // namespace mad
