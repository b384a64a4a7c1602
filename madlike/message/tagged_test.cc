// Tagged messages: short ones have a frame of their own, those that are all here may be taken at
// once, and those whose sender waits for it are answered when they were taken.
#include <gtest/gtest.h>

#include "madlike/message/pair.h"
#include "madlike/message/raw_peer.h"

namespace mad {
namespace {

std::string header_of(const TaggedHeader& header) {
  std::string out(bytes_of(header), ' ');
  encode_tagged_header(header, reinterpret_cast<std::byte*>(out.data()));
  return out;
}

const TaggedHeader kHeader{{7, 3, 99}, 2};
const TaggedHeader kNoted{{7, 3, 99}, 2, true, {4711, 99}};

TaggedHeader with_value(TaggedHeader header, std::string& value) {
  header.value = {value.data(), value.size()};
  return header;
}
std::string text_of(Segment bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size};
}
constexpr std::size_t kShortFrameBytes = short_frame_bytes(kTaggedHeaderBytes);

LoopbackOptions lending(std::size_t bytes) {
  LoopbackOptions options;
  options.lent_bytes = bytes;
  options.remote_write = bytes == 0;
  return options;
}

/// Where the fabric lends pieces of so many bytes; 0: none.
class Tagged : public ::testing::TestWithParam<std::size_t> {
 protected:
  explicit Tagged(const MessengerConfig& config = {}) : p_(lending(GetParam()), config) {
    p_.b.on_arrival = [](Arrived&) {};
  }
  std::uint64_t bytes_sent() const { return p_.a.messenger->counters().drivers[0].bytes_sent; }
  Sent& send(Bytes payload, const TaggedHeader& header = kHeader) {
    return p_.a.send(p_.to_b, kTaggedHandler, std::move(payload), header_of(header));
  }

