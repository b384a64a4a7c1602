#include "madlike/message/offer_times.h"

#include <gtest/gtest.h>

namespace mad {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;

constexpr int kFirst = OfferTimes::kFirst, kRun = OfferTimes::kRun,
              kSendEvery = OfferTimes::kSendEvery, kReadEvery = OfferTimes::kReadEvery;

/// A peer of whose offers each takes its time.
class OfferTimesTest : public testing::Test {
 protected:
  void read(microseconds took) {
    now_.at += took;
    if (times_.wants_time()) {
      now_.reading += took;
      times_.was_read(kBytes, took);
      ++timed_;
    } else {
      now_.reading += times_.was_read_untimed(kBytes);
    }
  }
  /// Bytes arrive, which takes its time.
  void arrive(std::uint64_t bytes, microseconds took) {
    now_.at += took;
    now_.bytes += bytes;
  }
  /// Whether the next one is read.
  bool offer(microseconds if_read, microseconds if_sent) {
    const bool reads = times_.reads(kBytes);
    const ArrivalMark from = now_;
    if (reads) {
      read(if_read);
    } else {
      times_.was_asked_for();
      arrive(kBytes, if_sent);
      times_.was_sent(from, now_);
    }
    return reads;
  }
  int count_read(int offers, microseconds if_read, microseconds if_sent) {
    int count = 0;
    for (int i = 0; i < offers; ++i) count += offer(if_read, if_sent) ? 1 : 0;
    return count;
  }
  /// The first of both ways.
  void begin(microseconds if_read, microseconds if_sent) {
    EXPECT_EQ(count_read(2 * kFirst, if_read, if_sent), kFirst);
  }

  OfferTimes times_;
  ArrivalMark now_;
  int timed_ = 0;  // readings
};

TEST_F(OfferTimesTest, OneReadingInFewIsTimedOnceTheWaysAreKnown) {
  begin(microseconds(30), microseconds(40));
  EXPECT_EQ(timed_, kFirst);
  count_read((kSendEvery - 1) * kRun, microseconds(30), microseconds(40));
  const int rest = (kSendEvery - 1) * kRun;
  const int later = (rest - kRun) / static_cast<int>(OfferTimes::kTimeEvery);
  EXPECT_EQ(timed_ - kFirst, kRun + later) << "all of the first run behind what was sent";
  EXPECT_NEAR(std::chrono::duration<double>(now_.reading).count(), 30e-6 * (kFirst + rest), 1e-6)
      << "the others count as long";
}

// Those of others that were not timed, which are longer.
TEST_F(OfferTimesTest, ReadingsThatSeemToTakeAllOfTheTimeSayNothingOfWhatIsSent) {
  begin(microseconds(30), microseconds(40));
  for (int i = 0; i < 20; ++i) {
    const ArrivalMark from = now_;
    now_.reading += microseconds(50);
    arrive(kBytes, microseconds(40));
    times_.was_sent(from, now_);
  }
  EXPECT_TRUE(times_.reads(kBytes));
}

// Of layouts: many are asked for before the first of them is read.
TEST_F(OfferTimesTest, TheWayIsFoundBackFromReadingsThatEndLater) {
  begin(microseconds(100), microseconds(40));
  constexpr int kWindow = 64, kWindows = 60;
  int reads = 0;
  for (int w = 0; w < kWindows; ++w) {
    int later = 0;
    for (int i = 0; i < kWindow; ++i) {
      if (times_.reads(kBytes)) {
        ++later;
        times_.was_asked_for();
      } else {
        offer(microseconds(100), microseconds(40));
      }
    }
    for (; later > 0; --later, ++reads) times_.was_read_later(kBytes, microseconds(100));
  }
  EXPECT_LE(reads, kWindows * kWindow / kReadEvery + kRun);
}

// Also of what was asked for and read later: else what is sent among it would seem to take as long.
TEST_F(OfferTimesTest, WhatIsReadMeanwhileIsNoTimeOfWhatIsSent) {
  begin(microseconds(40), microseconds(100));
  for (int i = 0; i < kRun; ++i) {
    const ArrivalMark from = now_;
    now_.reading += times_.time_of_reading(20 * kBytes);
    arrive(kBytes, microseconds(20 * 40 + 10));
    times_.was_sent(from, now_);
  }
  EXPECT_FALSE(times_.reads(kBytes));
}

TEST_F(OfferTimesTest, EachReadingIsTimedWhereSendingIsFaster) {
  begin(microseconds(60), microseconds(40));
  const int reads = count_read(1000, microseconds(60), microseconds(40));
  EXPECT_GT(reads, 0);
  EXPECT_EQ(timed_, kFirst + reads);
}

TEST_F(OfferTimesTest, TheFasterWayIsTaken) {
  begin(microseconds(100), microseconds(40));
  EXPECT_EQ(count_read((kReadEvery - 1) * kRun, microseconds(100), microseconds(40)), 0);
  times_ = {};
  begin(microseconds(30), microseconds(40));
  constexpr int kRead = (kSendEvery - 1) * kRun;
  EXPECT_EQ(count_read(kRead, microseconds(30), microseconds(40)), kRead);
}

TEST_F(OfferTimesTest, ShortOnesAreReadOnlyWhereThatIsMuchFaster) {
  begin(microseconds(35), microseconds(40));
  EXPECT_TRUE(times_.reads(kBytes));
  EXPECT_FALSE(times_.reads(100000));
  times_ = {};
  begin(microseconds(25), microseconds(40));
  EXPECT_TRUE(times_.reads(100000));
}

TEST_F(OfferTimesTest, ReadingIsTriedByRunsWhereItIsSlower) {
  begin(microseconds(100), microseconds(40));
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(count_read((kReadEvery - 1) * kRun, microseconds(100), microseconds(40)), 0) << turn;
    EXPECT_EQ(count_read(kRun, microseconds(100), microseconds(40)), kRun) << turn;
  }
}

