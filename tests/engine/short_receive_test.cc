// The short way of receives: what it takes, where it stood first, and what it leaves to the
// receives that are posted.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/node.h"
#include "tests/engine/short_messages.h"
#include "tests/support/bytes.h"
#include "tests/support/random_type.h"

namespace mad::test {
namespace {

class ShortReceive : public ShortMessages {
 protected:
  using ShortMessages::ShortMessages;
  void SetUp() override { exchange(a, to_b); }
  void TearDown() override { close_together({&a, &b}); }
};

TEST_F(ShortReceive, TakesTheNextMessage) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{4000}}) {
    const Bytes out = pattern(bytes, 3);
    Bytes in(bytes + 10, std::byte{0xee});
    send(7, out);
    for (const mad_envelope& other :
         {envelope(5, 6), envelope(4, 7), mad_envelope{5, 7, kContext + 1}}) {
      EXPECT_EQ(receive(other, &in), MAD_NOT_NOW);
    }
    ASSERT_EQ(receive(envelope(5, 7), &in), MAD_SUCCESS);
    EXPECT_EQ(arrival.sent, bytes);
    EXPECT_EQ(arrival.received, bytes);
    EXPECT_EQ(arrival.envelope.source, 5);
    EXPECT_EQ(arrival.envelope.tag, 7);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
    EXPECT_EQ(in[bytes], std::byte{0xee});
    EXPECT_EQ(receive(envelope(5, 7), &in), MAD_NOT_NOW) << "it was the only one";
  }
  EXPECT_EQ(b.counters().unexpected_bytes, 0u);
}

TEST_F(ShortReceive, MayWantAnySourceOrTagOfAPeer) {
  Bytes in(8);
  for (const mad_envelope& any : {envelope(MAD_ANY_SOURCE, 7), envelope(5, MAD_ANY_TAG),
                                  envelope(MAD_ANY_SOURCE, MAD_ANY_TAG)}) {
    send(7, pattern(8, 1));
    ASSERT_EQ(receive(any, &in), MAD_SUCCESS);
    EXPECT_EQ(in, pattern(8, 1));
    EXPECT_EQ(arrival.envelope.source, 5);
    EXPECT_EQ(arrival.envelope.tag, 7);
  }
}

TEST_F(ShortReceive, MayBeOfAnyPeer) {
  Node c("shm");
  mad_peer* const c_to_b = c.peer(b);
  Bytes in(8);
  Operation received, sent;
  b.receive_tagged(envelope(0, 999), in.data(), 1, nullptr, MAD_PATH_AUTO, &received);
  c.send_tagged(c_to_b, envelope(0, 999), "x", 1, nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(progress_until({&b, &c}, [&] { return received.done && sent.done; }));
  const mad_envelope any = envelope(MAD_ANY_SOURCE, 7), sixth = envelope(6, 7);
  const auto receive_any = [&](const mad_envelope& wanted, std::uint32_t how) {
    return mad_tagged_receive_short(b.engine(), nullptr, &wanted, in.data(), 8, nullptr, how,
                                    &arrival);
  };
  EXPECT_EQ(receive_any(any, 0), MAD_NOT_NOW);
  EXPECT_EQ(receive_any(any, MAD_WAITS), MAD_NOT_NOW);
  for (int i = 0; i < 2; ++i) {
    Operation from_c;
    c.send_tagged(c_to_b, envelope(6, 7), pattern(8, 2).data(), 8, nullptr, MAD_PATH_AUTO, &from_c);
    ASSERT_TRUE(from_c.done);
    ASSERT_EQ(receive_any(i == 0 ? any : sixth, MAD_WAITS), MAD_SUCCESS);
    EXPECT_EQ(in, pattern(8, 2));
    EXPECT_EQ(arrival.envelope.source, 6);
    send(7, pattern(8, 1));
    ASSERT_EQ(receive_any(any, MAD_WAITS), MAD_SUCCESS);
    EXPECT_EQ(in, pattern(8, 1));
    EXPECT_EQ(arrival.envelope.source, 5);
  }
  send(8, pattern(8, 3));
  EXPECT_EQ(receive_any(any, MAD_WAITS), MAD_NOT_NOW) << "another tag comes first";
  EXPECT_EQ(receive_posted(8, 8), pattern(8, 3));
  send(7, pattern(8, 4));
  Bytes posted(8);
  Operation first;
  b.receive_tagged(any, posted.data(), 8, nullptr, MAD_PATH_AUTO, &first);
  EXPECT_EQ(receive_any(any, MAD_WAITS), MAD_NOT_NOW) << "one that was posted goes before";
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return first.done; }));
  EXPECT_EQ(posted, pattern(8, 4));
  EXPECT_EQ(b.counters().waiting_messages, 0u);
}

