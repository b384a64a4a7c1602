// Probes that also look at the next message of a peer, which stays where it arrived.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/engine/short_messages.h"
#include "tests/support/bytes.h"

namespace mad::test {
namespace {

class ProbeNext : public ShortMessages {
 protected:
  void SetUp() override {
    exchange(c, c.peer(b));  // so it is looked at first
    exchange(a, to_b);
  }
  void TearDown() override { close_together({&a, &b, &c}); }

  int probe(mad_peer* from, const mad_envelope& wanted, std::uint32_t how = MAD_WAITS) {
    arrival = {};
    return mad_tagged_probe_next(b.engine(), from, &wanted, how, &arrival);
  }

  Node c{"shm"};
};

TEST_F(ProbeNext, ShowsTheNextMessageWhichIsReceivedWhereItArrived) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{4000}}) {
    const Bytes out = pattern(bytes, 3);
    Bytes in(bytes);
    EXPECT_EQ(probe(from_a, envelope(5, 7)), MAD_NOT_NOW);
    send(7, out);
    for (mad_peer* const from : {from_a, from_a, static_cast<mad_peer*>(nullptr)}) {
      ASSERT_EQ(probe(from, envelope(5, MAD_ANY_TAG)), MAD_SUCCESS);
      EXPECT_EQ(arrival.envelope.source, 5);
      EXPECT_EQ(arrival.envelope.tag, 7);
      EXPECT_EQ(arrival.sent, bytes);
    }
    ASSERT_EQ(receive(envelope(5, 7), &in), MAD_SUCCESS);
    EXPECT_EQ(in, out);
    EXPECT_EQ(probe(from_a, envelope(5, 7)), MAD_NOT_NOW) << "it was the only one";
  }
  EXPECT_EQ(b.counters().unexpected_bytes, 0u);
}

TEST_F(ProbeNext, ShowsWhatIsOffered) {
  const std::size_t bytes = 300000;
  const Bytes out = pattern(bytes, 1);
  Operation sent;
  a.send_tagged(to_b, envelope(5, 7), out.data(), bytes, nullptr, MAD_PATH_AUTO, &sent);
  EXPECT_TRUE(progress_until({&a}, [&] { return probe(from_a, envelope(5, 7)) == MAD_SUCCESS; }));
  EXPECT_EQ(arrival.sent, bytes);
  EXPECT_EQ(receive_posted(7, bytes), out);
  EXPECT_TRUE(progress_until({&a, &b}, [&] { return sent.done; }));
}

TEST_F(ProbeNext, IsBehindReceivesThatWerePosted) {
  Bytes in(8);
  Operation first;
  b.receive_tagged(envelope(5, 7), in.data(), 8, nullptr, MAD_PATH_AUTO, &first);
  send(7, pattern(8, 1));
  EXPECT_EQ(probe(from_a, envelope(5, 7)), MAD_NOT_NOW);
  EXPECT_FALSE(first.done);
  ASSERT_TRUE(progress_until({&b}, [&] { return first.done; }));
  EXPECT_EQ(in, pattern(8, 1));
}

TEST_F(ProbeNext, ShowsTheFirstOfThoseThatMatch) {
  send(7, pattern(3, 1));
  send(7, pattern(5, 2));
  b.progress();  // both are kept
  send(7, pattern(6, 3));
  for (unsigned i = 0; i < 3; ++i) {
    const std::size_t bytes = i == 0 ? 3 : 4 + i;
    ASSERT_EQ(probe(from_a, envelope(5, 7)), MAD_SUCCESS);
    EXPECT_EQ(arrival.sent, bytes);
    EXPECT_EQ(receive_posted(7, bytes), pattern(bytes, i + 1));
  }
}

// Another peer's message, which does not match, may be found first.
TEST_F(ProbeNext, ShowsAgainWhatItShowed) {
  Bytes in(8);
  send(6, pattern(8, 2));
  ASSERT_EQ(receive(envelope(5, 6), &in), MAD_SUCCESS);  // a turn may leave out who was served
  send(7, pattern(8, 1));
  ASSERT_EQ(probe(nullptr, envelope(MAD_ANY_SOURCE, 7)), MAD_SUCCESS);
  for (int tag : {1, 2, 3}) {
    Operation sent;
    c.send_tagged(c.peer(b), envelope(6, tag), "x", 1, nullptr, MAD_PATH_AUTO, &sent);
    for (int again = 0; again < 40; ++again) {
      ASSERT_EQ(probe(nullptr, envelope(MAD_ANY_SOURCE, 7), 0), MAD_SUCCESS) << again;
      ASSERT_EQ(probe(from_a, envelope(5, 7), 0), MAD_SUCCESS) << again;
      EXPECT_EQ(arrival.envelope.source, 5);
    }
    EXPECT_EQ(probe(from_a, envelope(5, 8), 0), MAD_NOT_NOW);
  }
  EXPECT_EQ(receive_posted(7, 8), pattern(8, 1));
  for (int tag : {1, 2, 3}) {
    EXPECT_TRUE(progress_until({&b, &c},
                               [&] { return probe(nullptr, envelope(6, tag), 0) == MAD_SUCCESS; }));
  }
}

TEST_F(ProbeNext, WhatWasShownMayBeClaimed) {
  const mad_envelope wanted = envelope(5, 7);
  mad_message* message = nullptr;
  mad_receive* waits = nullptr;
  send(7, pattern(8, 1));
  ASSERT_EQ(probe(from_a, wanted), MAD_SUCCESS);
  ASSERT_EQ(mad_tagged_claim(b.engine(), &wanted, &arrival, &message), MAD_SUCCESS);
  EXPECT_EQ(arrival.sent, 8u);
  EXPECT_EQ(probe(from_a, wanted), MAD_NOT_NOW) << "it is claimed";
  Bytes in(8);
  mad_op slot{};
  EXPECT_EQ(mad_message_receive(b.engine(), message, in.data(), 8, nullptr, MAD_PATH_AUTO, &slot,
                                &waits, &arrival),
            MAD_SUCCESS);
  EXPECT_EQ(in, pattern(8, 1));
}

TEST_F(ProbeNext, TellsWhatTravelsAlong) {
  const std::uint64_t note[2] = {1, 2};
  const mad_extension extension{note, "abc", 3};
  send(7, pattern(8, 1), 5, &extension);
  EXPECT_TRUE(progress_until({&a}, [&] { return probe(from_a, envelope(5, 7)) == MAD_SUCCESS; }));
  EXPECT_EQ(arrival.flags, 5);
  EXPECT_TRUE(arrival.noted);
  EXPECT_EQ(arrival.note[1], 2u);
  EXPECT_EQ(std::string(static_cast<const char*>(arrival.value), arrival.value_bytes), "abc");
  EXPECT_EQ(receive_posted(7, 8), pattern(8, 1));
}

TEST_F(ProbeNext, IsChecked) {
  const mad_envelope any{MAD_ANY_SOURCE, MAD_ANY_TAG, kContext};
  EXPECT_EQ(mad_tagged_probe_next(nullptr, nullptr, &any, 0, &arrival), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_probe_next(b.engine(), nullptr, nullptr, 0, &arrival), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_probe_next(b.engine(), nullptr, &any, 0, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_probe_next(b.engine(), to_b, &any, 0, &arrival), MAD_ERR_ARGUMENT);
}

}  // namespace
}  // namespace mad::test
