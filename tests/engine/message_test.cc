// Messages between two engines at the edges: empty, truncated, expected and not, many at once,
// sizes around every limit, types freed while in flight.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/node.h"

namespace mad::test {
namespace {

constexpr std::uint64_t kEagerLimit = 4096;

class Message : public ::testing::TestWithParam<const char*> {
 protected:
  Message()
      : a(GetParam(), [](mad_config& c) { c.eager_limit = kEagerLimit; }),
        b(GetParam()),
        to_b(a.peer(b)) {}

  bool wait(const std::function<bool()>& reached) { return progress_until({&a, &b}, reached); }
  /// Waits for an arrival at b and takes it.
  Arrival arrival() {
    EXPECT_TRUE(wait([&] { return !b.arrivals.empty(); }));
    return b.arrivals.empty() ? Arrival{} : b.take();
  }

  void TearDown() override { close_together({&a, &b}); }

  Node a, b;
  mad_peer* to_b;
};

TEST_P(Message, HeaderAloneArrivesInOrder) {
  for (int i = 0; i < 100; ++i) {
    const std::string header = "header " + std::to_string(i);
    ASSERT_EQ(mad_send_header(a.engine(), to_b, static_cast<std::uint8_t>(i), header.data(),
                              header.size()),
              MAD_SUCCESS);
  }
  ASSERT_TRUE(wait([&] { return b.arrivals.size() == 100; }));
  for (int i = 0; i < 100; ++i) {
    const Arrival got = b.take();
    EXPECT_EQ(got.header, "header " + std::to_string(i));
    EXPECT_EQ(got.handler, i);
    EXPECT_EQ(got.payload_bytes, 0u);
  }
  EXPECT_EQ(a.counters().headers, 100u);
}

TEST_P(Message, HeadersOfEveryLength) {
  const std::size_t longest = mad_max_header_bytes(a.engine());
  ASSERT_GE(longest, 256u);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7}, longest}) {
    const std::string header(size, 'h');
    ASSERT_EQ(mad_send_header(a.engine(), to_b, 3, header.data(), size), MAD_SUCCESS) << size;
    EXPECT_EQ(arrival().header, header);
    // With a payload there may be no room for a head; it goes all the same.
    Operation sent, received;
    std::string text = "payload", got(7, '-');
    a.send(to_b, header, text.data(), text.size(), nullptr, MAD_PATH_AUTO, &sent);
    b.receive(arrival().incoming, got.data(), got.size(), nullptr, MAD_PATH_AUTO, &received);
    ASSERT_TRUE(wait([&] { return sent.done && received.done; }));
    EXPECT_EQ(got, text);
  }
}

TEST_P(Message, EmptyPayloadIsAMessage) {
  const TypeHandle none = blocks(0, 4, 8);
  Operation sent;
  a.send(to_b, "empty", nullptr, 5, none.get(), MAD_PATH_AUTO, &sent);
  EXPECT_FALSE(sent.done) << "b has not looked yet";
  const Arrival got = arrival();
  ASSERT_TRUE(wait([&] { return sent.done; }));
  EXPECT_EQ(sent.status, MAD_SUCCESS);
  EXPECT_EQ(got.payload_bytes, 0u);
  EXPECT_EQ(got.incoming, nullptr);
}

TEST_P(Message, ReceiveOfNothingDropsThePayload) {
  for (const std::size_t size : {std::size_t{100}, std::size_t{300000}}) {
    const auto data = pattern(size, 1);
    Operation sent, received;
    a.send(to_b, "x", data.data(), size, nullptr, MAD_PATH_AUTO, &sent);
    b.receive(arrival().incoming, nullptr, 0, nullptr, MAD_PATH_AUTO, &received);
    EXPECT_TRUE(received.done);
    EXPECT_EQ(received.bytes, 0u);
    ASSERT_TRUE(wait([&] { return sent.done; }));
    EXPECT_EQ(sent.status, MAD_SUCCESS);
  }
}

