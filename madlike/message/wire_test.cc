#include "madlike/message/wire.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mad {
namespace {

using Bytes = std::vector<std::byte>;

Bytes packet_of(Frame frame, std::size_t body) {
  frame.body_bytes = static_cast<std::uint32_t>(body);
  Bytes out(kFrameBytes + body);
  encode_frame(frame, out.data());
  return out;
}

StatusCode decoded(Bytes packet) {
  Frame frame;
  return decode_frame({packet.data(), packet.size()}, &frame).code();
}

Frame frame_of(FrameKind kind, std::uint32_t id = 0, std::uint64_t length = 0) {
  Frame frame;
  frame.kind = kind;
  frame.id = id;
  frame.length = length;
  return frame;
}

Frame clear_frame() {
  Frame frame = frame_of(FrameKind::kClear, 4, 100);
  frame.reply_id = 9;
  frame.offset = 40;
  return frame;
}

// One valid frame of each kind, with the bytes of its body.
struct Example {
  Frame frame;
  std::size_t body;
};
std::vector<Example> examples() {
  Frame message = frame_of(FrameKind::kMessage, 5, 1000);
  message.handler = 17;
  message.header_bytes = 13;
  message.credit = 4711;
  Frame window = clear_frame();
  window.window = true;
  Frame data = frame_of(FrameKind::kData, 3, 24);
  data.offset = std::uint64_t{1} << 40;
  return {{frame_of(FrameKind::kHello, 0, 1 << 18), 0},
          {frame_of(FrameKind::kHello, 0, 1 << 18), kMaxGreetingBytes},
          {message, 16 + 100},
          {clear_frame(), 0},
          {window, kWindowBytes},
          {data, 24},
          {frame_of(FrameKind::kPlaced, 3, 77), 0},
          {frame_of(FrameKind::kRefuse, 3), 0},
          {frame_of(FrameKind::kCredit), 0},
          {frame_of(FrameKind::kGoodbye), 0},
          {frame_of(FrameKind::kTaken, 3, 77), 0}};
}

// And nothing stays of what the frame was before.
TEST(Wire, EveryKindSurvivesTheTrip) {
  for (const Example& example : examples()) {
    Bytes packet = packet_of(example.frame, example.body);
    Frame out;
    out.window = out.offered = out.checked = out.answered = out.is_short = true;
    out.handler = 0xff;
    out.header_bytes = 0xffff;
    out.credit = out.id = out.reply_id = out.sum = out.body_bytes = 0xffffffff;
    out.offset = out.length = ~std::uint64_t{0};
    ASSERT_TRUE(decode_frame({packet.data(), packet.size()}, &out).ok())
        << static_cast<int>(example.frame.kind);
    EXPECT_EQ(out.kind, example.frame.kind);
    EXPECT_EQ(out.window, example.frame.window);
    EXPECT_EQ(out.offered, example.frame.offered);
    EXPECT_EQ(out.checked, example.frame.checked);
    EXPECT_EQ(out.answered, example.frame.answered);
    EXPECT_FALSE(out.is_short);
    EXPECT_EQ(out.handler, example.frame.handler);
    EXPECT_EQ(out.header_bytes, example.frame.header_bytes);
    EXPECT_EQ(out.credit, example.frame.credit);
    EXPECT_EQ(out.id, example.frame.id);
    EXPECT_EQ(out.reply_id, example.frame.reply_id);
    EXPECT_EQ(out.sum, example.frame.sum);
    EXPECT_EQ(out.body_bytes, example.body);
    EXPECT_EQ(out.offset, example.frame.offset);
    EXPECT_EQ(out.length, example.frame.length);
  }
}

TEST(Wire, FieldsStandWhereTheProtocolSays) {
  Frame f;
  f.kind = FrameKind::kClear;
  f.window = true;
  f.handler = 0x05;
  f.header_bytes = 0x0706;
  f.credit = 0x0b0a0908;
  f.id = 0x0f0e0d0c;
  f.reply_id = 0x13121110;
  f.body_bytes = 0x17161514;
  f.offset = 0x1f1e1d1c1b1a1918;
  f.length = 0x2726252423222120;
  std::array<std::byte, kFrameBytes> out;
  encode_frame(f, out.data());
  EXPECT_EQ(out[0], std::byte{0xAD});
  EXPECT_EQ(out[1], std::byte{6});
  EXPECT_EQ(out[2], std::byte{3});
  EXPECT_EQ(out[3], std::byte{1});
  EXPECT_EQ(out[4], std::byte{5});
  EXPECT_EQ(out[5], std::byte{0});
  for (std::size_t i = 6; i < kFrameBytes; ++i) EXPECT_EQ(out[i], static_cast<std::byte>(i)) << i;
}

TEST(Wire, AShortFrameHasTheSameBytesOnEveryMachine) {
  const unsigned char literal[] = {0xAE, 7, 0x34, 0x12, 4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9};
  Bytes packet;
  for (const unsigned char byte : literal) packet.push_back(std::byte{byte});
  TaggedHeader header;
  ASSERT_TRUE(decode_tagged_header({packet.data(), kTaggedHeaderBytes}, &header));
  EXPECT_EQ(header.flags, 7);
  EXPECT_EQ(header.envelope.context, 0x1234u);
  EXPECT_EQ(header.envelope.source, 0x01020304);
  EXPECT_EQ(header.envelope.tag, 0x05060708);
  EXPECT_EQ(short_frame_credit({packet.data(), packet.size()}), 0x090a0b0cu);
  Bytes again(packet.size());
  encode_tagged_header(header, again.data());
  encode_short_frame({again.data(), kTaggedHeaderBytes}, 0x090a0b0c, again.data());
  EXPECT_EQ(again, packet);
}

TEST(Wire, OnlyTheVersionDiffers) {
  Bytes packet = packet_of(frame_of(FrameKind::kGoodbye), 0);
  for (const std::byte version : {std::byte{1}, std::byte{5}, std::byte{7}}) {
    packet[1] = version;
    EXPECT_EQ(decoded(packet), StatusCode::kVersion);
  }
  for (const std::byte magic : {std::byte{0}, std::byte{0xAC}, std::byte{0xB2}}) {
    packet[0] = magic;
    EXPECT_EQ(decoded(packet), StatusCode::kProtocol);
  }
}

TEST(Wire, NoFrameAtAll) {
  EXPECT_EQ(decoded({}), StatusCode::kProtocol);
  Bytes cut = packet_of(frame_of(FrameKind::kGoodbye), 0);
  cut.pop_back();
  EXPECT_EQ(decoded(cut), StatusCode::kProtocol);
  for (int kind : {0, 9, 255}) {
    Bytes packet = packet_of(frame_of(FrameKind::kGoodbye), 0);
    packet[2] = static_cast<std::byte>(kind);
    EXPECT_EQ(decoded(packet), StatusCode::kProtocol) << kind;
  }
}

TEST(Wire, LengthsMustFitThePacket) {
  for (const Example& example : examples()) {
    Bytes longer = packet_of(example.frame, example.body);
    longer.resize(longer.size() + 8);
    EXPECT_EQ(decoded(longer), StatusCode::kProtocol);
    // A rest which makes up for what is too much, in 64 bits.
    Frame out;
    const Status wrapped = decode_frame({longer.data(), longer.size()}, &out, ~std::size_t{7});
    EXPECT_EQ(wrapped.code(), StatusCode::kProtocol);
    if (example.body == 0) continue;
    Bytes shorter = packet_of(example.frame, example.body);
    shorter.pop_back();
    EXPECT_EQ(decoded(shorter), StatusCode::kProtocol);
  }
}

TEST(Wire, ReservedBitsAreZero) {
  for (const Example& example : examples()) {
    for (int bit = 2; bit < 8; ++bit) {
      Bytes packet = packet_of(example.frame, example.body);
      packet[3] |= static_cast<std::byte>(1 << bit);
      EXPECT_EQ(decoded(packet), StatusCode::kProtocol);
    }
    Bytes packet = packet_of(example.frame, example.body);
    packet[5] = std::byte{1};
    EXPECT_EQ(decoded(packet), StatusCode::kProtocol);
  }
}

TEST(Wire, FieldsThatAKindDoesNotHaveAreZero) {
  const std::vector<std::pair<const char*, std::function<void(Frame&)>>> changes = {
      {"handler", [](Frame& f) { f.handler = 1; }},
      {"header", [](Frame& f) { f.header_bytes = 1; }},
      {"window", [](Frame& f) { f.window = !f.window; }},
      {"id", [](Frame& f) { f.id = f.id == 0 ? 1 : 0; }},
      {"reply", [](Frame& f) { f.reply_id = f.reply_id == 0 ? 1 : 0; }},
  };
  for (const Example& example : examples()) {
    for (const auto& [name, change] : changes) {
      const bool message = example.frame.kind == FrameKind::kMessage;
      if (message && std::string(name) != "id" && std::string(name) != "reply") continue;
      Frame frame = example.frame;
      change(frame);
      EXPECT_EQ(decoded(packet_of(frame, example.body)), StatusCode::kProtocol)
          << name << " of kind " << static_cast<int>(frame.kind);
    }
  }
}

TEST(Wire, ChecksumsComeWithPayload) {
  for (const Example& example : examples()) {
    const bool payload =
        example.frame.kind == FrameKind::kMessage || example.frame.kind == FrameKind::kData;
    Frame checked = example.frame;
    checked.checked = true;
    for (const std::uint32_t sum : {0u, 0xfedcba98u}) {
      checked.sum = sum;
      Bytes packet = packet_of(checked, example.body);
      EXPECT_EQ(packet[3] & std::byte{2}, std::byte{2});
      EXPECT_EQ(packet[16], static_cast<std::byte>(sum));
      EXPECT_EQ(packet[19], static_cast<std::byte>(sum >> 24));
      Frame out;
      const Status status = decode_frame({packet.data(), packet.size()}, &out);
      EXPECT_EQ(status.ok(), payload) << static_cast<int>(checked.kind);
      if (!payload) continue;
      EXPECT_TRUE(out.checked);
      EXPECT_EQ(out.sum, sum);
      EXPECT_EQ(out.reply_id, 0u);
      packet[3] = std::byte{0};  // the field belongs to the flag
      EXPECT_EQ(decoded(packet), sum == 0 ? StatusCode::kOk : StatusCode::kProtocol);
    }
  }
  Frame headless = frame_of(FrameKind::kMessage, 1, 5);
  headless.checked = true;
  EXPECT_EQ(decoded(packet_of(headless, 0)), StatusCode::kProtocol);
  headless.header_bytes = 8;
  EXPECT_EQ(decoded(packet_of(headless, 8)), StatusCode::kProtocol);
}

TEST(Wire, OffersStandInMessagesWithoutAHead) {
  Frame offer = frame_of(FrameKind::kMessage, 7, 5000);
  offer.header_bytes = 13;
  offer.offered = true;
  offer.offset = 0x123456789a;
  const Bytes packet = packet_of(offer, 16);
  EXPECT_EQ(packet[3], std::byte{4});
  Frame out;
  ASSERT_TRUE(decode_frame({const_cast<std::byte*>(packet.data()), packet.size()}, &out).ok());
  EXPECT_TRUE(out.offered);
  EXPECT_EQ(out.offset, offer.offset);
  EXPECT_EQ(decoded(packet_of(offer, 24)), StatusCode::kProtocol) << "with a head";
  Frame wrong = offer;
  wrong.offset = 0;
  EXPECT_EQ(decoded(packet_of(wrong, 16)), StatusCode::kProtocol) << "of nowhere";
  wrong = offer;
  wrong.offered = false;
  EXPECT_EQ(decoded(packet_of(wrong, 16)), StatusCode::kProtocol) << "an offset without offer";
  wrong = offer;
  wrong.id = 0;
  wrong.length = 0;
  EXPECT_EQ(decoded(packet_of(wrong, 16)), StatusCode::kProtocol) << "of nothing";
  for (const Example& example : examples()) {
    if (example.frame.kind == FrameKind::kMessage) continue;
    Frame other = example.frame;
    other.offered = true;
    EXPECT_EQ(decoded(packet_of(other, example.body)), StatusCode::kProtocol);
  }
}

TEST(Wire, WindowsAreWishedForInMessagesWithoutAHead) {
  Frame wish = frame_of(FrameKind::kMessage, 7, 5000);
  wish.header_bytes = 13;
  wish.window = true;
  const Bytes packet = packet_of(wish, 16);
  EXPECT_EQ(packet[3], std::byte{1});
  Frame out;
  ASSERT_TRUE(decode_frame({const_cast<std::byte*>(packet.data()), packet.size()}, &out).ok());
  EXPECT_TRUE(out.window);
  EXPECT_EQ(decoded(packet_of(wish, 24)), StatusCode::kProtocol) << "with a head";
  Frame wrong = wish;
  wrong.offered = true;
  wrong.offset = 64;
  EXPECT_EQ(decoded(packet_of(wrong, 16)), StatusCode::kProtocol) << "of what is offered";
  wrong = wish;
  wrong.id = 0;
  wrong.length = 0;
  EXPECT_EQ(decoded(packet_of(wrong, 16)), StatusCode::kProtocol) << "for nothing";
}

TEST(Wire, AnswersAreAskedForInTaggedMessagesThatAreWhole) {
  Frame asked = frame_of(FrameKind::kMessage, 7, 20);
  asked.handler = kTaggedHandler;
  asked.header_bytes = kTaggedHeaderBytes;
  asked.answered = true;
  const Bytes packet = packet_of(asked, 16 + 20);
  EXPECT_EQ(packet[3], std::byte{8});
  Frame out;
  ASSERT_TRUE(decode_frame({const_cast<std::byte*>(packet.data()), packet.size()}, &out).ok());
  EXPECT_TRUE(out.answered);
  EXPECT_EQ(out.id, 7u);
  Frame wrong = asked;
  wrong.handler = 17;
  EXPECT_EQ(decoded(packet_of(wrong, 16 + 20)), StatusCode::kProtocol) << "of another message";
  wrong = asked;
  wrong.id = 0;
  EXPECT_EQ(decoded(packet_of(wrong, 16 + 20)), StatusCode::kProtocol) << "under no id";
  wrong = asked;
  wrong.length = 21;
  EXPECT_EQ(decoded(packet_of(wrong, 16 + 20)), StatusCode::kProtocol)
      << "of which more is to come";
  for (const Example& example : examples()) {
    Frame other = example.frame;
    other.answered = true;
    EXPECT_EQ(decoded(packet_of(other, example.body)), StatusCode::kProtocol);
  }
}

const TaggedHeader kNoted{
    {0x0302, 0x07060504, 0x0b0a0908}, 0x01, true, {0x1716151413121110, 0x1f1e1d1c1b1a1918}};

TaggedHeader without_note(TaggedHeader header) {
  header.noted = false;
  header.note = {};
  return header;
}

Bytes short_frame_of(const TaggedHeader& header, std::uint32_t credit) {
  Bytes encoded(bytes_of(header));
  Bytes out(short_frame_bytes(encoded.size()));
  encode_tagged_header(header, encoded.data());
  encode_short_frame({encoded.data(), encoded.size()}, credit, out.data());
  return out;
}

TEST(Wire, TaggedHeadersStandWhereTheProtocolSays) {
  const Bytes noted = short_frame_of(kNoted, 0x0f0e0d0c);
  ASSERT_EQ(noted.size(), 32u);
  EXPECT_EQ(noted[0], std::byte{0xAF});
  for (std::size_t i = 1; i < noted.size(); ++i) EXPECT_EQ(noted[i], static_cast<std::byte>(i));
  const Bytes plain = short_frame_of(without_note(kNoted), 0x0f0e0d0c);
  ASSERT_EQ(plain.size(), 16u);
  EXPECT_EQ(plain[0], std::byte{0xAE});
  EXPECT_TRUE(std::equal(plain.begin() + 1, plain.end(), noted.begin() + 1));
}

const std::string kValue(256, 'v');
TaggedHeader with_value(TaggedHeader header, std::size_t bytes) {
  header.value = {const_cast<char*>(kValue.data()), bytes};
  return header;
}

TEST(Wire, ValuesStandBehindTheRest) {
  for (const TaggedHeader& header : {without_note(kNoted), kNoted}) {
    Bytes bare = short_frame_of(header, 0x0e0d0c);
    for (const std::size_t bytes : {1, 7, 8, 9, 255, 256}) {
      const Bytes frame = short_frame_of(with_value(header, bytes), 0x0e0d0c);
      ASSERT_EQ(frame.size(), bare.size() + (bytes + 7) / 8 * 8) << bytes;
      EXPECT_EQ(frame[0], header.noted ? std::byte{0xB1} : std::byte{0xB0});
      bare[15] = static_cast<std::byte>(bytes - 1);
      EXPECT_TRUE(std::equal(bare.begin() + 1, bare.end(), frame.begin() + 1));
      for (std::size_t i = bare.size(); i < frame.size(); ++i) {
        EXPECT_EQ(frame[i], i < bare.size() + bytes ? std::byte{'v'} : std::byte{0}) << i;
      }
    }
  }
}

TEST(Wire, ValuesEndWhereTheirHeaderEnds) {
  const auto is_header = [](Bytes encoded) {
    TaggedHeader out;
    return decode_tagged_header({encoded.data(), encoded.size()}, &out);
  };
  for (const TaggedHeader& header : {without_note(kNoted), kNoted}) {
    const Bytes right = short_frame_of(with_value(header, 20), 0);
    constexpr std::size_t at = 15;
    EXPECT_TRUE(is_header(right));
    for (std::size_t size = 0; size < right.size(); ++size) {
      EXPECT_FALSE(is_header(Bytes(right.begin(), right.begin() + static_cast<int>(size)))) << size;
    }
    Bytes wrong = right;
    wrong.resize(right.size() + 8);
    EXPECT_FALSE(is_header(wrong)) << "more than the value";
    wrong = right;
    wrong[at] = std::byte{24};
    EXPECT_FALSE(is_header(wrong)) << "a longer one";
    wrong[at] = std::byte{255};
    EXPECT_FALSE(is_header(wrong)) << "a much longer one";
    wrong[at] = std::byte{15};
    EXPECT_FALSE(is_header(wrong)) << "one that ends before what is not 0";
    wrong = right;
    wrong.back() = std::byte{1};
    EXPECT_FALSE(is_header(wrong));
    wrong = right;
    wrong[0] = std::byte{0xB2};
    EXPECT_FALSE(is_header(wrong));
  }
}

class ShortFrames : public ::testing::TestWithParam<TaggedHeader> {};

TEST_P(ShortFrames, SurviveTheTrip) {
  const TaggedHeader& header = GetParam();
  Bytes packet = short_frame_of(header, kMostFrameCredit);
  const std::size_t fixed = packet.size();
  packet.resize(fixed + 5);
  Frame out;
  ASSERT_TRUE(decode_frame({packet.data(), packet.size()}, &out, 100).ok());
  EXPECT_TRUE(out.is_short);
  EXPECT_EQ(out.kind, FrameKind::kMessage);
  EXPECT_EQ(out.handler, kTaggedHandler);
  EXPECT_EQ(out.credit, kMostFrameCredit);
  EXPECT_EQ(out.id, 0u);
  EXPECT_EQ(out.length, 105u);
  EXPECT_EQ(out.head_bytes(), 105u);
  EXPECT_EQ(out.head_at(), fixed);
  TaggedHeader read;
  read.note = {1, 2};
  ASSERT_TRUE(decode_tagged_header({packet.data() + out.header_at(), out.header_bytes}, &read));
  EXPECT_EQ(read.envelope, header.envelope);
  EXPECT_EQ(read.flags, header.flags);
  EXPECT_EQ(read.noted, header.noted);
  if (header.noted) {
    EXPECT_EQ(read.note, header.note);
  }
  ASSERT_EQ(read.value.size, header.value.size);
  EXPECT_TRUE(std::equal(read.value.begin(), read.value.end(), header.value.begin()));
  for (std::size_t size = fixed - 1; size > 0; --size) {
    packet.resize(size);
    EXPECT_EQ(decoded(packet), StatusCode::kProtocol) << size;
  }
}

// In memory that is shared a peer may write to a packet that is being looked at.
TEST_P(ShortFrames, StayWhatTheyWereFoundToBe) {
  Bytes packet = short_frame_of(GetParam(), 7);
  const std::size_t fixed = packet.size();
  packet.resize(fixed + kFrameBytes, std::byte{0xff});
  const Segment bytes{packet.data(), packet.size()};
  const std::size_t header_bytes = short_header_bytes(bytes);
  Frame other;
  other.kind = FrameKind::kMessage;
  encode_frame(other, packet.data());
  const Frame out = decode_short_frame(bytes, header_bytes, 100);
  EXPECT_TRUE(out.is_short);
  EXPECT_EQ(out.handler, kTaggedHandler);
  EXPECT_EQ(out.header_bytes, header_bytes);
  EXPECT_EQ(out.length, kFrameBytes + 100);
  EXPECT_EQ(out.head_at() + out.head_bytes(), packet.size() + 100);
}

INSTANTIATE_TEST_SUITE_P(Wire, ShortFrames,
                         ::testing::Values(TaggedHeader{{65535, 3, 0x7fffffff}, 0x81}, kNoted,
                                           TaggedHeader{{0, 0, 0}, 0, true, {0, UINT64_MAX}},
                                           with_value({{1, 2, 3}, 4}, 1),
                                           with_value({{1, 2, 3}, 4}, 256), with_value(kNoted, 1),
                                           with_value(kNoted, 8), with_value(kNoted, 256)));

TEST(Wire, TaggedHeadersHaveASourceAndATag) {
  const auto is_header = [](const TaggedHeader& header, std::size_t size, std::byte magic) {
    Bytes encoded(kNotedHeaderBytes + 1);
    encode_tagged_header(header, encoded.data());
    encoded[0] = magic;
    TaggedHeader out;
    return decode_tagged_header({encoded.data(), size}, &out);
  };
  constexpr std::byte kMagic{0xAE}, kNotedMagic{0xAF};
  EXPECT_TRUE(is_header({{1, 0, 0}, 0}, kTaggedHeaderBytes, kMagic));
  EXPECT_FALSE(is_header({{1, -1, 0}, 0}, kTaggedHeaderBytes, kMagic));
  EXPECT_FALSE(is_header({{1, 0, -1}, 0}, kTaggedHeaderBytes, kMagic));
  EXPECT_FALSE(is_header({{1, 0, 0}, 0}, kTaggedHeaderBytes, std::byte{0xAD}));
  EXPECT_FALSE(is_header({{1, 0, 0}, 0}, kTaggedHeaderBytes - 1, kMagic));
  EXPECT_FALSE(is_header({{1, 0, 0}, 0}, kTaggedHeaderBytes + 1, kMagic));
  EXPECT_TRUE(is_header(kNoted, kNotedHeaderBytes, kNotedMagic));
  EXPECT_FALSE(is_header(kNoted, kNotedHeaderBytes, kMagic)) << "without a note";
  EXPECT_FALSE(is_header(kNoted, kTaggedHeaderBytes, kNotedMagic)) << "whose note is not here";
  EXPECT_FALSE(is_header(kNoted, kNotedHeaderBytes + 1, kNotedMagic));
}

TEST(Wire, MessageLengths) {
  Frame f = frame_of(FrameKind::kMessage, 0, 0);
  EXPECT_EQ(decoded(packet_of(f, 0)), StatusCode::kOk);
  f.header_bytes = 5;
  EXPECT_EQ(decoded(packet_of(f, 5)), StatusCode::kProtocol);  // not padded
  EXPECT_EQ(decoded(packet_of(f, 8)), StatusCode::kOk);
  EXPECT_EQ(decoded(packet_of(f, 9)), StatusCode::kProtocol);  // a head of nothing
  f.length = 1;
  EXPECT_EQ(decoded(packet_of(f, 9)), StatusCode::kOk);
  EXPECT_EQ(decoded(packet_of(f, 8)), StatusCode::kProtocol);  // an open rest without id
  f.id = 1;
  EXPECT_EQ(decoded(packet_of(f, 8)), StatusCode::kOk);
  EXPECT_EQ(decoded(packet_of(f, 9)), StatusCode::kProtocol);  // an id without rest
}

TEST(Wire, RestsThatCannotBe) {
  Frame clear = clear_frame();
  clear.offset = clear.length;
  EXPECT_EQ(decoded(packet_of(clear, 0)), StatusCode::kProtocol);
  Frame data = frame_of(FrameKind::kData, 1, 8);
  data.offset = ~std::uint64_t{0} - 8;
  EXPECT_EQ(decoded(packet_of(data, 8)), StatusCode::kOk);
  data.offset += 1;
  EXPECT_EQ(decoded(packet_of(data, 8)), StatusCode::kProtocol);
  EXPECT_EQ(decoded(packet_of(frame_of(FrameKind::kData, 1, 0), 0)), StatusCode::kProtocol);
  EXPECT_EQ(decoded(packet_of(frame_of(FrameKind::kPlaced, 1, 0), 0)), StatusCode::kProtocol);
}

TEST(Wire, LengthsOffsetsAndCreditBelongToTheirKinds) {
  for (const Example& example : examples()) {
    const FrameKind kind = example.frame.kind;
    Frame frame = example.frame;
    frame.offset += 1;
    const bool has_offset = kind == FrameKind::kClear || kind == FrameKind::kData;
    EXPECT_EQ(decoded(packet_of(frame, example.body)) == StatusCode::kOk, has_offset)
        << static_cast<int>(kind);
    frame = example.frame;
    frame.credit = 1;
    EXPECT_EQ(decoded(packet_of(frame, example.body)) == StatusCode::kOk,
              kind != FrameKind::kHello);
    frame = example.frame;
    frame.length += 1;
    const bool has_length = kind == FrameKind::kHello || kind == FrameKind::kMessage ||
                            kind == FrameKind::kClear || kind == FrameKind::kPlaced ||
                            kind == FrameKind::kTaken;
    EXPECT_EQ(decoded(packet_of(frame, example.body)) == StatusCode::kOk, has_length)
        << static_cast<int>(kind);
  }
  const Frame data = frame_of(FrameKind::kData, 1, 8);
  EXPECT_EQ(decoded(packet_of(data, 7)), StatusCode::kProtocol);
  EXPECT_EQ(decoded(packet_of(data, 9)), StatusCode::kProtocol);
}

// Of a packet in pieces: all but payload is in the first, and the rest is what the frame says.
TEST(Wire, OnlyPayloadFollows) {
  for (const Example& example : examples()) {
    const std::size_t payload = example.frame.kind == FrameKind::kMessage ? 100
                                : example.frame.kind == FrameKind::kData  ? 24
                                                                          : 0;
    Bytes packet = packet_of(example.frame, example.body);
    for (std::size_t rest = 0; rest <= example.body; ++rest) {
      Frame out;
      const Segment first{packet.data(), packet.size() - rest};
      EXPECT_EQ(decode_frame(first, &out, rest).ok(), rest <= payload) << rest;
      EXPECT_FALSE(decode_frame(first, &out, rest + 1).ok());
      EXPECT_TRUE(rest == 0 || !decode_frame(first, &out, rest - 1).ok());
    }
  }
}

TEST(Wire, Window) {
  std::array<std::byte, kWindowBytes> bytes;
  const Segment body{bytes.data(), bytes.size()};
  Window sent, came;
  sent.token = {1234567890123, 42};
  sent.run = 100;
  sent.stride = std::uint64_t{1} << 40;
  sent.lead = 99;
  encode_window(sent, bytes.data());
  ASSERT_TRUE(decode_window(body, &came).ok());
  EXPECT_EQ(came.token.address, 1234567890123u);
  EXPECT_EQ(came.token.key, 42u);
  EXPECT_EQ(came.run, 100u);
  EXPECT_EQ(came.stride, std::uint64_t{1} << 40);
  EXPECT_EQ(came.lead, 99u);
  sent.stride = 99;
  encode_window(sent, bytes.data());
  EXPECT_EQ(decode_window(body, &came).code(), StatusCode::kProtocol);
}

}  // namespace
}  // namespace mad