TEST_F(OfferTimesTest, SendingIsTriedByRunsWhereItIsSlowerTheRarerTheLongerThatIsSo) {
  begin(microseconds(40), microseconds(100));
  constexpr int kRare = OfferTimes::kRareSend;
  for (int every : {kSendEvery, 2 * kSendEvery, 4 * kSendEvery, 8 * kSendEvery, kRare, kRare}) {
    const int read = (every - 1) * kRun;
    EXPECT_EQ(count_read(read, microseconds(40), microseconds(100)), read) << every;
    EXPECT_EQ(count_read(kRun, microseconds(40), microseconds(100)), 0) << every;
  }
}

// Who has nine in a row sent is offered few (OffersMade): that must come of itself.
TEST_F(OfferTimesTest, MoreAreSentInARowThanARunWhereThatIsFaster) {
  begin(microseconds(30), microseconds(40));
  while (offer(microseconds(200), microseconds(40))) {
  }
  for (std::uint32_t i = 1; i < OffersMade::kInARow; ++i) {
    EXPECT_FALSE(offer(microseconds(200), microseconds(40))) << i;
  }
}

TEST_F(OfferTimesTest, WhatHasBecomeFasterIsNoticed) {
  begin(microseconds(100), microseconds(40));
  (void)count_read(kReadEvery * kRun, microseconds(20), microseconds(40));
  EXPECT_EQ(count_read(10, microseconds(20), microseconds(40)), 10);
}

TEST_F(OfferTimesTest, WhereReadingHasBecomeSlowerSendingIsTriedSoon) {
  begin(microseconds(30), microseconds(100));
  constexpr int kLong = 1000;  // by now tries are rare
  EXPECT_GT(count_read(kLong, microseconds(30), microseconds(100)), kLong - 5 * kRun);
  EXPECT_LE(count_read(40, microseconds(90), microseconds(60)), 20);
  EXPECT_LE(count_read(100, microseconds(90), microseconds(60)), 50 + kRun);
}

TEST_F(OfferTimesTest, OneThatTookLongChangesNothing) {
  begin(microseconds(30), microseconds(40));
  EXPECT_TRUE(offer(microseconds(50000), microseconds(40)));
  EXPECT_TRUE(offer(microseconds(30), microseconds(40)));
}

