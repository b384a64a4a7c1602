// Tagged messages between two engines: every size and path whether the message or its receive is
// first, order, wildcards, probes, claims, cancels, answers, and how they end.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tests/engine/node.h"
#include "tests/support/bytes.h"

namespace mad::test {
namespace {

mad_envelope envelope(int source, int tag, std::uint16_t context = 1) {
  return {source, tag, context};
}

/// On one fabric.
class Tagged : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Bytes in(8);
    Operation received, sent;
    b.receive_tagged(envelope(0, 0, 9), in.data(), in.size(), nullptr, MAD_PATH_AUTO, &received);
    a.send_tagged(to_b, envelope(0, 0, 9), in.data(), in.size(), nullptr, MAD_PATH_AUTO, &sent);
    ASSERT_TRUE(both_until([&] { return received.done && sent.done; }));
  }
  void TearDown() override { close_together({&a, &b}); }
  bool both_until(const std::function<bool()>& reached) {
    return progress_until({&a, &b}, reached);
  }
  bool wait_for(const mad_envelope& wanted) {
    mad_arrival arrival;
    return both_until(
        [&] { return mad_tagged_probe(b.engine(), &wanted, &arrival) == MAD_SUCCESS; });
  }

  Node a{GetParam()}, b{GetParam()};
  mad_peer* to_b = a.peer(b);
};

struct Size {
  std::uint64_t count, block;
};

TEST_P(Tagged, EveryLayoutArrivesWhoeverIsFirst) {
  unsigned seed = 0;
  for (const Size size : {Size{1, 1}, Size{3, 8}, Size{100, 10}, Size{40, 5000}, Size{3, 700000}}) {
    const TypeHandle type =
        blocks(size.count, size.block, static_cast<std::int64_t>(size.block + 3));
    const std::size_t extent = size.count * (size.block + 3);
    for (const mad_path path :
         {MAD_PATH_AUTO, MAD_PATH_GATHER, MAD_PATH_HYBRID, MAD_PATH_PIPELINE, MAD_PATH_PACK}) {
      for (const bool receive_first : {true, false}) {
        SCOPED_TRACE(testing::Message() << size.count << " blocks of " << size.block << ", path "
                                        << mad_path_name(path) << ", first " << receive_first);
        const Bytes out = pattern(extent, ++seed);
        Bytes in(extent, std::byte{0xee});
        Operation sent, received;
        const auto receive = [&] {
          b.receive_tagged(envelope(5, 6), in.data(), 1, type.get(), path, &received);
        };
        if (receive_first) receive();
        a.send_tagged(to_b, envelope(5, 6), out.data(), 1, type.get(), path, &sent, 3);
        if (!receive_first) {
          ASSERT_TRUE(wait_for(envelope(MAD_ANY_SOURCE, 6)));
          receive();
        }
        ASSERT_TRUE(both_until([&] { return sent.done && received.done; }));
        EXPECT_EQ(sent.status, MAD_SUCCESS);
        EXPECT_EQ(received.status, MAD_SUCCESS);
        EXPECT_EQ(received.arrival.sent, size.count * size.block);
        EXPECT_EQ(received.arrival.received, size.count * size.block);
        EXPECT_EQ(received.arrival.envelope.source, 5);
        EXPECT_EQ(received.arrival.envelope.tag, 6);
        EXPECT_EQ(received.arrival.flags, 3);
        for (std::size_t i = 0; i < extent - 3; ++i) {
          const bool hole = i % (size.block + 3) >= size.block;
          ASSERT_EQ(in[i], hole ? std::byte{0xee} : out[i]) << i;
        }
      }
    }
  }
}

TEST_P(Tagged, ValuesComeWithTheirMessagesWhoeverIsFirst) {
  const std::uint64_t note[2] = {1, 2};
  unsigned seed = 0;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{8}, std::size_t{5000}, std::size_t{3} << 20}) {
    for (const std::size_t length : {0, 7, 256}) {
      if (bytes > 1000000 && length != 256) continue;  // long in all
      for (const bool receive_first : {true, false}) {
        for (const std::uint32_t flags : {0u, MAD_SYNCHRONOUS}) {
          SCOPED_TRACE(testing::Message() << bytes << " bytes with " << length << ", first "
                                          << receive_first << ", flags " << flags);
          const Bytes out = pattern(bytes, ++seed);
          const Bytes value = pattern(length, ++seed);
          const mad_extension extension{seed % 4 < 2 ? note : nullptr, value.data(), value.size()};
          Bytes in(bytes, std::byte{0xee});
          Operation sent, received;
          const auto receive = [&] {
            b.receive_tagged(envelope(5, 6), in.data(), bytes, nullptr, MAD_PATH_AUTO, &received);
          };
          if (receive_first) receive();
          a.send_tagged(to_b, envelope(5, 6), out.data(), bytes, nullptr, MAD_PATH_AUTO, &sent,
                        flags, &extension);
          if (!receive_first) {
            ASSERT_TRUE(wait_for(envelope(MAD_ANY_SOURCE, 6)));
            receive();
          }
          ASSERT_TRUE(both_until([&] { return sent.done && received.done; }));
          EXPECT_EQ(received.status, MAD_SUCCESS);
          EXPECT_EQ(in, out);
          EXPECT_EQ(received.arrival.noted != 0, extension.note != nullptr);
          EXPECT_EQ(received.value,
                    std::string(reinterpret_cast<const char*>(value.data()), value.size()));
        }
      }
    }
  }
}

