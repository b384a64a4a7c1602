// Tagged messages of an engine to itself: when they and their sends are complete, what is kept of
// them, and that they are matched as literal lists have it.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/node.h"
#include "tests/support/bytes.h"

namespace mad::test {
namespace {

constexpr std::size_t kLong = 1 << 20;  // too long to be kept

mad_envelope envelope(int source, int tag, std::uint16_t context = 1) {
  return {source, tag, context};
}

/// Nothing here makes progress: what happens does so in the calls.
class ToOneself : public ::testing::Test {
 protected:
  void send(const mad_envelope& to, const Bytes& out, Operation* sent, std::uint32_t flags = 0) {
    node.send_tagged(me, to, out.data(), out.size(), nullptr, MAD_PATH_AUTO, sent, flags);
  }
  void receive(const mad_envelope& wanted, Bytes& in, Operation* received) {
    node.receive_tagged(wanted, in.data(), in.size(), nullptr, MAD_PATH_AUTO, received);
  }
  int send_without_slot(const Bytes& out, std::uint32_t flags = 0) {
    const mad_envelope to = envelope(0, 1);
    return mad_tagged_send(node.engine(), me, &to, flags, nullptr, out.data(), out.size(), nullptr,
                           MAD_PATH_AUTO, nullptr);
  }
  mad_message* claim(const mad_envelope& wanted) {
    mad_arrival arrival{};
    mad_message* message = nullptr;
    EXPECT_EQ(mad_tagged_claim(node.engine(), &wanted, &arrival, &message), MAD_SUCCESS);
    return message;
  }

  Node node{"tcp"};
  mad_peer* me = node.peer(node);
};

TEST_F(ToOneself, AReceiveThatWaitsIsCompletedByTheSend) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, kLong}) {
    for (const std::uint32_t flags : {0u, MAD_SYNCHRONOUS}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, flags " << flags);
      const Bytes out = pattern(bytes, 1);
      Bytes in(bytes);
      Operation received;
      receive(envelope(MAD_ANY_SOURCE, 1), in, &received);
      EXPECT_FALSE(received.done);
      EXPECT_EQ(send_without_slot(out, flags | 9), MAD_SUCCESS);
      EXPECT_TRUE(received.done);
      EXPECT_EQ(in, out);
      EXPECT_EQ(received.arrival.sent, bytes);
      EXPECT_EQ(received.arrival.received, bytes);
      EXPECT_EQ(received.arrival.envelope.source, 0);
      EXPECT_EQ(received.arrival.flags, 9);
    }
  }
  EXPECT_EQ(node.counters().self_messages, 6u);
  EXPECT_EQ(node.counters().self_bytes, 2 * (8 + kLong));
  EXPECT_EQ(node.counters().unexpected_bytes, 0u);
  EXPECT_EQ(node.counters().packets_sent, 0u);
}

TEST_F(ToOneself, AShortOneIsKeptForItsReceive) {
  Bytes out = pattern(8, 1), in(8);
  Operation sent, received;
  send(envelope(0, 1), out, &sent);
  EXPECT_TRUE(sent.done) << "nobody has to receive it for that";
  const Bytes as_sent = out;
  std::fill(out.begin(), out.end(), std::byte{0});
  EXPECT_EQ(node.counters().waiting_messages, 1u);
  EXPECT_EQ(node.counters().unexpected_bytes, 8u);
  EXPECT_TRUE(mad_engine_idle(node.engine()));
  receive(envelope(0, MAD_ANY_TAG), in, &received);
  EXPECT_TRUE(received.done);
  EXPECT_EQ(in, as_sent);
  EXPECT_EQ(node.counters().waiting_messages, 0u);
}