TEST_F(OfferTimesTest, TheFirstOneMayTakeLong) {
  EXPECT_TRUE(offer(microseconds(900), microseconds(40)));
  EXPECT_EQ(count_read(2 * kFirst - 1, microseconds(30), microseconds(40)), kFirst - 1);
  EXPECT_EQ(count_read(10, microseconds(30), microseconds(40)), 10);
}

TEST_F(OfferTimesTest, AClockThatDidNotMoveDecidesNothingForEver) {
  begin(microseconds(0), microseconds(40));
  EXPECT_TRUE(offer(microseconds(100), microseconds(40)));
  (void)count_read(20 * kRun, microseconds(100), microseconds(40));
  EXPECT_LE(count_read(2 * kReadEvery * kRun, microseconds(100), microseconds(40)), 2 * kRun);
}

// One sent takes 40, eight at once 320 for all of them, in whatever order they are complete.
TEST_F(OfferTimesTest, SeveralAtOnceTakeNoLongerEach) {
  for (int i = 0; i < kFirst; ++i) read(microseconds(50));
  const ArrivalMark from = now_;
  for (int i = 0; i < 8; ++i) ASSERT_FALSE(times_.reads(kBytes));
  for (int i = 0; i < 80; ++i) arrive(kBytes / 10, microseconds(4));
  for (int i = 0; i < 8; ++i) times_.was_sent(from, now_);
  EXPECT_EQ(count_read(10, microseconds(50), microseconds(40)), 0);
}

TEST_F(OfferTimesTest, WhatIsReadMeanwhileIsNotItsTime) {
  begin(microseconds(100), microseconds(100));
  for (int i = 0; i < 20; ++i) {
    const ArrivalMark from = now_;
    for (int k = 0; k < 15; ++k) read(microseconds(100));
    arrive(kBytes, microseconds(40));
    times_.was_sent(from, now_);
  }
  EXPECT_EQ(count_read((kReadEvery - 1) * kRun, microseconds(100), microseconds(40)), 0);
}

/// What a sender and a receiver make of times of which the first ones may be wrong.
class Pair {
 public:
  /// How many of so many messages are offered, and how many read.
  struct Taken {
    std::uint32_t offered = 0, read = 0;
  };
  template <typename Times>
  Taken send(std::uint32_t messages, microseconds if_read, const Times& if_sent) {
    Taken taken;
    for (std::uint32_t i = 0; i < messages; ++i) {
      const bool offered = made_.is_worth_another();
      made_.count_message(kBytes);
      if (!offered) continue;
      ++taken.offered;
      const bool reads = times_.reads(kBytes);
      if (reads) {
        ++taken.read;
        times_.was_read(kBytes, if_read);
      } else {
        ArrivalMark now;
        now.at += if_sent(i);
        now.bytes = kBytes;
        times_.was_sent({}, now);
      }
      made_.count_answer(reads);
    }
    return taken;
  }

 private:
  OfferTimes times_;
  OffersMade made_;
};

TEST(OfferPairTest, WhoSendsFasterIsSoonOfferedLittleThoughTheFirstTimesWereTooGood) {
  constexpr std::uint32_t kMessages = 20000;
  for (const int later : {20, 30, 44, 60}) {
    Pair pair;
    const auto if_sent = [&](std::uint32_t message) {
      return microseconds(message < 6 ? 20 : later);
    };
    const Pair::Taken taken = pair.send(kMessages, microseconds(80), if_sent);
    EXPECT_LT(taken.offered, kMessages / 20) << later;
    EXPECT_LT(taken.read, kMessages / 40) << later;
  }
}

// 1500 ns until the first 10 bytes are here, which take 500 to be placed.
TEST(SentSince, TheWordThatAsksIsNoPartOfIt) {
  ArrivalMark asked;
  asked.bytes = 100;
  ArrivalMark placing = asked;
  placing.at += nanoseconds(1500);
  placing.bytes += 10;
  const auto placed = placing.at + nanoseconds(500);
  EXPECT_EQ(sent_since(asked, placing, placed, 10).at, asked.at + nanoseconds(1000));
  EXPECT_EQ(sent_since(asked, placing, placed, 10).bytes, asked.bytes);
  const auto later = placing.at + nanoseconds(9000);
  EXPECT_EQ(sent_since(asked, placing, later, 10).at, asked.at) << "no sooner than it was asked";
  placing.reading += nanoseconds(700);
  EXPECT_EQ(sent_since(asked, placing, placed, 10).at, asked.at) << "another was read";
  placing.reading = asked.reading;
  placing.bytes += 10;  // of others
  EXPECT_EQ(sent_since(asked, placing, placed, 10).at, asked.at);
}