// Those of many that wait, each with its own.
TEST_P(Tagged, ValuesWaitWithTheirMessages) {
  constexpr int kMessages = 300;
  std::deque<Operation> sent(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    const std::string value(static_cast<std::size_t>(1 + i % 256), static_cast<char>(i));
    const mad_extension extension{nullptr, value.data(), value.size()};
    a.send_tagged(to_b, envelope(0, i), "x", 1, nullptr, MAD_PATH_AUTO,
                  &sent[static_cast<std::size_t>(i)], 0, i % 3 == 0 ? nullptr : &extension);
  }
  ASSERT_TRUE(wait_for(envelope(0, kMessages - 1)));
  for (int i = kMessages - 1; i >= 0; --i) {
    const std::string value(static_cast<std::size_t>(1 + i % 256), static_cast<char>(i));
    const mad_envelope wanted = envelope(0, i);
    mad_arrival arrival{};
    mad_message* message = nullptr;
    ASSERT_EQ(mad_tagged_claim(b.engine(), &wanted, &arrival, &message), MAD_SUCCESS);
    EXPECT_EQ(std::string(static_cast<const char*>(arrival.value), arrival.value_bytes),
              i % 3 == 0 ? "" : value);
    char in[1];
    Operation received;
    b.receive_claimed(message, in, 1, nullptr, MAD_PATH_AUTO, &received);
    ASSERT_TRUE(received.done);
    EXPECT_EQ(received.value, i % 3 == 0 ? "" : value);
  }
  ASSERT_TRUE(both_until([&] {
    return std::all_of(sent.begin(), sent.end(), [](const Operation& one) { return one.done; });
  }));
}

TEST_P(Tagged, WhatHasNoRoomIsLeftOut) {
  for (const std::size_t sent_bytes : {std::size_t{16}, std::size_t{3} << 20}) {
    for (const std::size_t room : {std::size_t{0}, std::size_t{5}, sent_bytes / 2}) {
      for (const bool receive_first : {true, false}) {
        SCOPED_TRACE(testing::Message() << sent_bytes << " into " << room << receive_first);
        const Bytes out = pattern(sent_bytes, 7);
        Bytes in(sent_bytes, std::byte{0xee});
        Operation sent, received;
        const auto receive = [&] {
          b.receive_tagged(envelope(0, 1), in.data(), room, nullptr, MAD_PATH_AUTO, &received);
        };
        if (receive_first) receive();
        a.send_tagged(to_b, envelope(0, 1), out.data(), out.size(), nullptr, MAD_PATH_AUTO, &sent);
        if (!receive_first) {
          ASSERT_TRUE(wait_for(envelope(0, 1)));
          receive();
        }
        ASSERT_TRUE(both_until([&] { return sent.done && received.done; }));
        EXPECT_EQ(received.status, MAD_SUCCESS);
        EXPECT_EQ(received.arrival.sent, sent_bytes);
        EXPECT_EQ(received.arrival.received, room);
        EXPECT_TRUE(
            std::equal(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(room), out.begin()));
        EXPECT_EQ(in[room], std::byte{0xee});
      }
    }
  }
}

TEST_P(Tagged, SynchronousOnesEndWhenTheyAreMatched) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{1} << 20}) {
    SCOPED_TRACE(bytes);
    const Bytes out = pattern(bytes, 3);
    Bytes in(bytes + 1);
    Operation sent, received;
    a.send_tagged(to_b, envelope(0, 1), out.data(), bytes, nullptr, MAD_PATH_AUTO, &sent,
                  MAD_SYNCHRONOUS);
    ASSERT_TRUE(wait_for(envelope(0, 1)));
    for (int i = 0; i < 100; ++i) a.progress(), b.progress();
    EXPECT_FALSE(sent.done) << "a probe is no receive";
    b.receive_tagged(envelope(0, 1), in.data(), in.size(), nullptr, MAD_PATH_AUTO, &received);
    ASSERT_TRUE(both_until([&] { return sent.done && received.done; }));
    EXPECT_EQ(sent.status, MAD_SUCCESS);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
  }
}

