// Every execution of an end on a machine weaker than any real one: tests/conformance/shm has the
// ends of engines.
#include "gtest/gtest.h"
#include "madlike/driver/shm/ring_model.h"

namespace mad::ring_model {
namespace {

// A word that this scene does not need: 1 once the writer has ended.
constexpr std::size_t kEnded = kWants;

TEST(EndingModel, WhatWasWrittenBeforeTheEndIsRead) {
  for (const std::uint64_t records : {0u, 1u, 2u}) {
    WeakMachine machine;
    const auto write = [&](Thread& thread) {
      Writer out(ModelMemory(thread, 0, Without::kNothing), kCapacity);
      for (std::uint64_t number = 1; number <= records; ++number) {
        Thread::expect(out.reserve(kShort, kCapacity), "no room");
        thread.write(ModelMemory::word_of(out.content()), number);
        out.publish({RingMark::Kind::kPacket, kShort, number});
      }
      thread.store(kEnded, 1, true);
    };
    const auto read = [&](Thread& thread) {
      Reader in(ModelMemory(thread, 1, Without::kNothing), kCapacity);
      std::uint64_t count = 0;
      for (;;) {
        RingMark mark;
        if (in.peek(&mark) == Reader::Found::kPacket) {
          Thread::expect(thread.read(ModelMemory::word_of(in.content())) == ++count, "another one");
          in.advance(mark);
          continue;
        }
        bool ended = false;
        if (is_read_out(in, [&] { return ended = thread.load(kEnded, true) != 0; })) break;
        if (ended) continue;  // there is more
        thread.await_news({kEnded, ModelMemory::word_of(in.content() - RingShape::kMarkBytes)});
      }
      Thread::expect(count == records, "an end before the last record");
    };
    EXPECT_EQ(machine.search({write, read}), "") << records;
    EXPECT_GT(machine.ended(), 0u);
  }
}

}  // namespace
}  // namespace mad::ring_model
