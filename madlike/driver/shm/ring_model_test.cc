// Every execution of the ring's code on a machine weaker than any real one, for small sizes; and
// that each order that the code asks for is needed there.
#include "madlike/driver/shm/ring_model.h"

#include <initializer_list>

#include "gtest/gtest.h"

namespace mad::ring_model {
namespace {

struct Scene {
  std::vector<std::size_t> records;
  std::size_t capacity = kCapacity;
  std::size_t limit = capacity;
  Without without = Without::kNothing;
};

/// What a record says that follows it: of every second one nothing, so that it is a whole packet.
std::uint64_t left_behind(std::uint64_t number) { return number % 2 == 0 ? number : 0; }

void write_record(Writer& out, std::size_t content, std::uint64_t number) {
  Thread& thread = out.memory().thread();
  thread.write(ModelMemory::word_of(out.content()), number);
  if (content == kLong) {  // where a mark may have been, and will be
    const std::size_t second = out.content() - RingShape::kMarkBytes + RingShape::kLine;
    thread.write(ModelMemory::word_of(second), ~number);
  }
  out.publish({RingMark::Kind::kPacket, static_cast<std::uint32_t>(content), left_behind(number)});
}

void read_record(Reader& in, const RingMark& mark, std::size_t content, std::uint64_t number) {
  Thread& thread = in.memory().thread();
  Thread::expect(mark.bytes == content && mark.left == left_behind(number), "another record");
  Thread::expect(thread.read(ModelMemory::word_of(in.content())) == number, "other content");
  if (content == kLong) {
    const std::size_t second = in.content() - RingShape::kMarkBytes + RingShape::kLine;
    Thread::expect(thread.read(ModelMemory::word_of(second)) == ~number, "other content");
  }
  in.advance(mark);
  in.give_back(in.position());
}

// Who finds nothing looks again when there is something new.
std::string polls(const Scene& scene, std::size_t* ended) {
  WeakMachine machine;
  const auto write = [&](Thread& thread) {
    Writer out(ModelMemory(thread, 0, scene.without), scene.capacity);
    std::uint64_t number = 1;
    for (const std::size_t content : scene.records) {
      while (!out.reserve(content, scene.limit)) {
        Thread::expect(!out.corrupt(), "a tail that no reader wrote");
        thread.await_news({kTail});
      }
      write_record(out, content, number++);
    }
  };
  const auto read = [&](Thread& thread) {
    Reader in(ModelMemory(thread, 1, scene.without), scene.capacity);
    std::uint64_t number = 1;
    for (const std::size_t content : scene.records) {
      RingMark mark;
      for (;;) {
        const std::uint64_t before = in.position();
        const bool whole = in.finds_whole(&mark);
        const auto found = whole ? Reader::Found::kPacket : in.peek(&mark);
        Thread::expect(found != Reader::Found::kCorrupt, "no record");
        if (found == Reader::Found::kPacket) break;
        if (in.position() != before) in.give_back(in.position());
        thread.await_news({ModelMemory::word_of(in.content() - RingShape::kMarkBytes)});
      }
      read_record(in, mark, content, number++);
    }
  };
  std::string wrong = machine.search({write, read});
  *ended = machine.ended();
  return wrong;
}

const Scene kScenes[] = {
    {{kShort, kShort, kShort, kShort}},
    {{kShort, kShort, kShort, kShort, kShort}},
    {{kLong, kShort, kLong, kShort, kShort}, kLongCapacity},
    {{kShort, kShort, kShort, kShort}, kLongCapacity, Writer::enough_for(kShort)},
};

TEST(RingModel, EveryRecordArrivesOnceInOrderAndWhole) {
  for (const Scene& scene : kScenes) {
    std::size_t ended = 0;
    EXPECT_EQ(polls(scene, &ended), "") << scene.records.size() << ' ' << scene.limit;
    EXPECT_GT(ended, 0u);
  }
}

TEST(RingModel, EachOrderIsNeeded) {
  for (const Without without : {Without::kReleaseOfMarks, Without::kAcquireOfMarks,
                                Without::kReleaseOfTail, Without::kZeros}) {
    bool noticed = false;
    for (Scene scene : kScenes) {
      scene.without = without;
      std::size_t ended = 0;
      noticed = noticed || !polls(scene, &ended).empty();
    }
    EXPECT_TRUE(noticed) << static_cast<int>(without);
  }
}

/// A reader that sleeps when there is nothing, and first looks itself, then is rung.
std::string sleeps(bool looks, std::size_t records, Without without, std::size_t* ended) {
  WeakMachine machine;
  const auto write = [&](Thread& thread) {
    Writer out(ModelMemory(thread, 0, without), kCapacity);
    for (std::uint64_t number = 1; number <= records; ++number) {
      while (!out.reserve(kShort, kCapacity)) thread.await_news({kTail});
      write_record(out, kShort, number);
      call_reader(out.memory());
    }
  };
  const auto read = [&](Thread& thread) {
    Reader in(ModelMemory(thread, 1, without), kCapacity);
    bool looking = looks;
    if (looking) in.memory().store_attention(Attention::kLooks);
    for (std::uint64_t number = 1; number <= records;) {
      // As a poll: of a peer that rings only if it rang.
      const bool rang = thread.load(kReaderBell, false) != 0 && thread.exchange(kReaderBell, 0);
      if (rang) in.memory().fence();
      RingMark mark;
      while ((looking || rang) && number <= records) {
        const std::uint64_t before = in.position();
        if (in.peek(&mark) != Reader::Found::kPacket) {
          if (in.position() != before) in.give_back(in.position());
          break;
        }
        read_record(in, mark, kShort, number++);
      }
      if (number > records) break;
      if (looking && number > 1) {  // its place is another's
        looking = false;
        if (stop_looking(in)) {
          in.memory().ring_bell();  // of no matter whom: there is something
          if (in.peek(&mark) == Reader::Found::kPacket) read_record(in, mark, kShort, number++);
        }
        continue;
      }
      const bool asleep = fall_asleep(in.memory(), [&] {
        return (looking && in.ready()) || thread.load(kReaderBell, false) != 0;
      });
      if (!asleep) continue;
      thread.take_when_set(kReaderWoken);
      in.memory().store_asleep(false);
    }
  };
  std::string wrong = machine.search({write, read});
  *ended = machine.ended();
  return wrong;
}

TEST(RingModel, NobodySleepsThroughARecord) {
  for (const bool looks : {false, true}) {
    for (const std::size_t records : {1u, 2u}) {
      std::size_t ended = 0;
      EXPECT_EQ(sleeps(looks, records, Without::kNothing, &ended), "") << looks << ' ' << records;
      EXPECT_GT(ended, 0u);
    }
  }
}

TEST(RingModel, WithoutFencesOneDoes) {
  std::size_t ended = 0;
  EXPECT_NE(sleeps(true, 1, Without::kFences, &ended), "");
}

/// A writer that finds no room asks for word of it and awaits its bell.
std::string asks(Without without, std::size_t* ended) {
  WeakMachine machine;
  constexpr std::size_t kRecords = 4;
  const auto write = [&](Thread& thread) {
    Writer out(ModelMemory(thread, 0, without), kCapacity);
    for (std::uint64_t number = 1; number <= kRecords; ++number) {
      while (!reserve_or_ask(out, kShort, kCapacity)) thread.take_when_set(kWriterBell);
      write_record(out, kShort, number);
    }
  };
  const auto read = [&](Thread& thread) {
    Reader in(ModelMemory(thread, 1, without), kCapacity);
    for (std::uint64_t number = 1; number <= kRecords;) {
      const bool rang = thread.load(kReaderBell, false) != 0 && thread.exchange(kReaderBell, 0);
      if (rang) {
        in.memory().fence();
        if (in.memory().take_wants()) in.memory().ring_bell();
      }
      RingMark mark;
      const std::uint64_t before = in.position();
      if (in.peek(&mark) == Reader::Found::kPacket) {
        read_record(in, mark, kShort, number++);
        continue;
      }
      if (in.position() != before) in.give_back(in.position());
      thread.await_news({kReaderBell, ModelMemory::word_of(in.content() - RingShape::kMarkBytes)});
    }
  };
  std::string wrong = machine.search({write, read});
  *ended = machine.ended();
  return wrong;
}

TEST(RingModel, WhoWaitsForRoomHearsOfIt) {
  std::size_t ended = 0;
  EXPECT_EQ(asks(Without::kNothing, &ended), "");
  EXPECT_GT(ended, 0u);
}

/// Two that ring at the same time, each its own bell and the word that stands for all, as ShmMemory
/// does, and who answers as a poll.
std::string rings(bool exchanges) {
  WeakMachineOf<3> machine;
  constexpr std::size_t kNews = kReaderWoken, kBells[] = {kReaderBell, kWriterBell};
  const auto ring = [&](std::size_t bell) {
    return [=](auto& thread) {
      thread.store(bell, 1, true);
      if (exchanges) {
        (void)thread.exchange(kNews, 1);
      } else {
        thread.store(kNews, 1, true);
      }
    };
  };
  const auto answer = [&](auto& thread) {
    for (std::size_t heard = 0; heard < 2;) {
      if (thread.load(kNews, false) == 0) {
        thread.await_news({kNews});
        continue;
      }
      (void)thread.exchange(kNews, 0);
      for (const std::size_t bell : kBells) {
        if (thread.load(bell, false) != 0 && thread.exchange(bell, 0) != 0) ++heard;
      }
      thread.fence();
    }
  };
  return machine.search({ring(kBells[0]), ring(kBells[1]), answer});
}

TEST(RingModel, EveryBellIsHeard) {
  EXPECT_EQ(rings(true), "");
  EXPECT_NE(rings(false), "") << "the one's store hides the other's bell";
}

}  // namespace
}  // namespace mad::ring_model