TEST_P(Tagged, ClaimedOnesAreReceivedByWhoClaimedThem) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{1} << 20}) {
    SCOPED_TRACE(bytes);
    const Bytes first = pattern(bytes, 1), second = pattern(bytes, 2);
    Bytes in(bytes), other(bytes);
    Operation sent[2], received, of_other;
    a.send_tagged(to_b, envelope(0, 1), first.data(), bytes, nullptr, MAD_PATH_AUTO, &sent[0],
                  MAD_SYNCHRONOUS);
    a.send_tagged(to_b, envelope(0, 1), second.data(), bytes, nullptr, MAD_PATH_AUTO, &sent[1]);
    ASSERT_TRUE(wait_for(envelope(0, 1)));
    const mad_envelope wanted = envelope(MAD_ANY_SOURCE, MAD_ANY_TAG);
    mad_message* message = nullptr;
    mad_arrival arrival;
    ASSERT_EQ(mad_tagged_claim(b.engine(), &wanted, &arrival, &message), MAD_SUCCESS);
    EXPECT_EQ(arrival.sent, bytes);
    EXPECT_EQ(arrival.envelope.tag, 1);
    ASSERT_TRUE(wait_for(wanted)) << "the other one";
    b.receive_tagged(wanted, other.data(), bytes, nullptr, MAD_PATH_AUTO, &of_other);
    ASSERT_TRUE(both_until([&] { return of_other.done; }));
    EXPECT_EQ(other, second);
    EXPECT_FALSE(sent[0].done) << "it is claimed, and not received";
    b.receive_claimed(message, in.data(), bytes, nullptr, MAD_PATH_AUTO, &received);
    ASSERT_TRUE(both_until([&] { return received.done && sent[0].done && sent[1].done; }));
    EXPECT_EQ(in, first);
  }
}

