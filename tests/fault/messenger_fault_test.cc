// The messenger over drivers that misbehave: random messages in both directions, whatever the
// fabric's limits.  Every header comes once and in order, every payload byte is right, every
// operation ends exactly once, and nothing waits for ever (all loops are bounded by polls).
//
// A failing case names its seed; MAD_TEST_SEED=n runs that one alone, MAD_TEST_SEEDS=n the first n.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/fault/duel.h"
#include "tests/fault/ledger.h"

namespace mad::test {
namespace {

class MessengerOverFaults : public ::testing::TestWithParam<const char*> {
 protected:
  bool lends() const { return GetParam() == std::string("lending"); }
  bool on_loopback() const { return lends() || GetParam() == std::string("loopback"); }
  /// Shared memory without CMA sends everything in packets.
  bool writes() const {
    return GetParam() != std::string("ucx:posix") && GetParam() != std::string("shm");
  }
  /// Loopback, as narrow as it likes to be, has the most to show.
  std::vector<std::uint64_t> some(std::uint64_t count) const {
    return seeds(on_loopback() ? count : count / 10);
  }
  /// Whether there were enough of something that goes wrong now and then.
  bool enough(std::uint64_t times, std::uint64_t wanted) const {
    return times > (on_loopback() ? wanted : 0) || std::getenv("MAD_TEST_SEED") != nullptr;
  }
};

TEST_P(MessengerOverFaults, EverythingArrivesOnceInOrderAndRight) {
  FaultCounts total;
  for (const std::uint64_t seed : some(60)) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    Duel duel(GetParam(), seed, [](Random&, Duelist&, Duelist&) {});
    Side& a = *duel.a;
    Side& b = *duel.b;
    ASSERT_TRUE(duel.run_until([&] {
      return a.sent_everything() && b.sent_everything() && a.settled() && b.settled() &&
             a.headers_seen() == kMessages && b.headers_seen() == kMessages;
    })) << "a saw "
        << a.headers_seen() << ", b saw " << b.headers_seen() << " of " << kMessages
        << "; settled: " << a.settled() << b.settled();
    a.check(true);
    b.check(true);
    EXPECT_TRUE(duel.run_until([&] { return a.messenger().idle() && b.messenger().idle(); }));
    EXPECT_TRUE(a.alive());
    EXPECT_TRUE(b.alive());
    total.refused_posts += a.faults().refused_posts;
    total.delayed += a.faults().delayed;
    total.overtakings += a.faults().overtakings;
    total.refused_exposures += a.faults().refused_exposures;
  }
  EXPECT_TRUE(enough(total.refused_posts, 1000)) << total.refused_posts;
  EXPECT_TRUE(enough(total.delayed, 1000)) << total.delayed;
  // Where a driver is done with what it takes at once, there is nothing to overtake.
  EXPECT_TRUE(!on_loopback() || enough(total.overtakings, 1000)) << total.overtakings;
  EXPECT_TRUE(!writes() || enough(total.refused_exposures, 10)) << total.refused_exposures;
}

TEST_P(MessengerOverFaults, ACutConnectionEndsEveryOperationOnce) {
  for (const std::uint64_t seed : some(80)) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    Duel duel(GetParam(), seed, [](Random& random, Duelist& a, Duelist&) {
      a.plan.dies_at = 1 + up_to(random, 100);
    });
    Side& a = *duel.a;
    Side& b = *duel.b;
    ASSERT_TRUE(duel.run_until([&] {
      return !a.alive() && !b.alive() && a.settled() && b.settled();
    })) << "gone: "
        << a.gone() << b.gone() << ", settled: " << a.settled() << b.settled();
    for (int i = 0; i < 200; ++i) {
      a.step();
      b.step();
    }
    EXPECT_EQ(a.gone(), 1);
    EXPECT_EQ(b.gone(), 1);
    EXPECT_EQ(a.gone_why(), StatusCode::kPeerFailed);
    EXPECT_EQ(b.gone_why(), StatusCode::kPeerFailed) << "an end without goodbye is a death";
    EXPECT_TRUE(a.settled() && b.settled());
    a.check(false);
    b.check(false);
    EXPECT_TRUE(a.messenger().idle());
    EXPECT_TRUE(b.messenger().idle());
  }
}

TEST_P(MessengerOverFaults, AnEngineThatDiesEndsEveryOperationOfTheOther) {
  for (const std::uint64_t seed : some(80)) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    bool dead = false;
    Duel duel(GetParam(), seed, [&](Random& random, Duelist& a, Duelist&) {
      a.plan.dies_at = 1 + up_to(random, 100);
      a.plan.at_death = [&dead] { dead = true; };
    });
    ASSERT_TRUE(duel.run_until([&] { return dead; }));
    duel.b.reset();  // no goodbye: the process is gone
    Side& a = *duel.a;
    const auto over = [&] { return !a.alive() && a.settled() && a.messenger().idle(); };
    for (int round = 0; round < kMaxRounds && !over(); ++round) a.step();
    EXPECT_EQ(a.gone(), 1);
    EXPECT_TRUE(a.gone_why() == StatusCode::kPeerFailed ||
                a.gone_why() == StatusCode::kUnreachable);
    EXPECT_TRUE(a.settled());
    a.check(false);
    EXPECT_TRUE(a.messenger().idle());
  }
}

