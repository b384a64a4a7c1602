#include "madlike/driver/connections/table.h"

#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

using Address = std::vector<std::byte>;

struct Connection : ConnectionRecord {
  enum class State { kConnected, kClosing, kGone };
  Connection(ConnectionId its_id, Address its_address, int its_number)
      : ConnectionRecord(its_id, std::move(its_address)), number(its_number) {}
  int number;
  State state = State::kConnected;
};
using State = Connection::State;

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

TEST(ConnectionTable, OfSeveralReasonsToEndTheFirstCounts) {
  ConnectionTable<Connection> table;
  Connection& one = table.add(kHere, 1);
  table.end_soon(one.id, Status(StatusCode::kPeerFailed, "it died"));
  table.end_soon(one.id, StatusCode::kClosed);
  EXPECT_TRUE(one.doomed);
  std::vector<StatusCode> whys;
  table.end_due([&](Connection&, const Status& why) { whys.push_back(why.code()); });
  EXPECT_EQ(whys, std::vector<StatusCode>{StatusCode::kPeerFailed});
}

TEST(ConnectionTable, AnEndIsToldToWhoKnowsAndHasNotLeft) {
  ConnectionTable<Connection> table;
  CompletionQueue completions;
  const Status died(StatusCode::kPeerFailed, "it died");
  const auto end = [&](Connection& connection) {
    table.ended(connection, died, &completions);
    connection.state = State::kGone;
  };

  Connection& told = table.add(kHere, 1);
  told.told = true;
  end(told);
  Completion out;
  ASSERT_EQ(completions.take(&out, 1), 1u);
  EXPECT_EQ(out.kind, Completion::Kind::kDisconnected);
  EXPECT_EQ(out.connection, told.id);
  EXPECT_EQ(out.status.message(), "it died");
  EXPECT_EQ(told.gone.message(), "it died");
  EXPECT_FALSE(table.has_left()) << "its caller still names it";

  Connection& untold = table.add(kThere, 2);
  end(untold);
  EXPECT_TRUE(completions.empty());
  EXPECT_TRUE(table.has_left()) << "nobody will name it";
}

TEST(ConnectionTable, WhoLeavesIsToldNothingMore) {
  ConnectionTable<Connection> table;
  CompletionQueue completions;
  Connection& one = table.add(kHere, 1);
  one.told = true;
  EXPECT_FALSE(table.any_closing());
  ASSERT_EQ(table.leave(one.id), &one) << "it is to be closed";
  one.state = State::kClosing;
  EXPECT_TRUE(table.any_closing());
  EXPECT_TRUE(table.any_closing([](const Connection& any) { return any.number == 1; }));
  EXPECT_FALSE(table.any_closing([](const Connection& any) { return any.number == 2; }));
  EXPECT_EQ(table.leave(one.id), nullptr) << "it was left before";
  EXPECT_FALSE(table.has_left()) << "it is not gone yet";
  EXPECT_EQ(one.gone.code(), StatusCode::kClosed);

  table.ended(one, Status(StatusCode::kPeerFailed, "it died"), &completions);
  one.state = State::kGone;
  EXPECT_TRUE(completions.empty());
  EXPECT_EQ(one.gone.code(), StatusCode::kClosed) << "why it was left stays";
  EXPECT_TRUE(table.has_left());
  EXPECT_FALSE(table.any_closing());
  EXPECT_EQ(table.leave(one.id + 1), nullptr) << "there is none";
}

TEST(ConnectionTable, SaysWhyNothingCanBePosted) {
  const Connection* const none = nullptr;
  EXPECT_EQ(not_connected(none).code(), StatusCode::kClosed);
  Connection one(1, kHere, 1);
  one.gone = Status(StatusCode::kPeerFailed, "it died");
  EXPECT_TRUE(not_connected(&one).again());
  one.state = State::kClosing;
  EXPECT_EQ(not_connected(&one).message(), "it died");
  one.state = State::kGone;
  EXPECT_EQ(not_connected(&one).message(), "it died");
}

TEST(ConnectionTable, WhoIsLeftIsForgottenOnceNobodyNamesIt) {
  ConnectionTable<Connection> table;
  const ConnectionId first = table.add(kHere, 1).id, second = table.add(kThere, 2).id;
  for (const ConnectionId id : {first, second}) {
    table.find(id)->state = State::kGone;
    EXPECT_EQ(table.leave(id), nullptr) << "there is nothing to close";
  }
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

TEST(ConnectionTable, NothingIsLeftOfWhatIsCleared) {
  ConnectionTable<Connection> table;
  const ConnectionId doomed = table.add(kHere, 1).id, left = table.add(kThere, 2).id;
  table.end_soon(doomed, StatusCode::kClosed);
  table.find(left)->state = State::kGone;
  EXPECT_EQ(table.leave(left), nullptr);
  table.clear();
  EXPECT_EQ(table.size(), 0u);
  EXPECT_FALSE(table.has_due());
  EXPECT_FALSE(table.has_left());
  EXPECT_EQ(table.live(table.add(kThere, 3).address)->number, 3);
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