TEST_P(Tagged, DiscardedOnesLetTheirSenderGo) {
  const Bytes out = pattern(1 << 20, 1);
  Operation sent;
  a.send_tagged(to_b, envelope(0, 1), out.data(), out.size(), nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(wait_for(envelope(0, 1)));
  const mad_envelope wanted = envelope(0, 1);
  mad_message* message = nullptr;
  mad_arrival arrival;
  ASSERT_EQ(mad_tagged_claim(b.engine(), &wanted, &arrival, &message), MAD_SUCCESS);
  mad_message_discard(b.engine(), message);
  EXPECT_EQ(mad_tagged_probe(b.engine(), &wanted, &arrival), MAD_NOT_NOW);
  ASSERT_TRUE(both_until([&] { return sent.done; }));
  EXPECT_EQ(sent.status, MAD_SUCCESS);
}

TEST_P(Tagged, CancelledReceivesTakeNothing) {
  Bytes in(8, std::byte{0xee}), other(8);
  const Bytes out = pattern(8, 4);
  Operation cancelled, received, sent;
  b.receive_tagged(envelope(0, 1), in.data(), 8, nullptr, MAD_PATH_AUTO, &cancelled);
  b.receive_tagged(envelope(0, 1), other.data(), 8, nullptr, MAD_PATH_AUTO, &received);
  EXPECT_EQ(b.counters().waiting_receives, 2u);
  ASSERT_EQ(mad_tagged_cancel(b.engine(), cancelled.receive), MAD_SUCCESS);
  EXPECT_EQ(b.counters().waiting_receives, 1u);
  a.send_tagged(to_b, envelope(0, 1), out.data(), 8, nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(both_until([&] { return received.done && sent.done; }));
  EXPECT_EQ(other, out);
  EXPECT_EQ(in, Bytes(8, std::byte{0xee}));
  EXPECT_EQ(cancelled.callbacks, 0);
}

TEST_P(Tagged, OnceItHasItsMessageAReceiveIsNotCancelled) {
  const Bytes out = pattern(4 << 20, 4);
  Bytes in(out.size());
  Operation received, sent;
  a.send_tagged(to_b, envelope(0, 1), out.data(), out.size(), nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(wait_for(envelope(0, 1)));
  b.receive_tagged(envelope(0, 1), in.data(), in.size(), nullptr, MAD_PATH_AUTO, &received);
  if (!received.done) {
    EXPECT_EQ(mad_tagged_cancel(b.engine(), received.receive), MAD_NOT_NOW);
  }
  ASSERT_TRUE(both_until([&] { return received.done && sent.done; }));
  EXPECT_EQ(in, out);
}

TEST_P(Tagged, EachFindsThoseThatWait) {
  Operation operations[4];
  char in[4];
  for (int i = 0; i < 4; ++i) {
    b.receive_tagged(envelope(i % 2 == 0 ? MAD_ANY_SOURCE : 3, i), &in[i], 1, nullptr,
                     MAD_PATH_AUTO, &operations[i]);
  }
  struct Seen {
    mad_engine* engine;
    const mad_op* stays;
    int count = 0;
  } seen{b.engine(), &operations[2].slot};
  ASSERT_EQ(mad_tagged_each(
                b.engine(),
                [](void* context, mad_receive* receive, mad_op* op) {
                  auto* const all = static_cast<Seen*>(context);
                  ++all->count;
                  if (op != all->stays) {
                    EXPECT_EQ(mad_tagged_cancel(all->engine, receive), MAD_SUCCESS);
                  }
                },
                &seen),
            MAD_SUCCESS);
  EXPECT_EQ(seen.count, 4);
  EXPECT_EQ(b.counters().waiting_receives, 1u);
  Operation sent;
  a.send_tagged(to_b, envelope(7, 2), "x", 1, nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(both_until([&] { return operations[2].done && sent.done; }));
  EXPECT_EQ(in[2], 'x');
}

// Whether short messages may leave without an operation.
bool takes_short_packets(const std::string& fabric) {
  return fabric == "shm" || fabric == "ucx:posix,cma" || fabric == "tcp";
}

TEST_P(Tagged, WithoutASlotTheyLeaveAtOnceOrNotAtAll) {
  const Bytes out = pattern(1 << 20, 4);
  const mad_envelope to = envelope(0, 1);
  const auto send = [&](std::size_t bytes, std::uint32_t flags) {
    return mad_tagged_send(a.engine(), to_b, &to, flags, nullptr, out.data(), bytes, nullptr,
                           MAD_PATH_AUTO, nullptr);
  };
  EXPECT_EQ(send(8, MAD_SYNCHRONOUS), MAD_NOT_NOW);
  EXPECT_EQ(send(out.size(), 0), MAD_NOT_NOW);
  const int result = send(8, 0);
  const bool leaves = takes_short_packets(GetParam());
  EXPECT_EQ(result, leaves ? MAD_SUCCESS : MAD_NOT_NOW);
  Bytes in(8);
  Operation received, sent;
  if (result == MAD_NOT_NOW) {
    a.send_tagged(to_b, to, out.data(), 8, nullptr, MAD_PATH_AUTO, &sent);
  }
  b.receive_tagged(to, in.data(), 8, nullptr, MAD_PATH_AUTO, &received);
  ASSERT_TRUE(both_until([&] { return received.done && (sent.done || leaves); }));
  EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin()));
  EXPECT_EQ(b.counters().waiting_messages, 0u) << "nothing was sent twice";
}

TEST_P(Tagged, OneRunLeavesTheShortWayOrNotAtAll) {
  const Bytes out = pattern(1 << 20, 6);
  const mad_envelope to = envelope(3, 1);
  const auto send = [&](std::size_t bytes, std::uint32_t flags) {
    return mad_tagged_send_short(to_b, &to, flags, nullptr, out.data(), bytes, nullptr);
  };
  EXPECT_EQ(send(8, MAD_SYNCHRONOUS), MAD_NOT_NOW);
  EXPECT_EQ(send(out.size(), 0), MAD_NOT_NOW);
  const bool leaves = takes_short_packets(GetParam());
  const int expected = leaves ? MAD_SUCCESS : MAD_NOT_NOW;
  EXPECT_EQ(send(24, 5), expected);
  EXPECT_EQ(mad_tagged_send_short(to_b, &to, 0, nullptr, nullptr, 0, nullptr), expected);
  Operation at_least;
  a.send_tagged(to_b, to, out.data(), 1, nullptr, MAD_PATH_AUTO, &at_least);
  Bytes in(24);
  Operation received[3];
  for (int i = leaves ? 0 : 2; i < 3; ++i) {
    b.receive_tagged(to, in.data(), in.size(), nullptr, MAD_PATH_AUTO, &received[i]);
    ASSERT_TRUE(both_until([&] { return received[i].done; }));
    if (i > 0) continue;
    EXPECT_EQ(received[0].bytes, 24u);
    EXPECT_EQ(received[0].arrival.flags, 5);
    EXPECT_EQ(received[0].arrival.envelope.source, 3);
    EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin()));
  }
  EXPECT_EQ(received[1].bytes, 0u);
  EXPECT_EQ(received[2].bytes, 1u);
  EXPECT_EQ(b.counters().waiting_messages, 0u) << "what did not leave was not sent";
}