  Pair p_;
};

TEST_P(Tagged, OfOneRunThatIsAllSentTravelBehindSixteenBytes) {
  for (const std::size_t bytes : {0, 1, 8, 100, 1000, 20000}) {
    const std::uint64_t before = bytes_sent();
    send(pattern(bytes));
    settle(p_.a, p_.b);
    EXPECT_EQ(bytes_sent() - before, kShortFrameBytes + bytes) << bytes;
    ASSERT_FALSE(p_.b.arrived.empty());
    Arrived& arrived = p_.b.arrived.back();
    EXPECT_EQ(arrived.header, header_of(kHeader));
    EXPECT_EQ(arrived.payload_bytes, bytes);
    ASSERT_NE(arrived.message, nullptr) << "they wait, also without payload";
    p_.b.accept(arrived);
    settle(p_.a, p_.b);
    EXPECT_EQ(arrived.done, 1);
    EXPECT_EQ(arrived.sink->bytes, pattern(bytes));
  }
  EXPECT_TRUE(p_.a.all_sent());
}

TEST_P(Tagged, TakeTheirNotesAlongInSixteenBytesMore) {
  for (const std::size_t bytes : {0, 1, 1000, 20000, 2 << 20}) {
    const std::uint64_t before = bytes_sent();
    send(pattern(bytes), kNoted);
    settle(p_.a, p_.b);
    if (bytes <= 20000) {
      EXPECT_EQ(bytes_sent() - before, kShortFrameBytes + 16 + bytes) << bytes;
    }
    ASSERT_FALSE(p_.b.arrived.empty());
    Arrived& arrived = p_.b.arrived.back();
    TaggedHeader read;
    ASSERT_TRUE(decode_tagged_header({arrived.header.data(), arrived.header.size()}, &read));
    EXPECT_TRUE(read.noted);
    EXPECT_EQ(read.envelope, kNoted.envelope);
    EXPECT_EQ(read.note, kNoted.note);
    p_.b.accept(arrived);
    settle(p_.a, p_.b);
    EXPECT_EQ(arrived.sink->bytes, pattern(bytes));
  }
}

TEST_P(Tagged, AreTakenWithTheirNotes) {
  int taken = 0;
  p_.b.on_take = [&](const TaggedHeader& header, Segment payload) {
    EXPECT_EQ(header.noted, taken == 0);
    if (header.noted) {
      EXPECT_EQ(header.note, kNoted.note);
    }
    EXPECT_EQ(payload.size, 100u);
    ++taken;
    return true;
  };
  send(pattern(100), kNoted);
  send(pattern(100));
  settle(p_.a, p_.b);
  EXPECT_EQ(taken, 2);
}

// Whatever frame they have, and whether somebody waits for them or not.
TEST_P(Tagged, TakeTheirValuesAlong) {
  for (const std::size_t length : {1, 8, 256}) {
    if (GetParam() == 300 && length == 256) continue;  // no piece has them and a long frame
    std::string value(length, 'v');
    value.back() = 'e';
    for (const TaggedHeader& bare : {kHeader, kNoted}) {
      const TaggedHeader header = with_value(bare, value);
      for (const std::size_t bytes : {0, 1, 1000, 20000, 2 << 20}) {
        const std::uint64_t before = bytes_sent();
        send(pattern(bytes), header);
        settle(p_.a, p_.b);
        if (bytes <= 20000) {
          EXPECT_EQ(bytes_sent() - before, bytes_of(header) + bytes) << bytes;
        }
        ASSERT_FALSE(p_.b.arrived.empty());
        Arrived& arrived = p_.b.arrived.back();
        TaggedHeader read;
        ASSERT_TRUE(decode_tagged_header({arrived.header.data(), arrived.header.size()}, &read));
        EXPECT_EQ(read.envelope, header.envelope);
        EXPECT_EQ(read.noted, header.noted);
        EXPECT_EQ(text_of(read.value), value);
        p_.b.accept(arrived);
        settle(p_.a, p_.b);
        EXPECT_EQ(arrived.sink->bytes, pattern(bytes));
      }
    }
  }
}

TEST_P(Tagged, AreTakenWithTheirValues) {
  std::string value = "carried";
  int taken = 0;
  p_.b.on_take = [&](const TaggedHeader& header, Segment payload) {
    EXPECT_EQ(text_of(header.value), taken == 0 ? value : "");
    EXPECT_EQ(payload.size, 100u);
    ++taken;
    return true;
  };
  send(pattern(100), with_value(kHeader, value));
  send(pattern(100));
  settle(p_.a, p_.b);
  EXPECT_EQ(taken, 2);
}

// A source that gives a few bytes at a time.
TEST_P(Tagged, AreFilledUpInAnyCase) {
  p_.a.fill_step = 7;
  p_.a.reference_from = 1 << 20;
  send(pattern(1000));
  settle(p_.a, p_.b);
  ASSERT_EQ(p_.b.arrived.size(), 1u);
  p_.b.accept(p_.b.arrived[0]);
  EXPECT_EQ(p_.b.arrived[0].sink->bytes, pattern(1000));
}

TEST_P(Tagged, ThatAreNotAllSentHaveTheLongFrame) {
  const std::size_t bytes = 2 << 20;
  send(pattern(bytes));
  settle(p_.a, p_.b);
  ASSERT_EQ(p_.b.arrived.size(), 1u);
  EXPECT_EQ(p_.b.arrived[0].header, header_of(kHeader));
  p_.b.accept(p_.b.arrived[0]);
  settle(p_.a, p_.b);
  EXPECT_EQ(p_.b.arrived[0].sink->bytes, pattern(bytes));
  EXPECT_TRUE(p_.a.all_sent());
}

TEST_P(Tagged, ThatAreAllHereMayBeTakenAtOnce) {
  std::vector<std::string> taken;
  p_.b.on_take = [&](const TaggedHeader& header, Segment payload) {
    EXPECT_EQ(header_of(header), header_of(kHeader));
    taken.emplace_back(static_cast<const char*>(payload.data), payload.size);
    return true;
  };
  for (const std::size_t bytes : {0, 5, 200}) {
    send(pattern(bytes));
    settle(p_.a, p_.b);
    ASSERT_FALSE(taken.empty());
    const Bytes sent = pattern(bytes);
    EXPECT_EQ(taken.back(), std::string(reinterpret_cast<const char*>(sent.data()), sent.size()));
  }
  EXPECT_EQ(taken.size(), 3u);
  EXPECT_TRUE(p_.b.arrived.empty());
  p_.a.send(p_.to_b, 1, pattern(8), header_of(kHeader));
  settle(p_.a, p_.b);
  EXPECT_EQ(taken.size(), 3u) << "of another handler";
  EXPECT_EQ(p_.b.arrived.size(), 1u);
}

// More of them than there is credit for at once.
TEST_P(Tagged, ThatAreTakenGiveTheirCreditBack) {
  std::size_t taken = 0;
  p_.b.on_take = [&](const TaggedHeader&, Segment) { return ++taken > 0; };
  for (int i = 0; i < 2000; ++i) {
    send(pattern(200));
    settle(p_.a, p_.b, [&] { return p_.a.all_sent(); });
  }
  settle(p_.a, p_.b);
  EXPECT_EQ(taken, 2000u);
  EXPECT_TRUE(p_.b.arrived.empty());
}

// What comes in pieces is not all here.
TEST(TaggedInPieces, AreNotTakenAtOnce) {
  Pair p(lending(300));
  p.b.on_arrival = [](Arrived&) {};
  p.b.on_take = [](const TaggedHeader&, Segment) { return true; };
  p.a.send(p.to_b, kTaggedHandler, pattern(1000), header_of(kHeader));
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 1u);
  p.b.accept(p.b.arrived[0]);
  EXPECT_EQ(p.b.arrived[0].sink->bytes, pattern(1000));
}