TEST_P(MessengerOverFaults, FailedRemoteWritesEndEveryOperationOnce) {
  std::uint64_t failed = 0;
  for (const std::uint64_t seed : some(60)) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    Duel duel(GetParam(), seed, [](Random&, Duelist& a, Duelist&) { a.plan.fail_write = 200; });
    Side& a = *duel.a;
    Side& b = *duel.b;
    ASSERT_TRUE(duel.run_until([&] {
      const bool over = a.sent_everything() && b.sent_everything() &&
                        a.headers_seen() == kMessages && b.headers_seen() == kMessages;
      return (over || (!a.alive() && !b.alive())) && a.settled() && b.settled();
    })) << "gone: "
        << a.gone() << b.gone() << ", settled: " << a.settled() << b.settled();
    a.check(false);
    b.check(false);
    failed += a.faults().failed_writes;
  }
  EXPECT_TRUE(!writes() || enough(failed, 10)) << failed;
}

TEST_P(MessengerOverFaults, AGoodbyeIsNotADeath) {
  for (const std::uint64_t seed : some(20)) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    Duel duel(GetParam(), seed, [](Random&, Duelist&, Duelist&) {});
    Side& a = *duel.a;
    Side& b = *duel.b;
    ASSERT_TRUE(duel.run_until([&] {
      return a.sent_everything() && b.sent_everything() && a.settled() && b.settled() &&
             a.headers_seen() == kMessages && b.headers_seen() == kMessages;
    }));
    // b's driver needs polls while a says goodbye; close() alone moves a.
    (void)a.messenger().close(1000);
    for (int round = 0; round < kMaxRounds && b.alive(); ++round) b.step();
    EXPECT_EQ(b.gone(), 1);
    EXPECT_EQ(b.gone_why(), StatusCode::kClosed);
  }
}

// Bits of payload flip on their way.  Returns whether all that was sent was received or refused.
bool settles(Duel& duel) {
  return duel.run_until([&] {
    return duel.a->sent_everything() && duel.b->sent_everything() && duel.a->settled() &&
           duel.b->settled() && duel.a->headers_seen() == kMessages &&
           duel.b->headers_seen() == kMessages;
  });
}

TEST_P(MessengerOverFaults, AFlippedBitFailsItsMessageAlone) {
  std::uint64_t flips = 0;
  for (const std::uint64_t seed : some(60)) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    Ledgers ledgers;
    const bool both = seed % 3 != 0;  // else b's messages have no sums, and no bit of them flips
    Duel duel(GetParam(), seed, [&](Random& random, Duelist& a, Duelist& b) {
      a.config.checksum = true;
      b.config.checksum = both;
      a.plan.tap = &ledgers.of_a;
      b.plan.tap = &ledgers.of_b;
      a.plan.flip_bit = static_cast<unsigned>(up_to(random, 300));
      b.plan.flip_bit = both ? 100 : 0;
    });
    ASSERT_TRUE(settles(duel));
    duel.b->check_sums(ledgers.of_a.damaged());
    duel.a->check_sums(ledgers.of_b.damaged());
    EXPECT_EQ(duel.a->counters().written_bytes, 0u);
    EXPECT_TRUE(
        duel.run_until([&] { return duel.a->messenger().idle() && duel.b->messenger().idle(); }));
    EXPECT_TRUE(duel.a->alive() && duel.b->alive());
    flips += duel.a->faults().flipped_bits + duel.b->faults().flipped_bits;
  }
  EXPECT_TRUE(enough(flips, 500)) << flips;
}

// Without sums nobody claims to know.
TEST_P(MessengerOverFaults, AFlippedBitPassesUnseenWithoutChecksums) {
  std::uint64_t flips = 0;
  for (const std::uint64_t seed : some(10)) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    Ledgers ledgers;
    Duel duel(GetParam(), seed, [&](Random&, Duelist& a, Duelist& b) {
      b.config.checksum = true;
      a.plan.tap = &ledgers.of_a;
      b.plan.tap = &ledgers.of_b;
      a.plan.flip_bit = 200;
    });
    ASSERT_TRUE(settles(duel));
    duel.b->check_sums({}, ledgers.of_a.damaged());
    EXPECT_EQ(duel.b->counters().checked_bytes, 0u);
    EXPECT_GT(duel.a->counters().checked_bytes, 0u);
    flips += duel.a->faults().flipped_bits;
  }
  EXPECT_TRUE(enough(flips, 50)) << flips;
}

INSTANTIATE_TEST_SUITE_P(Fabrics, MessengerOverFaults,
                         ::testing::Values("loopback", "lending", "tcp", "shm", "ofi:tcp",
                                           "ucx:tcp", "ucx:posix", "ucx:posix,cma"),
                         [](const auto& info) {
                           std::string name = info.param;
                           const auto is_mark = [](char c) { return c == ':' || c == ','; };
                           std::replace_if(name.begin(), name.end(), is_mark, '_');
                           return name;
                         });

}  // namespace
}  // namespace mad::test