TEST_F(ShortReceive, MayLookForSomewhatLonger) {
  Bytes in(8);
  const mad_envelope wanted = envelope(5, 7);
  EXPECT_EQ(mad_tagged_receive_short(b.engine(), from_a, &wanted, in.data(), 8, nullptr, MAD_WAITS,
                                     &arrival),
            MAD_NOT_NOW);
  send(7, pattern(8, 1));
  ASSERT_EQ(mad_tagged_receive_short(b.engine(), from_a, &wanted, in.data(), 8, nullptr, MAD_WAITS,
                                     &arrival),
            MAD_SUCCESS);
  EXPECT_EQ(in, pattern(8, 1));
}

TEST_F(ShortReceive, IsBehindThosePosted) {
  Bytes first(8), any(8), second(8);
  Operation exact, wild;
  b.receive_tagged(envelope(5, 7), first.data(), 8, nullptr, MAD_PATH_AUTO, &exact);
  b.receive_tagged(envelope(MAD_ANY_SOURCE, 7), any.data(), 8, nullptr, MAD_PATH_AUTO, &wild);
  for (unsigned i = 0; i < 3; ++i) send(7, pattern(8, i));
  EXPECT_EQ(receive(envelope(5, 7), &second), MAD_NOT_NOW);
  EXPECT_FALSE(exact.done);
  ASSERT_TRUE(progress_until({&b}, [&] { return exact.done && wild.done; }));
  const int taken = receive(envelope(5, 7), &second);
  if (taken == MAD_NOT_NOW) second = receive_posted(7, 8);  // it was taken with the others
  EXPECT_EQ(first, pattern(8, 0));
  EXPECT_EQ(any, pattern(8, 1));
  EXPECT_EQ(second, pattern(8, 2));
}

TEST_F(ShortReceive, GoesPastReceivesOfOthers) {
  Bytes other(8), in(8);
  Operation waits, of_another;
  b.receive_tagged(envelope(5, 8), other.data(), 8, nullptr, MAD_PATH_AUTO, &waits);
  b.receive_tagged(envelope(4, MAD_ANY_TAG), other.data(), 8, nullptr, MAD_PATH_AUTO, &of_another);
  send(7, pattern(8, 1));
  ASSERT_EQ(receive(envelope(5, 7), &in), MAD_SUCCESS);
  EXPECT_EQ(in, pattern(8, 1));
  EXPECT_FALSE(waits.done);
  send(8, pattern(8, 2));
  ASSERT_TRUE(progress_until({&b}, [&] { return waits.done; }));
  EXPECT_EQ(other, pattern(8, 2));
  EXPECT_EQ(mad_tagged_cancel(b.engine(), of_another.receive), MAD_SUCCESS);
}

TEST_F(ShortReceive, IsBehindAMessageThatWasKept) {
  Bytes in(8);
  mad_arrival kept;
  const mad_envelope wanted = envelope(5, 7);
  send(7, pattern(8, 1));
  ASSERT_TRUE(progress_until(
      {&b}, [&] { return mad_tagged_probe(b.engine(), &wanted, &kept) == MAD_SUCCESS; }));
  send(7, pattern(8, 2));
  EXPECT_EQ(receive(wanted, &in), MAD_NOT_NOW);
  EXPECT_EQ(receive_posted(7, 8), pattern(8, 1));
  if (receive(wanted, &in) == MAD_NOT_NOW) in = receive_posted(7, 8);
  EXPECT_EQ(in, pattern(8, 2));
}

TEST_F(ShortReceive, LeavesWhatHasToBeLookedAt) {
  const std::uint64_t note[2] = {1, 2};
  const mad_extension noted{note, nullptr, 0}, with_both{note, "abc", 3};
  Bytes in(8), shorter(7);
  send(1, pattern(8, 1), 3);
  EXPECT_EQ(receive(envelope(5, 1), &in), MAD_NOT_NOW) << "flags";
  EXPECT_EQ(receive_posted(1, 8), pattern(8, 1));
  for (const mad_extension* const extension : {&noted, &with_both}) {
    send(2, pattern(8, 2), 0, extension);
    EXPECT_EQ(receive(envelope(5, 2), &in), MAD_NOT_NOW) << "something travelled along";
    EXPECT_EQ(receive_posted(2, 8), pattern(8, 2));
  }
  send(3, pattern(8, 3));
  EXPECT_EQ(receive(envelope(5, 3), &shorter), MAD_NOT_NOW) << "too long";
  EXPECT_EQ(receive_posted(3, 8), pattern(8, 3));
}