TEST_P(Tagged, WhatAFunctionWritesLeavesTheShortWayOrNotAtAll) {
  struct Pattern {
    std::size_t bytes;
    mutable int written;
  };
  const mad_writer write = [](const void* context, void* out) {
    const auto& what = *static_cast<const Pattern*>(context);
    const Bytes bytes = pattern(what.bytes, 8);
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(out));
    ++what.written;
  };
  const bool leaves = takes_short_packets(GetParam());
  const mad_envelope to = envelope(3, 1);
  const Pattern most{1 << 20, 0}, some{77, 0}, none{0, 0};
  const std::uint64_t before = a.counters().sends[MAD_PATH_AUTO];
  const auto send = [&](const Pattern& what, std::uint32_t flags, mad_writer by) {
    return mad_tagged_send_written(to_b, &to, flags, nullptr, what.bytes, by, &what);
  };
  EXPECT_EQ(send(most, 0, write), MAD_NOT_NOW);
  EXPECT_EQ(send(some, MAD_SYNCHRONOUS, write), MAD_NOT_NOW);
  EXPECT_EQ(send(some, 0, nullptr), MAD_NOT_NOW);
  EXPECT_EQ(send(some, 0x200, write), MAD_NOT_NOW) << "an unknown flag";
  for (const mad_envelope& wrong : {envelope(-1, 1), envelope(3, -1)}) {
    EXPECT_EQ(mad_tagged_send_written(to_b, &wrong, 0, nullptr, some.bytes, write, &some),
              MAD_NOT_NOW);
  }
  const Bytes value = pattern(MAD_VALUE_MAX + 1, 7);
  const mad_extension long_value{nullptr, value.data(), MAD_VALUE_MAX + 1};
  EXPECT_EQ(mad_tagged_send_written(to_b, &to, 0, &long_value, some.bytes, write, &some),
            MAD_NOT_NOW);
  EXPECT_EQ(most.written + some.written, 0) << "what does not leave is not written";
  for (const Pattern* const what : {&some, &none}) {
    ASSERT_EQ(send(*what, 5, write), leaves ? MAD_SUCCESS : MAD_NOT_NOW);
    EXPECT_EQ(what->written, leaves ? 1 : 0);
    if (!leaves) continue;
    Bytes in(what->bytes);
    Operation received;
    b.receive_tagged(to, in.data(), in.size(), nullptr, MAD_PATH_AUTO, &received);
    ASSERT_TRUE(both_until([&] { return received.done; }));
    EXPECT_EQ(received.bytes, what->bytes);
    EXPECT_EQ(received.arrival.flags, 5);
    EXPECT_EQ(in, pattern(what->bytes, 8));
  }
  EXPECT_EQ(a.counters().sends[MAD_PATH_AUTO] - before, leaves ? 1u : 0u);
  EXPECT_EQ(b.counters().waiting_messages, 0u);
}

TEST_P(Tagged, WhatTravelsAlongLeavesTheShortWayOrNotAtAll) {
  const std::uint64_t note[2] = {11, 12};
  const Bytes value = pattern(MAD_VALUE_MAX, 7), out = pattern(33, 6);
  const mad_envelope to = envelope(3, 1);
  const bool leaves = takes_short_packets(GetParam());
  const auto send = [&](const mad_extension& extension) {
    return mad_tagged_send_short(to_b, &to, 0, &extension, out.data(), out.size(), nullptr);
  };
  EXPECT_EQ(send({nullptr, value.data(), MAD_VALUE_MAX + 1}), MAD_NOT_NOW);
  EXPECT_EQ(send({nullptr, nullptr, 1}), MAD_NOT_NOW);
  for (const std::uint64_t* const its_note : {static_cast<const std::uint64_t*>(nullptr), note}) {
    for (const std::size_t bytes : {0, 1, 8, 9, MAD_VALUE_MAX}) {
      const mad_extension extension{its_note, value.data(), bytes};
      ASSERT_EQ(send(extension), leaves ? MAD_SUCCESS : MAD_NOT_NOW) << bytes;
      if (!leaves) continue;
      Bytes in(out.size());
      Operation received;
      b.receive_tagged(to, in.data(), in.size(), nullptr, MAD_PATH_AUTO, &received);
      ASSERT_TRUE(both_until([&] { return received.done; }));
      EXPECT_EQ(in, out);
      EXPECT_EQ(received.value, std::string(reinterpret_cast<const char*>(value.data()), bytes));
      EXPECT_EQ(received.arrival.noted != 0, its_note != nullptr);
      if (its_note != nullptr) {
        EXPECT_EQ(received.arrival.note[1], note[1]);
      }
    }
  }
  EXPECT_EQ(b.counters().waiting_messages, 0u);
}