TEST_P(Message, TruncationKeepsWhatFits) {
  const TypeHandle gapped = blocks(3, 100, 160);  // 300 bytes in 420
  for (const std::size_t size : {std::size_t{1000}, std::size_t{1000000}}) {
    for (const mad_path path : {MAD_PATH_AUTO, MAD_PATH_PACK}) {
      for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{3}}) {
        const auto data = pattern(size, 2);
        Bytes memory(3 * 420 + 64, std::byte{0xee});
        Operation sent, received;
        a.send(to_b, "x", data.data(), size, nullptr, MAD_PATH_AUTO, &sent);
        b.receive(arrival().incoming, memory.data(), count, gapped.get(), path, &received);
        ASSERT_TRUE(wait([&] { return sent.done && received.done; }));
        EXPECT_EQ(received.status, MAD_SUCCESS);
        ASSERT_EQ(received.bytes, 300 * count);
        for (std::uint64_t i = 0; i < 3 * count; ++i) {
          const std::uint64_t at = i / 3 * 420 + i % 3 * 160;
          EXPECT_EQ(std::memcmp(memory.data() + at, data.data() + i * 100, 100), 0) << i;
        }
        EXPECT_EQ(memory[100], std::byte{0xee});
        EXPECT_EQ(memory[420 * count], std::byte{0xee});
      }
    }
  }
}

TEST_P(Message, SizesAroundEveryLimit) {
  // The eager limit, packets of 64 KiB, the credit of 256 KiB: a byte less, equal, a byte more.
  for (const std::size_t limit : {std::size_t{256}, std::size_t{kEagerLimit}, std::size_t{16384},
                                  std::size_t{65536}, std::size_t{131072}, std::size_t{262144}}) {
    for (const std::size_t size :
         {limit - 41, limit - 40, limit - 1, limit, limit + 1, limit + 64}) {
      const auto data = pattern(size, static_cast<unsigned>(size));
      Bytes got(size);
      for (const bool expected : {true, false}) {
        Operation sent, received;
        b.on_arrival = nullptr;
        if (expected) {
          b.on_arrival = [&](const Arrival& arrival) {
            b.receive(arrival.incoming, got.data(), size, nullptr, MAD_PATH_AUTO, &received);
          };
        }
        a.send(to_b, "x", data.data(), size, nullptr, MAD_PATH_AUTO, &sent);
        if (!expected) {
          b.receive(arrival().incoming, got.data(), size, nullptr, MAD_PATH_AUTO, &received);
        }
        ASSERT_TRUE(wait([&] { return sent.done && received.done; })) << size;
        EXPECT_EQ(received.bytes, size);
        EXPECT_EQ(got, data) << size;
        std::fill(got.begin(), got.end(), std::byte{0});
      }
    }
  }
}

TEST_P(Message, ManyAtOnceAreReceivedInAnyOrder) {
  constexpr int kMessages = 60;
  const TypeHandle gapped = blocks(50, 200, 300);
  std::vector<Bytes> data, got(kMessages);
  std::vector<std::unique_ptr<Operation>> sent, received;
  for (int i = 0; i < kMessages; ++i) {
    data.push_back(pattern(15000, static_cast<unsigned>(i)));
    sent.push_back(std::make_unique<Operation>());
    received.push_back(std::make_unique<Operation>());
    a.send(to_b, std::to_string(i), data.back().data(), 1, gapped.get(),
           static_cast<mad_path>(i % MAD_PATH_OFF), sent.back().get());
  }
  ASSERT_TRUE(wait([&] { return b.arrivals.size() == kMessages; }));
  for (int i = kMessages - 1; i >= 0; --i) {
    const Arrival& arrival = b.arrivals[static_cast<std::size_t>(i)];
    EXPECT_EQ(arrival.header, std::to_string(i));  // headers keep their order
    auto& memory = got[static_cast<std::size_t>(i)];
    memory.resize(15000);
    b.receive(arrival.incoming, memory.data(), 1, gapped.get(),
              static_cast<mad_path>(i % MAD_PATH_OFF), received[static_cast<std::size_t>(i)].get());
  }
  ASSERT_TRUE(wait([&] {
    for (int i = 0; i < kMessages; ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (!sent[k]->done || !received[k]->done) return false;
    }
    return true;
  }));
  for (std::size_t i = 0; i < kMessages; ++i) {
    for (std::size_t block = 0; block < 50; ++block) {
      ASSERT_EQ(std::memcmp(&got[i][block * 300], &data[i][block * 300], 200), 0) << i;
    }
  }
}