TEST_P(Tagged, AnsweredOnesAreCompleteWhenTheyWereTaken) {
  p_.a.answered = true;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{5}, std::size_t{2 << 20}}) {
    for (const bool accepted : {true, false}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, accepted " << accepted);
      Sent& sent = send(pattern(bytes));
      settle(p_.a, p_.b);
      EXPECT_EQ(sent.done, 0);
      EXPECT_FALSE(p_.a.messenger->idle());
      Arrived& arrived = p_.b.arrived.back();
      accepted ? p_.b.accept(arrived) : p_.b.discard(arrived);
      settle(p_.a, p_.b);
      EXPECT_EQ(sent.done, 1);
      EXPECT_TRUE(sent.status.ok());
      EXPECT_TRUE(p_.a.messenger->idle());
      if (accepted) {
        EXPECT_EQ(arrived.sink->bytes, pattern(bytes));
      }
    }
  }
}

TEST_P(Tagged, AnsweredOnesAreNotTakenOnTheSly) {
  p_.a.answered = true;
  p_.b.on_take = [&](const TaggedHeader&, Segment) {
    ADD_FAILURE() << "nobody would answer";
    return false;
  };
  send(pattern(8));
  settle(p_.a, p_.b);
  EXPECT_EQ(p_.b.arrived.size(), 1u);
}

TEST_P(Tagged, AnsweredOnesFailWithTheirReceiver) {
  p_.a.answered = true;
  Sent& sent = send(pattern(5));
  settle(p_.a, p_.b);
  p_.b.messenger.reset();
  for (int i = 0; i < 10; ++i) (void)p_.a.messenger->progress();
  EXPECT_EQ(sent.done, 1);
  EXPECT_EQ(sent.status.code(), StatusCode::kPeerFailed);
}

INSTANTIATE_TEST_SUITE_P(Links, Tagged, ::testing::Values(0, 300, 16 * 1024));