TEST_F(ShortReceive, TellsTheValueThatCameAlong) {
  Bytes in(8);
  for (const std::string value : {"abc", "longer than that", "d"}) {
    const mad_extension extension{nullptr, value.data(), value.size()};
    send(1, pattern(8, 1), 0, &extension);
    ASSERT_EQ(receive(envelope(5, 1), &in), MAD_SUCCESS);
    EXPECT_EQ(in, pattern(8, 1));
    EXPECT_EQ(std::string(static_cast<const char*>(arrival.value), arrival.value_bytes), value);
    send(1, pattern(8, 2));
    EXPECT_EQ(std::string(static_cast<const char*>(arrival.value), arrival.value_bytes), value)
        << "it is there until the next call of the receiver's engine";
    ASSERT_EQ(receive(envelope(5, 1), &in), MAD_SUCCESS);
    EXPECT_EQ(arrival.value_bytes, 0u);
  }
}

TEST_F(ShortReceive, MayWantAsMuchAsItHasRoomFor) {
  const Bytes out = pattern(8, 1);
  Bytes in(8), longer(9);
  send(1, out);
  EXPECT_EQ(receive(envelope(5, 1), &longer, nullptr, 1, MAD_WHOLE), MAD_NOT_NOW);
  ASSERT_EQ(receive(envelope(5, 1), &in, nullptr, 1, MAD_WHOLE), MAD_SUCCESS);
  EXPECT_EQ(in, out);
}

TEST_F(ShortReceive, PlacesWholeLayouts) {
  const TypeHandle type = blocks(4, 3, 5);
  const Bytes out = pattern(12, 1);
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{2}}) {
    Bytes in(40, std::byte{0xee});
    send(7, out);
    if (count == 2) {
      EXPECT_EQ(receive(envelope(5, 7), &in, type.get(), count), MAD_NOT_NOW) << "half of it";
      EXPECT_EQ(receive_posted(7, 12), out);
      continue;
    }
    ASSERT_EQ(receive(envelope(5, 7), &in, type.get(), count), MAD_SUCCESS);
    for (std::size_t i = 0; i < 18; ++i) {
      const std::byte should = i % 5 < 3 ? out[i / 5 * 3 + i % 5] : std::byte{0xee};
      EXPECT_EQ(in[i], should) << i;
    }
  }
}

// Other peers, and what else a turn of progress does, are not forgotten.
TEST_F(ShortReceive, LetsProgressComeFirstNowAndThen) {
  constexpr int kMessages = 40;
  for (int i = 0; i < kMessages; ++i) send(i, pattern(8, static_cast<unsigned>(i)));
  int taken = 0;
  Bytes in(8);
  while (taken < kMessages && receive(envelope(5, taken), &in) == MAD_SUCCESS) {
    EXPECT_EQ(in, pattern(8, static_cast<unsigned>(taken)));
    ++taken;
  }
  EXPECT_GT(taken, 1);
  EXPECT_LT(taken, kMessages);
  for (int i = taken; i < kMessages; ++i) {
    EXPECT_EQ(receive_posted(i, 8), pattern(8, static_cast<unsigned>(i)));
  }
}

TEST_F(ShortReceive, ReadsWhatIsOffered) {
  for (const std::size_t bytes : {std::size_t{16384}, std::size_t{300000}}) {
    int taken = 0;
    for (unsigned i = 0; i < 40; ++i) {
      const Bytes out = pattern(bytes, i);
      Bytes in(bytes);
      Operation sent;
      a.send_tagged(to_b, envelope(5, 7), out.data(), bytes, nullptr, MAD_PATH_AUTO, &sent);
      if (receive(envelope(5, 7), &in) == MAD_SUCCESS) {
        ++taken;
        EXPECT_EQ(arrival.received, bytes);
      } else {
        in = receive_posted(7, bytes);
      }
      ASSERT_EQ(in, out) << i;
      ASSERT_TRUE(progress_until({&a, &b}, [&] { return sent.done; }));
      EXPECT_EQ(sent.status, MAD_SUCCESS);
    }
    EXPECT_GT(taken, 0) << bytes;
  }
}