TEST_F(ToOneself, ALongOrSynchronousOneWaitsForItsReceive) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, kLong}) {
    SCOPED_TRACE(bytes);
    const std::uint32_t flags = bytes < kLong ? MAD_SYNCHRONOUS : 0;
    const Bytes out = pattern(bytes, 1);
    Bytes in(bytes);
    Operation sent, received;
    EXPECT_EQ(send_without_slot(out, flags), MAD_NOT_NOW);
    EXPECT_EQ(node.counters().waiting_messages, 0u);
    send(envelope(0, 1), out, &sent, flags);
    for (int i = 0; i < 10; ++i) node.progress();
    EXPECT_FALSE(sent.done);
    EXPECT_FALSE(mad_engine_idle(node.engine()));
    EXPECT_TRUE(mad_engine_flushed(node.engine()));
    mad_arrival arrival{};
    const mad_envelope wanted = envelope(0, 1);
    EXPECT_EQ(mad_tagged_probe(node.engine(), &wanted, &arrival), MAD_SUCCESS);
    EXPECT_EQ(arrival.sent, bytes);
    EXPECT_FALSE(sent.done) << "a probe is no receive";
    receive(wanted, in, &received);
    EXPECT_TRUE(received.done);
    EXPECT_TRUE(sent.done);
    EXPECT_EQ(sent.status, MAD_SUCCESS);
    EXPECT_EQ(in, out);
    EXPECT_TRUE(mad_engine_idle(node.engine()));
  }
  EXPECT_EQ(node.counters().unexpected_bytes, 0u);
}

TEST_F(ToOneself, WhatIsKeptIsBoundedAndThenSendsWait) {
  const Bytes out = pattern(4096, 2);
  std::size_t kept = 0;
  while (kept < 1000 && send_without_slot(out) == MAD_SUCCESS) ++kept;
  EXPECT_GT(kept, 50u);
  EXPECT_LE(kept * out.size(), std::size_t{256} << 10);
  Operation waits;
  send(envelope(0, 1), out, &waits);
  EXPECT_FALSE(waits.done);
  Bytes in(out.size());
  for (std::size_t i = 0; i <= kept; ++i) {
    EXPECT_FALSE(waits.done);
    Operation received;
    receive(envelope(0, 1), in, &received);
    EXPECT_TRUE(received.done);
    EXPECT_EQ(in, out);
  }
  EXPECT_TRUE(waits.done);
}

TEST_F(ToOneself, LayoutsOnBothSidesOnEveryPath) {
  const TypeHandle from = blocks(1000, 6, 10), into = blocks(2000, 3, 4);
  for (int path = 0; path < MAD_PATH_COUNT; ++path) {
    if (path == MAD_PATH_OFF) continue;  // the caller packs
    for (const bool receive_first : {true, false}) {
      SCOPED_TRACE(testing::Message() << "path " << path << ", first " << receive_first);
      const Bytes out = pattern(10000, static_cast<unsigned>(path));
      Bytes in(8000, std::byte{0xee});
      Operation sent, received;
      const auto receive = [&] {
        node.receive_tagged(envelope(0, 1), in.data(), 1, into.get(), static_cast<mad_path>(path),
                            &received);
      };
      if (receive_first) receive();
      node.send_tagged(me, envelope(0, 1), out.data(), 1, from.get(), static_cast<mad_path>(path),
                       &sent);
      if (!receive_first) receive();
      ASSERT_TRUE(sent.done && received.done);
      EXPECT_EQ(received.arrival.received, 6000u);
      for (std::size_t i = 0; i < 6000; ++i) {
        ASSERT_EQ(in[i / 3 * 4 + i % 3], out[i / 6 * 10 + i % 6]) << i;
      }
      for (std::size_t i = 3; i < in.size(); i += 4) ASSERT_EQ(in[i], std::byte{0xee}) << i;
    }
  }
}

// Its types are needed no more by their owner once the call has them.
TEST_F(ToOneself, TypesMayBeReleasedWhileASendWaits) {
  TypeHandle type = blocks(kLong / 2, 1, 2);
  const Bytes out = pattern(kLong, 3);
  Bytes in(kLong / 2);
  Operation sent, received;
  node.send_tagged(me, envelope(0, 1), out.data(), 1, type.get(), MAD_PATH_AUTO, &sent);
  EXPECT_FALSE(sent.done);
  type.reset();
  receive(envelope(0, 1), in, &received);
  ASSERT_TRUE(sent.done && received.done);
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(in[i], out[2 * i]) << i;
}

TEST_F(ToOneself, WhatHasNoRoomIsLeftOut) {
  for (const std::size_t bytes : {std::size_t{16}, kLong}) {
    for (const bool receive_first : {true, false}) {
      const Bytes out = pattern(bytes, 7);
      Bytes in(5);
      Operation sent, received;
      if (receive_first) receive(envelope(0, 1), in, &received);
      send(envelope(0, 1), out, &sent);
      if (!receive_first) receive(envelope(0, 1), in, &received);
      EXPECT_TRUE(sent.done);
      EXPECT_EQ(received.status, MAD_SUCCESS);
      EXPECT_EQ(received.arrival.sent, bytes);
      EXPECT_EQ(received.arrival.received, 5u);
      EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin()));
    }
  }
}