TEST_P(Tagged, LayoutsLeaveTheShortWayOrNotAtAll) {
  const TypeHandle columns(test::blocks(10, 4, 8)), rows(test::blocks(10, 8, 16));
  const Bytes out = pattern(10 * 16, 6);
  const mad_envelope to = envelope(3, 1);
  const bool leaves = takes_short_packets(GetParam());
  const int sent = mad_tagged_send_short(to_b, &to, 0, nullptr, out.data(), 2, columns.get());
  EXPECT_EQ(sent, leaves ? MAD_SUCCESS : MAD_NOT_NOW);
  EXPECT_EQ(a.counters().sends[MAD_PATH_PIPELINE], leaves ? 1u : 0u);
  Operation received, sends;
  if (!leaves) a.send_tagged(to_b, to, out.data(), 2, columns.get(), MAD_PATH_AUTO, &sends);
  Bytes in(10 * 16);
  b.receive_tagged(to, in.data(), 1, rows.get(), MAD_PATH_AUTO, &received);
  ASSERT_TRUE(both_until([&] { return received.done; }));
  EXPECT_EQ(received.bytes, 80u);
  EXPECT_EQ(b.counters().recvs[MAD_PATH_PIPELINE], 1u);
  for (std::size_t i = 0; i < 80; ++i) {
    EXPECT_EQ(in[i / 8 * 16 + i % 8], out[i / 40 * 76 + i % 40 / 4 * 8 + i % 4]) << i;
  }
}

TEST_P(Tagged, APeerIsFullUntilItsWordThatItTookThemIsRead) {
  const Bytes out = pattern(8192, 5);
  const mad_envelope to = envelope(0, 1);
  const auto at_once = [&] {
    return mad_tagged_send(a.engine(), to_b, &to, 0, nullptr, out.data(), out.size(), nullptr,
                           MAD_PATH_AUTO, nullptr);
  };
  EXPECT_EQ(mad_peer_is_full(nullptr, 1), 0);
  EXPECT_EQ(mad_peer_is_full(to_b, out.size()), 0);
  std::uint64_t sent = 0;
  while (sent < 1000 && at_once() == MAD_SUCCESS) {
    ++sent;
    ASSERT_TRUE(both_until([&] { return b.counters().waiting_messages == sent; }));
  }
  const bool leaves = takes_short_packets(GetParam());
  EXPECT_EQ(sent > 0, leaves);
  EXPECT_LT(sent, 1000u) << "nobody received any";
  const bool looks = leaves && std::string(GetParam()) != "tcp";  // where little is lost by it
  EXPECT_EQ(mad_peer_is_full(to_b, out.size()), looks ? 1 : 0);
  EXPECT_EQ(mad_peer_is_full(to_b, UINT64_MAX), 0) << "it never has room for that";
  Bytes in(out.size());
  for (std::uint64_t i = 0; i < sent; ++i) {
    Operation received;
    b.receive_tagged(to, in.data(), in.size(), nullptr, MAD_PATH_AUTO, &received);
    ASSERT_TRUE(progress_until({&b}, [&] { return received.done; }));
  }
  EXPECT_EQ(mad_peer_is_full(to_b, out.size()), looks ? 1 : 0) << "nobody looked";
  ASSERT_TRUE(both_until([&] { return mad_peer_is_full(to_b, out.size()) == 0; }));
  if (leaves) {
    EXPECT_TRUE(both_until([&] { return at_once() == MAD_SUCCESS; }));
  } else {
    EXPECT_EQ(at_once(), MAD_NOT_NOW);
  }
}

