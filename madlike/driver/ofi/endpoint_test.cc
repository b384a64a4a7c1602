#include "madlike/driver/ofi/endpoint.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace mad {
namespace {

using Kind = OfiOperation::Kind;

OfiConnection connection() { return {5, std::vector<std::byte>(), 4711}; }

TEST(OfiConnection, BeginsUnderWayWithoutOperations) {
  OfiConnection made = connection();
  EXPECT_TRUE(made.under_way());
  EXPECT_EQ(OfiTag::connection(made.tag), 5u);
  EXPECT_EQ(made.queued, 0u);
  made.state = OfiConnection::State::kAwaiting;
  EXPECT_TRUE(made.under_way());
  for (const auto state : {OfiConnection::State::kAccepting, OfiConnection::State::kConnected,
                           OfiConnection::State::kClosing, OfiConnection::State::kGone}) {
    made.state = state;
    EXPECT_FALSE(made.under_way());
  }
}

TEST(OfiConnection, PacketsAndWritesShareTheQueue) {
  OfiConnection made = connection();
  int context = 0;
  std::set<OfiOperation*> taken;
  for (std::size_t i = 0; i < OfiConnection::kQueueDepth; ++i) {
    OfiOperation* const operation =
        made.take_operation(i % 2 == 0 ? Kind::kSend : Kind::kWrite, &context);
    ASSERT_NE(operation, nullptr) << i;
    EXPECT_TRUE(operation->busy);
    EXPECT_EQ(operation->connection, 5u);
    EXPECT_EQ(operation->context, &context);
    taken.insert(operation);
  }
  EXPECT_EQ(taken.size(), OfiConnection::kQueueDepth);
  EXPECT_EQ(made.take_operation(Kind::kSend, nullptr), nullptr);
  EXPECT_EQ(made.take_operation(Kind::kWrite, nullptr), nullptr);
  made.free_operation(*taken.begin());
  EXPECT_FALSE((*taken.begin())->busy);
  EXPECT_EQ(made.take_operation(Kind::kWrite, nullptr), *taken.begin());
  EXPECT_EQ(made.take_operation(Kind::kSend, nullptr), nullptr);
}

// Whatever the caller has posted, the connection can end in good order.
TEST(OfiConnection, AFullQueueLeavesRecordsForCreditAndTheLastPacket) {
  OfiConnection made = connection();
  while (made.take_operation(Kind::kSend, nullptr)) {
  }
  EXPECT_NE(made.take_operation(Kind::kCredit, nullptr), nullptr);
  EXPECT_EQ(made.take_operation(Kind::kCredit, nullptr), nullptr);
  OfiOperation* const last = made.take_operation(Kind::kLast, nullptr);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(made.take_operation(Kind::kLast, nullptr), nullptr);
  EXPECT_EQ(made.queued, OfiConnection::kQueueDepth);
  made.free_operation(last);
  EXPECT_EQ(made.queued, OfiConnection::kQueueDepth) << "it was none of the caller's";
}

// A connection may end before the provider is done with its operations.
TEST(OfiConnection, AnAbandonedOperationIsNotUsedBeforeItComesBack) {
  OfiConnection made = connection();
  EXPECT_TRUE(made.all_returned());
  OfiOperation* const operation = made.take_operation(Kind::kSend, nullptr);
  EXPECT_FALSE(made.all_returned());
  made.abandon_operation(operation);
  EXPECT_FALSE(operation->busy);
  EXPECT_EQ(made.queued, 0u);
  EXPECT_FALSE(made.all_returned());
  while (OfiOperation* const other = made.take_operation(Kind::kSend, nullptr)) {
    EXPECT_NE(other, operation);
  }
  EXPECT_NE(made.take_operation(Kind::kLast, nullptr), operation);
  made.free_operation(operation);
  EXPECT_EQ(made.take_operation(Kind::kLast, nullptr), operation);
}

}  // namespace
}  // namespace mad