TEST_F(ToOneself, ValuesAndNotesComeWithTheirMessages) {
  const std::uint64_t note[2] = {1, 2};
  for (const std::size_t bytes : {std::size_t{8}, kLong}) {
    for (const bool receive_first : {true, false}) {
      const std::string value = "value " + std::to_string(bytes);
      const mad_extension extension{note, value.data(), value.size()};
      const Bytes out = pattern(bytes, 7);
      Bytes in(bytes);
      Operation sent, received;
      if (receive_first) receive(envelope(0, 1), in, &received);
      node.send_tagged(me, envelope(0, 1), out.data(), bytes, nullptr, MAD_PATH_AUTO, &sent, 0,
                       &extension);
      if (!receive_first) receive(envelope(0, 1), in, &received);
      EXPECT_EQ(received.value, value);
      EXPECT_TRUE(received.arrival.noted);
      EXPECT_EQ(received.arrival.note[1], 2u);
    }
  }
}

TEST_F(ToOneself, ClaimedOnesAreReceivedOrDiscarded) {
  for (const std::size_t bytes : {std::size_t{8}, kLong}) {
    SCOPED_TRACE(bytes);
    const Bytes first = pattern(bytes, 1), second = pattern(bytes, 2);
    Bytes in(bytes);
    Operation sent[2], received;
    send(envelope(0, 1), first, &sent[0]);
    send(envelope(0, 1), second, &sent[1]);
    mad_message* const one = claim(envelope(0, 1));
    mad_message* const other = claim(envelope(MAD_ANY_SOURCE, MAD_ANY_TAG));
    EXPECT_EQ(sent[0].done, bytes < kLong);
    mad_message_discard(node.engine(), one);
    EXPECT_TRUE(sent[0].done);
    EXPECT_EQ(sent[0].status, MAD_SUCCESS);
    node.receive_claimed(other, in.data(), in.size(), nullptr, MAD_PATH_AUTO, &received);
    EXPECT_TRUE(received.done && sent[1].done);
    EXPECT_EQ(in, second);
  }
}

TEST_F(ToOneself, ClosingGivesBackWhatWaits) {
  const Bytes out = pattern(kLong, 2);
  Bytes in(8);
  Operation sent[2], kept, waits;
  send(envelope(0, 1), out, &sent[0]);
  send(envelope(0, 2), out, &sent[1]);
  send(envelope(0, 3), in, &kept);
  receive(envelope(0, 4), in, &waits);
  (void)claim(envelope(0, 2));
  node.close();
  for (const Operation& each : sent) {
    EXPECT_EQ(each.callbacks, 1);
    EXPECT_EQ(each.status, MAD_ERR_CLOSED);
  }
  EXPECT_EQ(kept.callbacks, 1);
  EXPECT_EQ(waits.status, MAD_ERR_CLOSED);
}

// Two lists, in the order in which messages and receives came.
struct Model {
  struct Sent {
    mad_envelope envelope;
    unsigned seed;
    std::size_t number;
  };
  struct Posted {
    mad_envelope wanted;
    std::size_t number;
  };
  static bool matches(const mad_envelope& wanted, const mad_envelope& sent) {
    return wanted.context == sent.context &&
           (wanted.source == MAD_ANY_SOURCE || wanted.source == sent.source) &&
           (wanted.tag == MAD_ANY_TAG || wanted.tag == sent.tag);
  }
  std::deque<Sent> sent;
  std::deque<Posted> posted;
};

