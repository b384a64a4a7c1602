// Matching against two literal lists, as the standard describes it: random programs of millions of
// operations, and every short one.
#include "madlike/match/matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <list>
#include <random>
#include <vector>

#include "tests/support/random_type.h"

namespace mad {
namespace {

struct Receive : PostedReceive {
  Envelope envelope;
};
struct Message : ArrivedMessage {
  Envelope sent;
};

/// The two lists, searched from their beginning.
class Lists {
 public:
  Message* post(Receive* receive) {
    const auto found = earliest(receive->envelope);
    if (found == messages_.end()) {
      receives_.push_back(receive);
      return nullptr;
    }
    Message* const message = *found;
    messages_.erase(found);
    return message;
  }
  Receive* arrive(Message* message) {
    const auto takes = [&](const Receive* each) { return matches(each->envelope, message->sent); };
    const auto found = std::find_if(receives_.begin(), receives_.end(), takes);
    if (found == receives_.end()) {
      messages_.push_back(message);
      return nullptr;
    }
    Receive* const receive = *found;
    receives_.erase(found);
    return receive;
  }
  Message* find(const Envelope& wanted) {
    const auto found = earliest(wanted);
    return found == messages_.end() ? nullptr : *found;
  }
  void cancel(Receive* receive) { receives_.remove(receive); }
  void remove(Message* message) { messages_.remove(message); }

  const std::list<Receive*>& receives() const { return receives_; }
  const std::list<Message*>& messages() const { return messages_; }

