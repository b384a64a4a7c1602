#include "tests/fuzz/fuzzed_frames.h"

#include <algorithm>

namespace mad::test {
namespace {

// Cases of next(); the other ones are frames that stand for themselves.
enum Choice {
  kHead = 0,
  kNoHead,
  kData,
  kDataAgain,
  kClear,
  kPlaced,
  kRefuse,
  kTaken,
  kOffer,
  kCredit,
  kGoodbye,
  kBytes,
  kChoices
};

}  // namespace

// Mostly short; sometimes so long that it arrives in pieces.
std::size_t FuzzedFrames::size() {
  return choices_.below(8) == 0 ? choices_.below(120000) : choices_.below(250);
}

Frame FuzzedFrames::frame() {
  Frame frame;
  frame.credit = choices_.below(8) == 0 ? static_cast<std::uint32_t>(choices_.below(70000)) : 0;
  switch (choices_.below(kChoices)) {
    case kHead:
      frame.kind = FrameKind::kMessage;
      frame.header_bytes = static_cast<std::uint16_t>(choices_.below(60));
      frame.length = size();
      frame.body_bytes =
          static_cast<std::uint32_t>(padded_bytes(frame.header_bytes) + frame.length);
      break;
    case kNoHead:
      frame.kind = FrameKind::kMessage;
      frame.id = next_id_++;
      frame.length = 1 + size();
      break;
    case kData:
      frame.kind = FrameKind::kData;
      frame.id = clear_.reply_id;
      frame.offset = offset_;
      frame.length =
          std::min<std::uint64_t>(1 + size(), std::max<std::uint64_t>(clear_.length - offset_, 1));
      frame.body_bytes = static_cast<std::uint32_t>(frame.length);
      offset_ += frame.length;
      break;
    case kDataAgain:
      frame.kind = FrameKind::kData;
      frame.id = clear_.reply_id;
      frame.offset = choices_.below(300);
      frame.length = frame.body_bytes = static_cast<std::uint32_t>(1 + size());
      break;
    case kClear:
      frame.kind = FrameKind::kClear;
      frame.id = message_.id;
      frame.reply_id = 7;
      frame.offset = head_;
      frame.length = message_.length - choices_.below(2);
      frame.window = choices_.below(2) == 0;
      frame.body_bytes = frame.window ? kWindowBytes : 0;
      break;
    case kPlaced:
      frame.kind = FrameKind::kPlaced;
      frame.id = clear_.reply_id;
      frame.length = clear_.length;
      break;
    case kRefuse:
      frame.kind = FrameKind::kRefuse;
      frame.id = message_.id;
      break;
    case kTaken:
      frame.kind = FrameKind::kTaken;
      frame.id = message_.id;
      frame.length = message_.length + choices_.below(2);
      break;
    case kOffer:
      frame.kind = FrameKind::kMessage;
      frame.id = next_id_++;
      frame.length = 1 + size();
      frame.window = choices_.below(2) == 0;
      frame.offered = !frame.window;
      frame.offset = frame.offered ? choices_.below(UINT64_MAX) : 0;
      break;
    case kCredit:
      frame.kind = FrameKind::kCredit;
      break;
    case kGoodbye:
      frame.kind = FrameKind::kGoodbye;
      break;
    default:  // anything
      frame.kind = static_cast<FrameKind>(choices_.next());
      frame.handler = choices_.next();
      frame.id = static_cast<std::uint32_t>(choices_.below(4));
      frame.reply_id = static_cast<std::uint32_t>(choices_.below(4));
      frame.offset = choices_.below(UINT64_MAX);
      frame.length = choices_.below(UINT64_MAX);
      frame.body_bytes = static_cast<std::uint32_t>(choices_.below(200));
  }
  return frame;
}

std::vector<std::byte> FuzzedFrames::next() {
  Frame said = frame();
  if (!greeted_ && choices_.below(16) != 0) {
    greeted_ = true;
    said = Frame();
    said.kind = FrameKind::kHello;
    said.length = choices_.below(100000);
    if (choices_.below(4) == 0) {
      said.body_bytes = static_cast<std::uint32_t>(choices_.below(kMaxGreetingBytes + 2));
    }
  }
  if (choices_.below(16) == 0 && said.reply_id == 0) {
    said.checked = true;  // wrongly, mostly
    said.sum = choices_.next();
  }
  std::vector<std::byte> packet(kFrameBytes + said.body_bytes);
  encode_frame(said, packet.data());
  for (std::size_t i = 0; i < std::min<std::size_t>(said.body_bytes, kWindowBytes); ++i) {
    packet[kFrameBytes + i] = static_cast<std::byte>(choices_.next());
  }
  if (choices_.below(8) == 0)
    packet[choices_.below(kFrameBytes)] = static_cast<std::byte>(choices_.next());
  if (choices_.below(32) == 0) packet.resize(choices_.below(packet.size() + 20));
  return packet;
}

void FuzzedFrames::hear(Segment packet, std::size_t rest) {
  Frame heard;
  if (!decode_frame(packet, &heard, rest).ok()) return;
  const Segment body{packet.begin() + kFrameBytes, packet.size - kFrameBytes};
  if (heard.kind == FrameKind::kClear) {
    clear_ = heard;
    offset_ = heard.offset;
    if (heard.window) (void)decode_window(body, &window_);
  } else if (heard.kind == FrameKind::kMessage && heard.id != 0) {
    message_ = heard;
    head_ = heard.body_bytes - padded_bytes(heard.header_bytes);
  }
}

}  // namespace mad::test