class TaggedWithSums : public Tagged {
 protected:
  TaggedWithSums() : Tagged(summed()) {}
  static MessengerConfig summed() {
    MessengerConfig config;
    config.checksum = true;
    return config;
  }
};

TEST_P(TaggedWithSums, HaveTheLongFrameAndAreNotTakenUnseen) {
  p_.b.on_take = [&](const TaggedHeader&, Segment) { return true; };
  send(pattern(100));
  settle(p_.a, p_.b);
  ASSERT_EQ(p_.b.arrived.size(), 1u);
  p_.b.accept(p_.b.arrived[0]);
  EXPECT_EQ(p_.b.arrived[0].sink->bytes, pattern(100));
  EXPECT_EQ(p_.b.messenger->counters().checked_bytes, 100u);
}

INSTANTIATE_TEST_SUITE_P(Links, TaggedWithSums, ::testing::Values(0, 300));

Bytes short_frame(const TaggedHeader& header, std::uint32_t credit, std::size_t payload) {
  std::string encoded = header_of(header);
  Bytes packet(short_frame_bytes(encoded.size()) + payload);
  encode_short_frame({encoded.data(), encoded.size()}, credit, packet.data());
  return packet;
}

TEST_F(Hostile, ShortFramesThatAreRightAreServed) {
  raw_.hello();
  raw_.post(short_frame(kHeader, 0, 5));
  raw_.post(short_frame(kHeader, 0, 0));
  raw_.post(short_frame(kNoted, 0, 5));
  ASSERT_EQ(victim_.arrived.size(), 3u);
  expect_alive();
}

TEST_F(Hostile, ShortFramesBeforeHello) {
  raw_.post(short_frame(kHeader, 0, 5));
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, ShortFramesThatEndInTheirNotes) {
  raw_.hello();
  Bytes packet = short_frame(kNoted, 0, 0);
  packet.pop_back();
  raw_.post(packet);
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, ShortFramesWithValuesThatAreRight) {
  std::string value(100, 'v');
  raw_.hello();
  raw_.post(short_frame(with_value(kHeader, value), 0, 5));
  raw_.post(short_frame(with_value(kNoted, value), 0, 0));
  ASSERT_EQ(victim_.arrived.size(), 2u);
  expect_alive();
}

TEST_F(Hostile, ShortFramesThatEndInTheirValues) {
  std::string value(100, 'v');
  raw_.hello();
  Bytes packet = short_frame(with_value(kNoted, value), 0, 0);
  packet.resize(packet.size() - 8);
  raw_.post(packet);
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, ValuesWithMoreThanZerosBehindThem) {
  std::string value(100, 'v');
  raw_.hello();
  Bytes packet = short_frame(with_value(kHeader, value), 0, 0);
  packet.back() = std::byte{1};
  raw_.post(packet);
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, TaggedMessagesOfNobody) {
  raw_.hello();
  raw_.post(short_frame({{7, -1, 99}, 0}, 0, 5));
  expect_end(StatusCode::kProtocol);
  EXPECT_TRUE(victim_.arrived.empty());
}

TEST_F(Hostile, TaggedMessagesOfAnyTag) {
  raw_.hello();
  raw_.post(short_frame({{7, 3, -1}, 0}, 0, 5));
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, ShortFramesWithMoreCreditThanTheyGot) {
  raw_.hello();
  raw_.post(short_frame(kHeader, 1, 5));
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, ShortFramesWithoutCredit) {
  raw_.hello();
  raw_.post(short_frame(kHeader, 0, 5001));
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, TaggedMessagesWithAnotherHeader) {
  raw_.hello();
  Frame frame = frame_of(FrameKind::kMessage);
  frame.handler = kTaggedHandler;
  frame.header_bytes = kTaggedHeaderBytes;
  raw_.post(frame, Bytes(16));
  expect_end(StatusCode::kProtocol);
}

}  // namespace
}  // namespace mad