TEST_F(ToOneself, RandomProgramsMatchAsLiteralListsDo) {
  constexpr std::size_t kSizes[] = {0, 1, 8, 300, 5000, 70000};
  constexpr std::size_t kMost = 70000;
  struct Receive {
    Operation operation;
    Bytes memory = Bytes(kMost);
    std::optional<Model::Sent> expected;
  };
  for (unsigned program = 0; program < 10; ++program) {
    SCOPED_TRACE(program);
    std::minstd_rand random(program + 1);
    const auto any = [&](int n) {
      return static_cast<int>(random() / 7 % static_cast<unsigned>(n));
    };
    const auto size_of = [&](unsigned seed) { return kSizes[seed % 6]; };
    const auto wanted = [&] {
      return envelope(any(3) == 0 ? MAD_ANY_SOURCE : any(3), any(3) == 0 ? MAD_ANY_TAG : any(3),
                      static_cast<std::uint16_t>(any(2)));
    };
    Model model;
    std::deque<Receive> receives;
    std::deque<Operation> sends;
    std::deque<Bytes> payloads;
    const auto post = [&](const mad_envelope what) {
      Receive& receive = receives.emplace_back();
      const auto found = std::find_if(model.sent.begin(), model.sent.end(), [&](const auto& m) {
        return Model::matches(what, m.envelope);
      });
      if (found == model.sent.end()) {
        model.posted.push_back({what, receives.size() - 1});
      } else {
        receive.expected = *found;
        model.sent.erase(found);
      }
      this->receive(what, receive.memory, &receive.operation);
      ASSERT_EQ(receive.operation.done, receive.expected.has_value());
      if (receive.expected) {
        EXPECT_TRUE(sends[receive.expected->number].done);
      }
    };
    for (unsigned step = 0; step < 200; ++step) {
      const int action = any(8);
      if (action < 4) {
        const Model::Sent message{envelope(any(3), any(3), static_cast<std::uint16_t>(any(2))),
                                  step, sends.size()};
        payloads.push_back(pattern(size_of(step), step));
        const auto found =
            std::find_if(model.posted.begin(), model.posted.end(),
                         [&](const auto& r) { return Model::matches(r.wanted, message.envelope); });
        sends.emplace_back();
        send(message.envelope, payloads.back(), &sends.back(), any(4) == 0 ? MAD_SYNCHRONOUS : 0);
        if (found == model.posted.end()) {
          model.sent.push_back(message);
        } else {
          EXPECT_TRUE(sends.back().done);
          EXPECT_TRUE(receives[found->number].operation.done);
          receives[found->number].expected = message;
          model.posted.erase(found);
        }
      } else if (action < 7) {
        post(wanted());
      } else if (!model.posted.empty()) {
        const auto which = model.posted.begin() + any(static_cast<int>(model.posted.size()));
        ASSERT_EQ(mad_tagged_cancel(node.engine(), receives[which->number].operation.receive),
                  MAD_SUCCESS);
        model.posted.erase(which);
      }
      ASSERT_EQ(node.counters().waiting_messages, model.sent.size());
      ASSERT_EQ(node.counters().waiting_receives, model.posted.size());
    }
    while (!model.sent.empty()) post(model.sent.front().envelope);
    for (const Model::Posted& each : model.posted) {
      EXPECT_EQ(mad_tagged_cancel(node.engine(), receives[each.number].operation.receive),
                MAD_SUCCESS);
    }
    for (Receive& receive : receives) {
      if (!receive.expected) continue;
      const Bytes payload = pattern(size_of(receive.expected->seed), receive.expected->seed);
      EXPECT_EQ(receive.operation.arrival.sent, payload.size());
      EXPECT_TRUE(std::equal(payload.begin(), payload.end(), receive.memory.begin()));
    }
    for (const Operation& sent : sends) EXPECT_EQ(sent.callbacks, 1);
  }
}

// A callback may go on with the next one.
TEST(ToOneselfInCallbacks, MessagesAndReceivesMayStart) {
  struct Chain {
    mad_engine* engine = nullptr;
    mad_peer* me = nullptr;
    mad_op op{};
    mad_receive* receive = nullptr;
    int left = 5;
    char memory = 0;
    int statuses = 0;
    void next() {
      const mad_envelope same{0, 1, 1};
      mad_arrival arrival;
      EXPECT_EQ(mad_tagged_receive(engine, &same, &memory, 1, nullptr, MAD_PATH_AUTO, &op, &receive,
                                   &arrival),
                MAD_IN_PROGRESS);
      EXPECT_EQ(
          mad_tagged_send(engine, me, &same, 0, nullptr, "x", 1, nullptr, MAD_PATH_AUTO, nullptr),
          MAD_SUCCESS);
    }
  } chain;
  Node node("loopback", [&](mad_config& config) {
    config.context = &chain;
    config.callbacks.on_tagged = [](void* context, mad_op*, const mad_arrival*, int status) {
      auto* const self = static_cast<Chain*>(context);
      self->statuses += status;
      EXPECT_EQ(self->memory, 'x');
      if (--self->left > 0) self->next();
    };
  });
  chain.engine = node.engine();
  chain.me = node.peer(node);
  chain.next();
  EXPECT_EQ(chain.left, 0);
  EXPECT_EQ(chain.statuses, 0);
}

}  // namespace
}  // namespace mad::test