// What waits for a message of the dead is its owner's affair; what had come of one is still there.
TEST_P(Tagged, OfOneWhoIsGoneTheyFailOrAreThere) {
  const Bytes whole = pattern(100, 1), rest = pattern(4 << 20, 2);
  Operation sent[2], cut, kept, never;
  Bytes in(rest.size());
  a.send_tagged(to_b, envelope(0, 1), whole.data(), whole.size(), nullptr, MAD_PATH_AUTO, &sent[0]);
  a.send_tagged(to_b, envelope(0, 2), rest.data(), rest.size(), nullptr, MAD_PATH_AUTO, &sent[1]);
  ASSERT_TRUE(wait_for(envelope(0, 2)));
  b.receive_tagged(envelope(0, 3), in.data(), 1, nullptr, MAD_PATH_AUTO, &never);
  a.close();
  ASSERT_TRUE(progress_until({&b}, [&] { return !b.departures.empty(); }));
  b.receive_tagged(envelope(0, 1), in.data(), in.size(), nullptr, MAD_PATH_AUTO, &kept);
  EXPECT_EQ(kept.status, MAD_SUCCESS);
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), in.begin()));
  b.receive_tagged(envelope(0, 2), in.data(), in.size(), nullptr, MAD_PATH_AUTO, &cut);
  EXPECT_LT(cut.status, 0);
  EXPECT_TRUE(cut.matched);
  EXPECT_EQ(cut.arrival.envelope.tag, 2);
  EXPECT_EQ(cut.arrival.received, 0u);
  EXPECT_FALSE(never.done);
  EXPECT_EQ(mad_tagged_cancel(b.engine(), never.receive), MAD_SUCCESS);
  EXPECT_TRUE(sent[1].done);
}