 private:
  std::list<Message*>::iterator earliest(const Envelope& wanted) {
    const auto taken = [&](const Message* each) { return matches(wanted, each->sent); };
    return std::find_if(messages_.begin(), messages_.end(), taken);
  }
  std::list<Receive*> receives_;
  std::list<Message*> messages_;
};

/// A Matcher and the lists, of which each is told the same and has to say the same.
class Both {
 public:
  void post(const Envelope& wanted) {
    Receive& receive = posted_.emplace_back();
    receive.envelope = wanted;
    ASSERT_EQ(matcher_.post(receive, wanted), lists_.post(&receive));
  }
  void arrive(const Envelope& sent) {
    Message& message = arrived_.emplace_back();
    message.sent = sent;
    ASSERT_EQ(matcher_.arrive(message, sent), lists_.arrive(&message));
  }
  void probe(const Envelope& wanted) { ASSERT_EQ(matcher_.find(wanted), lists_.find(wanted)); }
  /// MPI_Improbe: what is found is taken out.
  void take(const Envelope& wanted) {
    Message* const message = lists_.find(wanted);
    ASSERT_EQ(matcher_.find(wanted), message);
    if (message == nullptr) return;
    matcher_.remove(*message);
    lists_.remove(message);
  }
  void cancel(std::size_t number) {
    if (lists_.receives().empty()) return;
    Receive* const receive =
        *std::next(lists_.receives().begin(), static_cast<long>(number % lists_.receives().size()));
    matcher_.cancel(*receive);
    lists_.cancel(receive);
  }
  void expect_equal() {
    ASSERT_EQ(matcher_.receives(), lists_.receives().size());
    ASSERT_EQ(matcher_.messages(), lists_.messages().size());
    std::vector<ArrivedMessage*> messages;
    matcher_.for_each_message([&](ArrivedMessage& each) { messages.push_back(&each); });
    ASSERT_TRUE(std::equal(messages.begin(), messages.end(), lists_.messages().begin(),
                           lists_.messages().end()));
    std::vector<PostedReceive*> receives;
    matcher_.for_each_receive([&](PostedReceive& each) { receives.push_back(&each); });
    std::vector<PostedReceive*> expected(lists_.receives().begin(), lists_.receives().end());
    std::sort(receives.begin(), receives.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(receives, expected);
  }

 private:
  Matcher matcher_;
  Lists lists_;
  std::deque<Receive> posted_;
  std::deque<Message> arrived_;
};

/// What chance there is, of 100, that a receive takes any source, or any tag.
struct Mix {
  std::uint32_t contexts;
  std::int32_t sources, tags;
  unsigned any_source, any_tag;
  unsigned receives;  // of 100 operations that post or arrive
};

void run_random(const Mix& mix, std::uint32_t seed, int steps) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  const auto sent = [&] {
    return Envelope{below(mix.contexts),
                    static_cast<std::int32_t>(below(static_cast<std::uint32_t>(mix.sources))),
                    static_cast<std::int32_t>(below(static_cast<std::uint32_t>(mix.tags)))};
  };
  const auto wanted = [&] {
    Envelope envelope = sent();
    if (below(100) < mix.any_source) envelope.source = kAnySource;
    if (below(100) < mix.any_tag) envelope.tag = kAnyTag;
    return envelope;
  };
  Both both;
  for (int step = 0; step < steps; ++step) {
    const std::uint32_t choice = below(100);
    if (choice < 80) {
      if (below(100) < mix.receives) {
        ASSERT_NO_FATAL_FAILURE(both.post(wanted()));
      } else {
        ASSERT_NO_FATAL_FAILURE(both.arrive(sent()));
      }
    } else if (choice < 90) {
      ASSERT_NO_FATAL_FAILURE(both.probe(wanted()));
    } else if (choice < 95) {
      ASSERT_NO_FATAL_FAILURE(both.take(wanted()));
    } else {
      both.cancel(random());
    }
  }
  ASSERT_NO_FATAL_FAILURE(both.expect_equal());
}

TEST(Matcher, AgreesWithTheListsOnRandomPrograms) {
  auto seed = static_cast<std::uint32_t>(test::seed_from_environment(0));
  for (const unsigned any : {0U, 10U, 50U}) {
    for (const unsigned receives : {30U, 50U, 70U}) {
      for (const std::int32_t few : {1, 2, 5}) {
        SCOPED_TRACE(testing::Message()
                     << any << ' ' << receives << ' ' << few << " MAD_TEST_SEED=" << seed);
        for (int program = 0; program < 100; ++program) {
          ASSERT_NO_FATAL_FAILURE(run_random({2, few, few + 1, any, any, receives}, ++seed, 400));
        }
        ASSERT_NO_FATAL_FAILURE(run_random({3, 20, 20, any, any / 2, receives}, ++seed, 10000));
      }
    }
  }
}

// Wildcards of one kind only, asked for late: what waits by then is found, too.
TEST(Matcher, AgreesWithTheListsHoweverLateAWildcardComes) {
  for (const auto& [source, tag] :
       {std::pair(kAnySource, 0), {0, kAnyTag}, {kAnySource, kAnyTag}}) {
    Both both;
    for (int i = 0; i < 50; ++i) ASSERT_NO_FATAL_FAILURE(both.arrive({0, i % 3, i % 2}));
    for (int i = 0; i < 60; ++i) {
      ASSERT_NO_FATAL_FAILURE(both.post({0, source, tag}));
      ASSERT_NO_FATAL_FAILURE(both.arrive({0, i % 3, i % 2}));
      ASSERT_NO_FATAL_FAILURE(both.post({0, i % 2, i % 2}));
    }
    ASSERT_NO_FATAL_FAILURE(both.expect_equal());
  }
}

// All programs of five operations of two sources and two tags.
TEST(Matcher, AgreesWithTheListsOnEveryShortProgram) {
  std::vector<std::pair<bool, Envelope>> operations;
  for (const std::int32_t source : {kAnySource, 0, 1}) {
    for (const std::int32_t tag : {kAnyTag, 0, 1}) operations.push_back({true, {0, source, tag}});
  }
  for (const std::int32_t source : {0, 1}) {
    for (const std::int32_t tag : {0, 1}) operations.push_back({false, {0, source, tag}});
  }
  constexpr int kLength = 5;
  std::size_t programs = 1;
  for (int i = 0; i < kLength; ++i) programs *= operations.size();
  for (std::size_t program = 0; program < programs; ++program) {
    Both both;
    std::size_t rest = program;
    for (int i = 0; i < kLength; ++i, rest /= operations.size()) {
      const auto& [posts, envelope] = operations[rest % operations.size()];
      if (posts) {
        ASSERT_NO_FATAL_FAILURE(both.post(envelope)) << program;
      } else {
        ASSERT_NO_FATAL_FAILURE(both.arrive(envelope)) << program;
      }
    }
    ASSERT_NO_FATAL_FAILURE(both.expect_equal()) << program;
  }
}

TEST(Matcher, KnowsNoneWhereNoneWaits) {
  Matcher matcher;
  EXPECT_EQ(matcher.find({0, kAnySource, kAnyTag}), nullptr);
  EXPECT_EQ(matcher.take({0, 0, 0}), nullptr);
  EXPECT_EQ(matcher.receives(), 0u);
  EXPECT_EQ(matcher.messages(), 0u);
  Receive receive;
  EXPECT_EQ(matcher.post(receive, {0, kAnySource, 7}), nullptr);
  EXPECT_EQ(receive.wanted(), (Envelope{0, kAnySource, 7}));
  EXPECT_EQ(matcher.take({1, 0, 7}), nullptr) << "another context";
  EXPECT_EQ(matcher.take({0, 0, 7}), &receive);
  EXPECT_EQ(matcher.take({0, 0, 7}), nullptr) << "it was taken";
}

// With 100,000 of other envelopes waiting the work is the same: the table grew with them.
// Of what waits, and of what does not any more, is told.
TEST(Matcher, SaysWhoWaits) {
  Matcher matcher;
  Receive receive;
  Message message;
  EXPECT_FALSE(receive.waits() || message.waits());
  EXPECT_EQ(matcher.post(receive, {0, 1, 2}), nullptr);
  EXPECT_TRUE(receive.waits());
  matcher.cancel(receive);
  EXPECT_FALSE(receive.waits());
  EXPECT_EQ(matcher.arrive(message, {0, 1, 2}), nullptr);
  EXPECT_TRUE(message.waits());
  EXPECT_EQ(matcher.post(receive, {0, kAnySource, kAnyTag}), &message);
  EXPECT_FALSE(receive.waits() || message.waits());
  EXPECT_EQ(matcher.post(receive, {0, 1, 2}), nullptr);
  EXPECT_EQ(matcher.arrive(message, {0, 1, 2}), &receive);
  EXPECT_FALSE(receive.waits() || message.waits());
}

TEST(Matcher, FindsOneOfManyWithoutLookingAtTheOthers) {
  constexpr int kMany = 100000;
  Matcher matcher;
  std::deque<Receive> receives;
  for (int i = 0; i < kMany; ++i) {
    EXPECT_EQ(matcher.post(receives.emplace_back(), {0, i % 100, i}), nullptr);
  }
  EXPECT_EQ(matcher.waiting_receives().envelopes(), std::size_t{kMany});
  EXPECT_GE(matcher.waiting_receives().chains(), std::size_t{kMany});
  std::deque<Message> messages;
  for (int i = kMany - 1; i >= 0; --i) {
    ASSERT_EQ(matcher.arrive(messages.emplace_back(), {0, i % 100, i}),
              &receives[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(matcher.receives(), 0u);
  EXPECT_EQ(matcher.waiting_receives().envelopes(), 0u);
  for (int i = 0; i < kMany; ++i) {
    EXPECT_EQ(matcher.arrive(messages[static_cast<std::size_t>(i)], {0, i % 100, i}), nullptr);
  }
  EXPECT_GE(matcher.waiting_messages().chains(), std::size_t{kMany});
  for (int i = kMany - 1; i >= 0; --i) {
    ASSERT_EQ(matcher.post(receives[static_cast<std::size_t>(i)], {0, kAnySource, i}),
              &messages[static_cast<std::size_t>(i)]);
  }
}

}  // namespace
}  // namespace mad