TEST_P(Message, SendsMayShareTheirMemory) {
  // One buffer, sent whole and in overlapping parts, all at once.
  constexpr std::size_t kSends = 16, kBytes = 300000, kShift = 1000;
  const auto data = pattern(kBytes + kSends * kShift, 8);
  std::vector<Bytes> got(kSends, Bytes(kBytes));
  std::vector<Operation> sent(kSends), received(kSends);
  std::size_t next = 0;
  b.on_arrival = [&](const Arrival& arrival) {
    b.receive(arrival.incoming, got[next].data(), kBytes, nullptr, MAD_PATH_AUTO, &received[next]);
    ++next;
  };
  for (std::size_t i = 0; i < kSends; ++i) {
    a.send(to_b, "x", &data[i * kShift], kBytes, nullptr, MAD_PATH_AUTO, &sent[i]);
  }
  ASSERT_TRUE(wait([&] {
    for (std::size_t i = 0; i < kSends; ++i) {
      if (!sent[i].done || !received[i].done) return false;
    }
    return true;
  }));
  for (std::size_t i = 0; i < kSends; ++i) {
    EXPECT_EQ(std::memcmp(got[i].data(), &data[i * kShift], kBytes), 0) << i;
  }
}

TEST_P(Message, BothDirectionsAtOnce) {
  constexpr std::size_t kBytes = 3000000;
  const auto from_a = pattern(kBytes, 1), from_b = pattern(kBytes, 2);
  Bytes at_a(kBytes), at_b(kBytes);
  Operation sent_a, sent_b, received_a, received_b;
  a.on_arrival = [&](const Arrival& arrival) {
    a.receive(arrival.incoming, at_a.data(), kBytes, nullptr, MAD_PATH_AUTO, &received_a);
  };
  b.on_arrival = [&](const Arrival& arrival) {
    b.receive(arrival.incoming, at_b.data(), kBytes, nullptr, MAD_PATH_AUTO, &received_b);
  };
  a.send(to_b, "x", from_a.data(), kBytes, nullptr, MAD_PATH_AUTO, &sent_a);
  b.send(b.peer(a), "y", from_b.data(), kBytes, nullptr, MAD_PATH_AUTO, &sent_b);
  ASSERT_TRUE(
      wait([&] { return sent_a.done && sent_b.done && received_a.done && received_b.done; }));
  EXPECT_EQ(at_a, from_b);
  EXPECT_EQ(at_b, from_a);
}

// The waiting side sleeps between its calls; what it sends itself keeps it awake.
TEST_P(Message, WaitingEndsWhenSomethingComes) {
  const auto send_to = [](Node& from, mad_peer* to, const std::string& header) {
    EXPECT_EQ(mad_send_header(from.engine(), to, 1, header.data(), header.size()), MAD_SUCCESS);
  };
  const auto wait_at_b = [this] {
    constexpr std::uint32_t kMinute = 60 * 1000 * 1000;
    while (b.arrivals.empty()) {
      EXPECT_EQ(mad_engine_wait(b.engine(), kMinute), MAD_SUCCESS);
      b.progress();
    }
    return b.take().header;
  };
  send_to(a, to_b, "hello");
  EXPECT_EQ(arrival().header, "hello");
  const auto start = std::chrono::steady_clock::now();
  std::thread sender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    send_to(a, to_b, "wake up");
    while (mad_engine_flushed(a.engine()) == 0) a.progress();
  });
  EXPECT_EQ(wait_at_b(), "wake up");
  sender.join();
  send_to(b, b.peer(b), "self");
  EXPECT_EQ(wait_at_b(), "self");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