// Whoever receives, each message goes where a list of all of them says.
TEST_F(ShortReceive, KeepsTheOrderOfRandomPrograms) {
  constexpr int kRounds = 300;
  std::mt19937 random(static_cast<unsigned>(seed_from_environment(20261127)));
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::size_t> lengths;
    std::vector<Bytes> sent_bytes;
    std::deque<Operation> sent;
    const int messages = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < messages; ++i) {
      lengths.push_back(random() % 4 == 0 ? 20000 + random() % 50000 : random() % 300);
      sent_bytes.push_back(pattern(lengths.back(), random()));
      a.send_tagged(to_b, envelope(5, 7), sent_bytes.back().data(), lengths.back(), nullptr,
                    MAD_PATH_AUTO, &sent.emplace_back());
    }
    for (int i = 0; i < messages; ++i) {
      const auto place = static_cast<std::size_t>(i);
      if (random() % 4 == 0) (void)b.progress();
      Bytes in(lengths[place]);
      const bool short_way = random() % 3 != 0;
      if (!short_way || receive(envelope(5, 7), &in) != MAD_SUCCESS) {
        in = receive_posted(7, lengths[place]);
      }
      ASSERT_EQ(in, sent_bytes[place]) << "round " << round << ", message " << i;
    }
    ASSERT_TRUE(progress_until({&a, &b}, [&] {
      return std::all_of(sent.begin(), sent.end(), [](const Operation& each) { return each.done; });
    }));
  }
}

TEST_F(ShortReceive, SaysNothingOfWhatIsWrong) {
  const mad_envelope wanted = envelope(5, 7), bad_source = envelope(-2, 7),
                     bad_tag = envelope(5, -2);
  char in[8];
  EXPECT_EQ(mad_tagged_receive_short(nullptr, from_a, &wanted, in, 8, nullptr, 0, &arrival),
            MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_receive_short(a.engine(), from_a, &wanted, in, 8, nullptr, 0, &arrival),
            MAD_NOT_NOW)
      << "a peer of another engine's";
  EXPECT_EQ(mad_tagged_receive_short(b.engine(), from_a, nullptr, in, 8, nullptr, 0, &arrival),
            MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_receive_short(b.engine(), from_a, &wanted, nullptr, 8, nullptr, 0, &arrival),
            MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_receive_short(b.engine(), from_a, &wanted, in, 8, nullptr, 0, nullptr),
            MAD_NOT_NOW);
  for (const mad_envelope* const bad : {&bad_source, &bad_tag}) {
    EXPECT_EQ(mad_tagged_receive_short(b.engine(), from_a, bad, in, 8, nullptr, 0, &arrival),
              MAD_NOT_NOW);
  }
}

// What is found there may be the very message that the callback tells of.
TEST_F(ShortReceive, GetsNothingInsideACallback) {
  struct Tried {
    mad_engine* engine;
    mad_peer* from;
    int result = MAD_SUCCESS;
  } tried{b.engine(), from_a};
  b.on_arrival = [&](const Arrival&) {
    Bytes in(8);
    mad_arrival told{};
    const mad_envelope wanted = envelope(5, 7);
    tried.result = mad_tagged_receive_short(tried.engine, tried.from, &wanted, in.data(), 8,
                                            nullptr, 0, &told);
  };
  Operation sent;
  a.send(to_b, "header", nullptr, 0, nullptr, MAD_PATH_AUTO, &sent);
  send(7, pattern(8, 1));
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return tried.result != MAD_SUCCESS; }));
  EXPECT_EQ(tried.result, MAD_NOT_NOW);
  EXPECT_EQ(receive_posted(7, 8), pattern(8, 1));
}

TEST_F(ShortReceive, GetsNothingFromOneThatIsGone) {
  Bytes in(8);
  a.close();
  ASSERT_TRUE(progress_until({&b}, [&] { return !b.departures.empty(); }));
  EXPECT_EQ(receive(envelope(5, 7), &in), MAD_NOT_NOW);
}

/// Where packets cannot be looked at before they are polled.
class ShortReceiveElsewhere : public ShortReceive {
 protected:
  ShortReceiveElsewhere() : ShortReceive("tcp") {}
};

TEST_F(ShortReceiveElsewhere, LeavesAllToThosePosted) {
  Bytes in(8);
  send(7, pattern(8, 1));
  EXPECT_EQ(receive(envelope(5, 7), &in), MAD_NOT_NOW);
  EXPECT_EQ(receive_posted(7, 8), pattern(8, 1));
}

}  // namespace
}  // namespace mad::test