TEST(SentSince, ThatItsSenderIsBusyIs) {
  const ArrivalMark asked;
  ArrivalMark placing = asked;
  placing.at += nanoseconds(50000);
  const auto placed = placing.at + nanoseconds(500);
  EXPECT_EQ(sent_since(asked, placing, placed, 10).at, asked.at + kMostOfAWord);
}

TEST(ByLengthTest, ShortOnesAreApartFromLongOnes) {
  ByLength<int> counts{};
  for (const std::uint64_t bytes :
       {1u, 65535u, 65536u, 262143u, 262144u, (8u << 20) - 1, 8u << 20, 1u << 30}) {
    ++counts.of(bytes);
  }
  for (const std::uint64_t bytes : {2u, 65537u, 262145u, (8u << 20) + 1}) {
    EXPECT_EQ(counts.of(bytes), 2) << bytes;
  }
}

/// A sender and what became of its offers.
class OffersMadeTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kRun = OfferTimes::kRun;

  void answer(std::uint32_t times, bool read) {
    for (std::uint32_t i = 0; i < times; ++i) made_.count_answer(read);
  }
  /// Sends so many messages; returns how many of them are offered.
  std::uint32_t send(std::uint32_t messages, std::uint64_t bytes = 1) {
    std::uint32_t offers = 0;
    for (std::uint32_t i = 0; i < messages; ++i) {
      offers += made_.is_worth_another() ? 1 : 0;
      made_.count_message(bytes);
    }
    return offers;
  }

  OffersMade made_;
};

TEST_F(OffersMadeTest, RunsAreOfferedToWhoHasAllSent) {
  EXPECT_EQ(send(64), 64u);
  answer(OffersMade::kInARow - 1, false);
  answer(1, true);
  answer(OffersMade::kInARow - 1, false);
  EXPECT_EQ(send(64), 64u) << "fewer in a row may be a try";
  answer(OffersMade::kInARow, false);
  EXPECT_EQ(send((OffersMade::kOfferEvery - 1) * kRun), 0u);
  EXPECT_EQ(send(kRun), kRun);
}

TEST_F(OffersMadeTest, TheRunsBecomeRare) {
  answer(OffersMade::kInARow, false);
  constexpr std::uint32_t kRare = OffersMade::kRareOffer;
  for (std::uint32_t every = OffersMade::kOfferEvery; every < 2 * kRare; every *= 2) {
    EXPECT_EQ(send((every - 1) * kRun), 0u) << every;
    EXPECT_EQ(send(kRun), kRun) << every;
    answer(kRun, false);
  }
  EXPECT_EQ(send((kRare - 1) * kRun), 0u);
}

TEST_F(OffersMadeTest, OfLongPayloadTheyBecomeLessRare) {
  answer(OffersMade::kInARow, false);
  constexpr std::uint32_t kMessages = 100000;
  constexpr std::uint32_t kMost = kMessages / OffersMade::kRareOfOthers;
  (void)send(10000, kMiddlePayload);
  EXPECT_NEAR(send(kMessages, kMiddlePayload), kMost, kRun);
}

TEST_F(OffersMadeTest, AllAreOfferedToWhoReadsMoreThanARun) {
  answer(OffersMade::kInARow, false);
  (void)send(10000);
  answer(kRun, true);
  EXPECT_LT(send(256), 256u) << "that may be a try";
  answer(1, true);
  EXPECT_EQ(send(256), 256u);
}

TEST_F(OffersMadeTest, OffersThatWereOutAlreadyDoNotMakeThemRarer) {
  (void)send(64);
  answer(64, false);
  EXPECT_EQ(send(OffersMade::kOfferEvery * kRun), kRun);
}

}  // namespace
}  // namespace mad
