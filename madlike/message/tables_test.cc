// The tables and queues of messages: ids, reuse, order.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "madlike/message/first_frames.h"
#include "madlike/message/incoming.h"
#include "madlike/message/outgoing.h"

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
  m->kept = std::make_unique<std::byte[]>(10);
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

TEST(FirstFrames, KeepOrderAndCopies) {
  FirstFrames frames;
  OutgoingMessage message;
  for (int i = 0; i < 50; ++i) {
    std::string header(i, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(frames.push(static_cast<std::uint8_t>(i), {header.data(), header.size()},
                            i % 2 ? &message : nullptr));
  }
  for (int i = 0; i < 40; ++i) {
    FirstFrames::Waiting& w = frames.front();
    EXPECT_EQ(w.handler, i);
    EXPECT_EQ(w.message, i % 2 ? &message : nullptr);
    EXPECT_EQ(std::string(static_cast<char*>(w.header().data), w.header().size),
              std::string(i, static_cast<char>('a' + i % 26)));
    frames.pop();
  }
  EXPECT_FALSE(frames.empty());  // ten are left to the destructor
}

}  // namespace
}  // namespace mad
