#include "madlike/driver/connections/table.h"

#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

using Address = std::vector<std::byte>;

struct Connection {
  Connection(ConnectionId its_id, Address its_address, int its_number)
      : id(its_id), address(std::move(its_address)), number(its_number) {}
  ConnectionId id;
  Address address;
  int number;
};

const Address kHere{std::byte{1}}, kThere{std::byte{2}};

TEST(ConnectionTable, FindsByIdAndByAddress) {
  ConnectionTable<Connection> table;
  Connection& here = table.add(kHere, 10);
  Connection& there = table.add(kThere, 20);
  EXPECT_NE(here.id, there.id);
  EXPECT_EQ(table.find(here.id), &here);
  EXPECT_EQ(&table.at(there.id), &there);
  EXPECT_EQ(table.live(kThere), &there);
  EXPECT_EQ(there.number, 20);
  EXPECT_EQ(table.find(there.id + 1), nullptr);
  EXPECT_EQ(table.live({std::byte{3}}), nullptr);
  EXPECT_EQ(table.size(), 2u);
}

TEST(ConnectionTable, TheNextOneOfAnAddressIsTheLiveOne) {
  ConnectionTable<Connection> table;
  Connection& first = table.add(kHere, 1);
  EXPECT_TRUE(table.retire(first));
  EXPECT_EQ(table.live(kHere), nullptr);
  EXPECT_EQ(table.find(first.id), &first);
  Connection& second = table.add(kHere, 2);
  EXPECT_FALSE(table.retire(first)) << "that would be the second one";
  EXPECT_EQ(table.live(kHere), &second);
}

TEST(ConnectionTable, EndsWhatIsDueAndWhatThatFinds) {
  ConnectionTable<Connection> table;
  const ConnectionId first = table.add(kHere, 1).id, second = table.add(kThere, 2).id;
  EXPECT_FALSE(table.has_due());
  table.end_soon(first, Status(StatusCode::kPeerFailed, "it died"));
  table.end_soon(second + 1, StatusCode::kClosed);  // there is none
  EXPECT_TRUE(table.has_due());
  std::vector<ConnectionId> ended;
  std::string why_first;
  table.end_due([&](Connection& connection, const Status& why) {
    ended.push_back(connection.id);
    if (connection.id != first) return;
    why_first = why.message();
    table.end_soon(second, StatusCode::kClosed);
  });
  EXPECT_EQ(ended, (std::vector<ConnectionId>{first, second}));
  EXPECT_EQ(why_first, "it died");
  EXPECT_FALSE(table.has_due());
}

TEST(ConnectionTable, WhoIsLeftIsForgottenOnceNobodyNamesIt) {
  ConnectionTable<Connection> table;
  const ConnectionId first = table.add(kHere, 1).id, second = table.add(kThere, 2).id;
  table.leave(first);
  table.leave(second);
  int named = 2;
  const auto is_named = [&](const Connection& connection) { return connection.number == named; };
  table.forget_left(is_named);
  EXPECT_EQ(table.find(first), nullptr);
  ASSERT_NE(table.find(second), nullptr);
  named = 0;
  table.forget_left(is_named);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_GT(table.add(kHere, 3).id, second) << "ids are never used again";
}

TEST(ConnectionTable, GoesThroughAll) {
  ConnectionTable<Connection> table;
  table.add(kHere, 1);
  table.add(kThere, 2);
  int sum = 0;
  for (auto& entry : table) sum += entry.second.number;
  EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace mad