TEST_P(Tagged, ClosingGivesBackWhatWaits) {
  Operation waits, sent;
  Bytes in(8);
  const Bytes out = pattern(1 << 20, 2);
  b.receive_tagged(envelope(0, 3), in.data(), 1, nullptr, MAD_PATH_AUTO, &waits);
  a.send_tagged(to_b, envelope(0, 2), out.data(), out.size(), nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(wait_for(envelope(0, 2)));
  close_together({&a, &b});
  EXPECT_EQ(waits.callbacks, 1);
  EXPECT_EQ(waits.status, MAD_ERR_CLOSED);
  EXPECT_FALSE(waits.matched);
  EXPECT_EQ(sent.callbacks, 1);
}

// A program of sends, receives, probes and cancels, compared with two lists.
class Model {
 public:
  struct Message {
    mad_envelope envelope;
    unsigned seed;
  };
  struct Receive {
    mad_envelope wanted;
    std::size_t number;
  };
  static bool matches(const mad_envelope& wanted, const mad_envelope& sent) {
    return wanted.context == sent.context &&
           (wanted.source == MAD_ANY_SOURCE || wanted.source == sent.source) &&
           (wanted.tag == MAD_ANY_TAG || wanted.tag == sent.tag);
  }
  /// The receive that the message goes to, if it does not wait.
  std::optional<std::size_t> arrive(const Message& message) {
    for (auto receive = receives.begin(); receive != receives.end(); ++receive) {
      if (!matches(receive->wanted, message.envelope)) continue;
      const std::size_t number = receive->number;
      receives.erase(receive);
      return number;
    }
    messages.push_back(message);
    return {};
  }
  std::optional<Message> post(const Receive& receive) {
    for (auto message = messages.begin(); message != messages.end(); ++message) {
      if (!matches(receive.wanted, message->envelope)) continue;
      const Message found = *message;
      messages.erase(message);
      return found;
    }
    receives.push_back(receive);
    return {};
  }
  std::deque<Message> messages;
  std::deque<Receive> receives;
};

TEST_P(Tagged, RandomProgramsMatchAsLiteralListsDo) {
  constexpr std::size_t kSizes[] = {0, 1, 8, 300, 5000, 70000, 300000};
  constexpr std::size_t kMost = 300000;
  for (unsigned program = 0; program < 6; ++program) {
    SCOPED_TRACE(program);
    std::minstd_rand random(program + 1);
    const auto any = [&](int n) {
      return static_cast<int>(random() / 7 % static_cast<unsigned>(n));
    };
    const auto size_of = [&](unsigned seed) { return kSizes[seed % 7]; };
    Model model;
    struct Posted {
      Operation operation;
      Bytes memory = Bytes(kMost);
      std::optional<Model::Message> expected;
      bool cancelled = false;
    };
    std::deque<Posted> posted;
    std::deque<Operation> sent;
    std::deque<Bytes> payloads;
    std::size_t arrived = 0;
    const auto wanted = [&] {
      return envelope(any(3) == 0 ? MAD_ANY_SOURCE : any(3), any(3) == 0 ? MAD_ANY_TAG : any(3),
                      static_cast<std::uint16_t>(any(2)));
    };
    for (unsigned step = 0; step < 250; ++step) {
      const int action = any(8);
      if (action < 4) {
        const Model::Message message{envelope(any(3), any(3), static_cast<std::uint16_t>(any(2))),
                                     step};
        payloads.push_back(pattern(size_of(step), step));
        sent.emplace_back();
        a.send_tagged(to_b, message.envelope, payloads.back().data(), payloads.back().size(),
                      nullptr, MAD_PATH_AUTO, &sent.back(), any(4) == 0 ? MAD_SYNCHRONOUS : 0);
        const auto receive = model.arrive(message);
        if (receive) posted[*receive].expected = message;
        ++arrived;
        // The model knows no time on the way: all that was sent is here, matched or not.
        ASSERT_TRUE(both_until([&] {
          return b.counters().waiting_messages == model.messages.size() &&
                 b.counters().waiting_receives == model.receives.size();
        }));
      } else if (action < 7) {
        Posted& receive = posted.emplace_back();
        const mad_envelope what = wanted();
        receive.expected = model.post({what, posted.size() - 1});
        b.receive_tagged(what, receive.memory.data(), kMost, nullptr, MAD_PATH_AUTO,
                         &receive.operation);
      } else if (any(2) == 0 && !model.receives.empty()) {
        const auto which = model.receives.begin() + any(static_cast<int>(model.receives.size()));
        Posted& receive = posted[which->number];
        receive.cancelled = true;
        ASSERT_EQ(mad_tagged_cancel(b.engine(), receive.operation.receive), MAD_SUCCESS);
        model.receives.erase(which);
      } else {
        const mad_envelope what = wanted();
        const auto found =
            std::find_if(model.messages.begin(), model.messages.end(),
                         [&](const auto& m) { return Model::matches(what, m.envelope); });
        mad_arrival arrival;
        const int result = mad_tagged_probe(b.engine(), &what, &arrival);
        ASSERT_EQ(result, found == model.messages.end() ? MAD_NOT_NOW : MAD_SUCCESS);
        if (result == MAD_SUCCESS) {
          EXPECT_EQ(arrival.sent, size_of(found->seed));
        }
      }
    }
    while (!model.messages.empty()) {
      Posted& receive = posted.emplace_back();
      receive.expected = model.post({model.messages.front().envelope, posted.size() - 1});
      b.receive_tagged(receive.expected->envelope, receive.memory.data(), kMost, nullptr,
                       MAD_PATH_AUTO, &receive.operation);
    }
    ASSERT_TRUE(both_until([&] {
      const auto is_done = [](const Posted& r) { return r.operation.done || !r.expected; };
      return std::all_of(posted.begin(), posted.end(), is_done) &&
             std::all_of(sent.begin(), sent.end(), [](const Operation& o) { return o.done; });
    }));
    for (Posted& receive : posted) {
      EXPECT_EQ(receive.operation.done, receive.expected.has_value());
      if (!receive.expected) {
        if (!receive.cancelled) {
          EXPECT_EQ(mad_tagged_cancel(b.engine(), receive.operation.receive), MAD_SUCCESS);
        }
        continue;
      }
      const Bytes payload = pattern(size_of(receive.expected->seed), receive.expected->seed);
      ASSERT_EQ(receive.operation.arrival.sent, payload.size());
      EXPECT_TRUE(std::equal(payload.begin(), payload.end(), receive.memory.begin()));
    }
    EXPECT_GT(arrived, 50u);
    EXPECT_EQ(b.counters().waiting_messages, 0u);
    EXPECT_EQ(b.counters().waiting_receives, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Tagged, ::testing::ValuesIn(kFabrics), fabric_test_name);

TEST(TaggedToSelf, ArrivesInProgress) {
  Node node("tcp");
  mad_peer* const me = node.peer(node);
  Operation sent, received;
  char in = 0;
  node.send_tagged(me, envelope(0, 1), "x", 1, nullptr, MAD_PATH_AUTO, &sent);
  node.receive_tagged(envelope(0, 1), &in, 1, nullptr, MAD_PATH_AUTO, &received);
  ASSERT_TRUE(progress_until({&node}, [&] { return sent.done && received.done; }));
  EXPECT_EQ(in, 'x');
}

// A type is needed no more by its owner once a receive has it.
TEST(TaggedTypes, MayBeReleasedWhileTheirReceiveWaits) {
  Node node("loopback");
  mad_peer* const me = node.peer(node);
  TypeHandle type = blocks(2, 1, 2);
  char in[3] = {'.', '.', '.'};
  Operation sent, received;
  node.receive_tagged(envelope(0, 1), in, 1, type.get(), MAD_PATH_AUTO, &received);
  type.reset();
  node.send_tagged(me, envelope(0, 1), "ab", 2, nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(progress_until({&node}, [&] { return sent.done && received.done; }));
  EXPECT_EQ(std::string(in, 3), "a.b");
}

}  // namespace
}  // namespace mad::test
