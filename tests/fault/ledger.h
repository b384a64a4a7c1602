// Ledger: what one engine's packets say of its messages, so that a test knows which of them a
// flipped bit belongs to.
#ifndef TESTS_FAULT_LEDGER_H_
#define TESTS_FAULT_LEDGER_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "madlike/message/wire.h"
#include "tests/fault/faulty_driver.h"

namespace mad::test {

/// Messages are known by the four bytes at `number_at` of their headers.  The two ledgers of two
/// engines know one another, since receivers name messages anew; engines may have threads.
class Ledger final : public PacketTap {
 public:
  Ledger(Ledger& other, std::mutex& mutex, std::size_t number_at)
      : other_(other), mutex_(mutex), number_at_(number_at) {}

  /// The numbers of messages of this engine with a bit that flipped.
  std::set<std::uint32_t> damaged() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return damaged_;
  }

  Segment payload(Segment packet, std::size_t rest) override {
    const Frame frame = frame_of(packet, rest);
    if (frame.kind != FrameKind::kMessage && frame.kind != FrameKind::kData) return {};
    const std::size_t headers = kFrameBytes + padded_bytes(frame.header_bytes);
    return {packet.begin() + headers, packet.size - headers};
  }

  void posting(Segment packet, std::size_t rest) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Frame frame = frame_of(packet, rest);
    if (frame.kind == FrameKind::kMessage && frame.length > 0) {
      announced_[frame.id] = number_in(packet);
    } else if (frame.kind == FrameKind::kClear) {
      other_.receiving_[frame.reply_id] = other_.announced_[frame.id];
    }
  }

  void damaged(Segment packet, std::size_t rest) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Frame frame = frame_of(packet, rest);
    damaged_.insert(frame.kind == FrameKind::kMessage ? number_in(packet) : receiving_[frame.id]);
  }

 private:
  static Frame frame_of(Segment packet, std::size_t rest) {
    Frame frame;
    EXPECT_TRUE(decode_frame(packet, &frame, rest).ok());
    return frame;
  }

  std::uint32_t number_in(Segment packet) const {
    std::uint32_t number = 0;
    std::memcpy(&number, packet.begin() + kFrameBytes + number_at_, sizeof(number));
    return number;
  }

  Ledger& other_;
  std::mutex& mutex_;
  const std::size_t number_at_;
  std::map<std::uint32_t, std::uint32_t> announced_;  // by the ids of this engine
  std::map<std::uint32_t, std::uint32_t> receiving_;  // by the ids of the other, who receives them
  std::set<std::uint32_t> damaged_;
};

struct Ledgers {
  explicit Ledgers(std::size_t number_at = 0)
      : of_a(of_b, mutex, number_at), of_b(of_a, mutex, number_at) {}
  std::mutex mutex;
  Ledger of_a, of_b;
};

}  // namespace mad::test

#endif  // TESTS_FAULT_LEDGER_H_
