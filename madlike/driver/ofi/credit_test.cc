#include "madlike/driver/ofi/credit.h"

#include <deque>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::size_t kBuffers = 256;

TEST(Credit, WhereNothingIsCountedNothingEnds) {
  CreditPool pool(0);
  EXPECT_FALSE(pool.counts());
  Credit credit;
  credit.set_grant(pool.first());
  credit.set_given(pool.first());
  for (int i = 0; i < 100000; ++i) {
    ASSERT_TRUE(credit.may_send());
    credit.spend();
    ASSERT_TRUE(credit.arrived());
    credit.released(&pool);
    ASSERT_FALSE(credit.is_much_owed());
  }
  credit.end(&pool);
}

TEST(Credit, TheLastUnitIsKeptForCredit) {
  Credit credit;
  EXPECT_FALSE(credit.may_send());
  EXPECT_FALSE(credit.may_give());
  credit.set_given(2);
  EXPECT_TRUE(credit.may_send());
  credit.spend();
  EXPECT_FALSE(credit.may_send());
  EXPECT_TRUE(credit.may_give());
  credit.spend();
  EXPECT_FALSE(credit.may_give());
  credit.add_given(2);
  EXPECT_TRUE(credit.may_send());
}

TEST(Credit, WhoSendsMoreThanItMayIsFound) {
  CreditPool pool(kBuffers);
  Credit credit;
  credit.set_grant(pool.first());
  for (int i = 0; i < credit.grant(); ++i) ASSERT_TRUE(credit.arrived());
  EXPECT_FALSE(credit.arrived());
  credit.released(&pool);
  EXPECT_FALSE(credit.arrived()) << "not told yet";
  (void)credit.give();
  EXPECT_TRUE(credit.arrived());
}

TEST(CreditPool, GrantsNeverExceedTheBuffersUpToManyPeers) {
  constexpr std::size_t kPeers = (kBuffers - CreditPool::kReserve) / CreditPool::kLeast;
  CreditPool pool(kBuffers);
  std::vector<Credit> peers(kPeers);
  std::size_t granted = 0;
  for (Credit& peer : peers) {
    peer.set_grant(pool.first());
    granted += peer.grant();
  }
  // The first ones have more, so that the last ones overdraw; the busy ones give that back.
  for (int round = 0; round < 100; ++round) {
    for (Credit& peer : peers) {
      ASSERT_TRUE(peer.arrived());
      peer.released(&pool);
      (void)peer.give();
    }
  }
  granted = 0;
  for (const Credit& peer : peers) {
    EXPECT_GE(peer.grant(), CreditPool::kLeast);
    granted += peer.grant();
  }
  EXPECT_LE(granted, kBuffers);
  for (Credit& peer : peers) peer.end(&pool);
  EXPECT_EQ(pool.first(), CreditPool::kFirst);
  EXPECT_TRUE(pool.has_plenty());
}

TEST(CreditPool, WhoSendsMuchGetsMoreWhileThereIsPlenty) {
  CreditPool pool(kBuffers);
  Credit busy, idle;
  idle.set_grant(pool.first());
  busy.set_grant(pool.first());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(busy.arrived());
    busy.released(&pool);
    (void)busy.give();
  }
  EXPECT_EQ(busy.grant(), CreditPool::kMost);
  EXPECT_EQ(idle.grant(), CreditPool::kFirst);
}

/// Two sides of a connection that send at random, each packet carrying what is owed, and credit
/// packets when much is; nobody is ever stuck, no unit is lost, and idle sides come to rest.
TEST(Credit, NeitherSideIsEverStuckAndIdleSidesRest) {
  struct Packet {
    std::uint16_t credit;
  };
  struct Side {
    explicit Side() : pool(kBuffers) {}
    CreditPool pool;
    Credit credit;
    std::deque<Packet> incoming;
    int unread = 0;
  };
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Side sides[2];
    for (Side& side : sides) side.credit.set_grant(side.pool.first());
    for (int i = 0; i < 2; ++i) sides[i].credit.set_given(sides[1 - i].credit.grant());
    const auto post = [&](Side& from, Side& to) {
      from.credit.spend();
      to.incoming.push_back({from.credit.give()});
    };
    const auto read = [&](Side& side, Side& other) {
      while (!side.incoming.empty()) {
        ASSERT_TRUE(side.credit.arrived());
        side.credit.add_given(side.incoming.front().credit);
        side.incoming.pop_front();
        side.credit.released(&side.pool);
      }
      if (side.credit.is_much_owed() && side.credit.may_give()) post(side, other);
    };
    for (int step = 0; step < 20000; ++step) {
      const unsigned which = random() % 2;
      Side& side = sides[which];
      Side& other = sides[1 - which];
      if (random() % 2 == 0) {
        read(side, other);
      } else if (side.credit.may_send()) {
        post(side, other);
      }
    }
    for (int round = 0; round < 100; ++round) {
      for (int i = 0; i < 2; ++i) read(sides[i], sides[1 - i]);
    }
    EXPECT_TRUE(sides[0].incoming.empty() && sides[1].incoming.empty()) << "no rest";
    EXPECT_TRUE(sides[0].credit.may_send()) << "stuck";
    EXPECT_TRUE(sides[1].credit.may_send()) << "stuck";
  }
}

}  // namespace
}  // namespace mad