// What is queued while the connection is made leaves, also if its sender sleeps between all calls.
TEST_P(Message, ASleepingSenderForgetsNothing) {
  constexpr std::size_t kHeaders = 500;
  constexpr std::uint32_t kMinute = 60 * 1000 * 1000;
  for (std::size_t i = 0; i < kHeaders; ++i) {
    EXPECT_EQ(mad_send_header(a.engine(), to_b, 1, &i, sizeof(i)), MAD_SUCCESS);
  }
  const auto start = std::chrono::steady_clock::now();
  while (b.arrivals.size() < kHeaders) {
    EXPECT_EQ(mad_engine_wait(a.engine(), kMinute), MAD_SUCCESS);
    a.progress();
    b.progress();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_P(Message, ToItself) {
  const TypeHandle gapped = blocks(1000, 100, 200);
  const auto data = pattern(200000, 5);
  for (int path = 0; path < MAD_PATH_OFF; ++path) {
    Bytes got(200000);
    Operation sent, received;
    a.send(a.peer(a), "self", data.data(), 1, gapped.get(), static_cast<mad_path>(path), &sent);
    ASSERT_TRUE(wait([&] { return !a.arrivals.empty(); }));
    const Arrival arrival = a.take();
    EXPECT_EQ(arrival.from, a.peer(a));
    a.receive(arrival.incoming, got.data(), 1, gapped.get(), static_cast<mad_path>(path),
              &received);
    ASSERT_TRUE(wait([&] { return sent.done && received.done; }));
    for (std::size_t block = 0; block < 1000; ++block) {
      ASSERT_EQ(std::memcmp(&got[block * 200], &data[block * 200], 100), 0) << block;
    }
  }
}

TEST_P(Message, TypesMayBeReleasedInFlight) {
  const auto data = pattern(1000000, 9);
  Bytes got(1000000);
  for (const mad_path path : {MAD_PATH_GATHER, MAD_PATH_PIPELINE, MAD_PATH_PACK}) {
    Operation sent, received;
    {
      const TypeHandle gapped = blocks(100, 5000, 10000);
      a.send(to_b, "x", data.data(), 1, gapped.get(), path, &sent);
      EXPECT_FALSE(sent.done);
      const TypeHandle other = blocks(500, 1000, 2000);
      b.receive(arrival().incoming, got.data(), 1, other.get(), path, &received);
    }
    ASSERT_TRUE(wait([&] { return sent.done && received.done; }));
    for (std::size_t i = 0; i < 500; ++i) {
      ASSERT_EQ(std::memcmp(&got[i * 2000], &data[i / 5 * 10000 + i % 5 * 1000], 1000), 0) << i;
    }
  }
}

TEST_P(Message, CallbacksMaySendAndReceive) {
  // b answers every message from inside its callback, a sends the next one from inside on_arrival.
  constexpr int kRounds = 50;
  const auto data = pattern(20000, 3);
  Bytes at_b(20000);
  std::vector<std::unique_ptr<Operation>> operations;
  const auto fresh = [&] {
    operations.push_back(std::make_unique<Operation>());
    return operations.back().get();
  };
  int rounds = 0;
  b.on_arrival = [&](const Arrival& arrival) {
    b.receive(arrival.incoming, at_b.data(), at_b.size(), nullptr, MAD_PATH_AUTO, fresh());
    EXPECT_EQ(mad_send_header(b.engine(), arrival.from, 7, "ack", 3), MAD_SUCCESS);
  };
  a.on_arrival = [&](const Arrival& arrival) {
    EXPECT_EQ(arrival.header, "ack");
    if (++rounds < kRounds) {
      a.send(to_b, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, fresh());
    }
  };
  a.send(to_b, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, fresh());
  ASSERT_TRUE(wait([&] {
    if (rounds < kRounds) return false;
    for (const auto& operation : operations) {
      if (!operation->done) return false;
    }
    return true;
  }));
  EXPECT_EQ(at_b, data);
}

TEST_P(Message, DiscardedPayloadFreesTheSender) {
  for (const std::size_t size : {std::size_t{10}, std::size_t{5000}, std::size_t{2000000}}) {
    const auto data = pattern(size, 4);
    Operation sent;
    a.send(to_b, "x", data.data(), size, nullptr, MAD_PATH_AUTO, &sent);
    mad_discard(b.engine(), arrival().incoming);
    ASSERT_TRUE(wait([&] { return sent.done; })) << size;
    EXPECT_EQ(sent.status, MAD_SUCCESS);
  }
}

TEST_P(Message, UnmatchedHeadsStayWithinTheCredit) {
  const auto data = pattern(kEagerLimit, 6);
  std::vector<std::unique_ptr<Operation>> operations;
  constexpr std::size_t kMessages = 500;  // 2 MB of eager payload nobody waits for
  for (std::size_t i = 0; i < kMessages; ++i) {
    operations.push_back(std::make_unique<Operation>());
    a.send(to_b, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, operations.back().get());
  }
  ASSERT_TRUE(wait([&] { return b.arrivals.size() == kMessages; }));
  EXPECT_LE(b.counters().unexpected_bytes, 512u * 1024);
  EXPECT_GT(b.counters().unexpected_bytes, 0u);
  for (std::size_t i = 0; i < kMessages; ++i) {
    Bytes got(kEagerLimit);
    Operation received;
    b.receive(b.take().incoming, got.data(), got.size(), nullptr, MAD_PATH_AUTO, &received);
    ASSERT_TRUE(wait([&] { return received.done; }));
    ASSERT_EQ(got, data);
  }
  ASSERT_TRUE(wait([&] {
    for (const auto& operation : operations) {
      if (!operation->done) return false;
    }
    return true;
  }));
}

INSTANTIATE_TEST_SUITE_P(Engine, Message, ::testing::ValuesIn(kFabrics), fabric_test_name);
INSTANTIATE_TEST_SUITE_P(Lists, Message, ::testing::ValuesIn(kLists), fabric_test_name);

}  // namespace
}  // namespace mad::test
