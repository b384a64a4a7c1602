// Madeleine sessions over drivers that misbehave: random messages both ways over fabrics of any
// width arrive whole; when the connection breaks at any operation, every call returns.
//
// A failing case names its seed; MAD_TEST_SEED=n runs that one alone, MAD_TEST_SEEDS=n the first n.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>
#include <vector>

#include "tests/fault/ledger.h"
#include "tests/fault/session_party.h"

namespace mad {
namespace {

using test::run_together;
using test::SessionParty;
using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

constexpr int kLong = 10000;  // milliseconds; nothing takes that long
constexpr int kMessages = 6;

std::size_t up_to(Random& random, std::size_t most) { return random() % (most + 1); }

struct Piece {
  Bytes bytes;
  SendMode send;
  ReceiveMode receive;
};
using Message = std::vector<Piece>;

Message random_message(Random& random) {
  Message message(up_to(random, 15));
  for (Piece& piece : message) {
    piece.bytes.resize(up_to(random, std::size_t{1} << up_to(random, 17)));
    for (std::byte& byte : piece.bytes) byte = static_cast<std::byte>(random());
    piece.send = static_cast<SendMode>(up_to(random, 2));
    piece.receive = static_cast<ReceiveMode>(up_to(random, 1));
  }
  return message;
}

// `to` is one connection's end: asked for anew, a peer that is gone would be connected again.
Status send(SessionParty& from, Endpoint& to, Message& message) {
  PackingSession& session = from.hub().begin_packing(to, false);
  for (Piece& piece : message) {
    const Status status = session.pack({piece.bytes.data(), piece.bytes.size()}, piece.send);
    if (status.error()) break;
  }
  return from.hub().end(session);
}

// The bytes that were promised so far are compared; ok means that all were.
Status receive(SessionParty& at, const Message& message) {
  UnpackingSession* const session = at.hub().begin_unpacking(0);
  if (session == nullptr) return StatusCode::kAgain;
  std::vector<Bytes> got;
  for (const Piece& piece : message) got.emplace_back(piece.bytes.size());
  for (std::size_t i = 0; i < message.size(); ++i) {
    const Status status = session->unpack({got[i].data(), got[i].size()}, message[i].receive);
    if (status.error()) break;
    if (message[i].receive == ReceiveMode::kExpress) {
      EXPECT_EQ(got[i], message[i].bytes) << "EXPRESS, and not there";
    }
  }
  Status status = at.hub().end(*session);
  for (std::size_t i = 0; status.ok() && i < message.size(); ++i) {
    EXPECT_EQ(got[i], message[i].bytes) << "piece " << i;
  }
  return status;
}

// Waits for a message until one comes or the peer is gone.
Status receive_or_learn(SessionParty& at, const Message& message) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kLong);
  while (std::chrono::steady_clock::now() < deadline) {
    const int gone_before = at.peers_gone;
    Status status = receive(at, message);
    if (!status.again()) return status;
    if (gone_before > 0) return Status(StatusCode::kPeerFailed, "gone before its message");
  }
  return Status(StatusCode::kNotFound, "neither a message nor an end");
}

LoopbackOptions random_fabric(Random& random) {
  LoopbackOptions options;
  options.max_iov = 1 + up_to(random, 15);
  options.max_packet_bytes = std::size_t{256} << up_to(random, 8);
  options.inject_bytes = up_to(random, 256);
  options.queue_depth = 1 + up_to(random, 63);
  options.remote_write = random() % 2 == 0;
  return options;
}

FaultPlan random_faults(Random& random) {
  FaultPlan plan;
  plan.seed = random();
  plan.refuse_post = static_cast<unsigned>(up_to(random, 300));
  plan.delay = static_cast<unsigned>(up_to(random, 400));
  plan.max_delay = static_cast<unsigned>(1 + up_to(random, 8));
  plan.short_poll = static_cast<unsigned>(up_to(random, 300));
  plan.refuse_expose = static_cast<unsigned>(up_to(random, 300));
  plan.reorder = true;
  return plan;
}

SessionTuning random_tuning(Random& random) {
  SessionTuning tuning;
  tuning.chunk_bytes = 1 + up_to(random, 70000);
  tuning.long_bytes = 1 + up_to(random, 20000);
  tuning.held_bytes = std::size_t{1} << 22;
  return tuning;
}

MessengerConfig random_config(Random& random) {
  MessengerConfig config;
  config.eager_limit = up_to(random, 64 * 1024);
  config.peer_credit = up_to(random, 128 * 1024);
  config.packet_bytes = std::size_t{1024} << up_to(random, 6);
  config.staging_bytes = config.packet_bytes * (4 + up_to(random, 60));
  return config;
}

std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* one = std::getenv("MAD_TEST_SEED")) return {std::strtoull(one, nullptr, 10)};
  if (const char* more = std::getenv("MAD_TEST_SEEDS")) count = std::strtoull(more, nullptr, 10);
  std::vector<std::uint64_t> out;
  for (std::uint64_t seed = 1; seed <= count; ++seed) out.push_back(seed);
  return out;
}

TEST(SessionsOverFaults, MessagesArriveWhole) {
  for (const std::uint64_t seed : seeds(40)) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    auto network = std::make_shared<LoopbackNetwork>(random_fabric(random));
    SessionParty a(network, random_faults(random), random_tuning(random), random_config(random));
    SessionParty b(network, random_faults(random), random_tuning(random), random_config(random));
    std::vector<Message> there, back;
    for (int i = 0; i < kMessages; ++i) {
      there.push_back(random_message(random));
      back.push_back(random_message(random));
    }
    const auto play = [](SessionParty& self, SessionParty& other, std::vector<Message>& out,
                         std::vector<Message>& in, bool begins) {
      for (std::size_t i = 0; i < kMessages; ++i) {
        if (begins) {
          EXPECT_TRUE(send(self, self.endpoint(other), out[i]).ok());
        }
        const Status status = receive_or_learn(self, in[i]);
        EXPECT_TRUE(status.ok()) << status.message();
        if (!begins) {
          EXPECT_TRUE(send(self, self.endpoint(other), out[i]).ok());
        }
      }
    };
    run_together({{&a, [&] { play(a, b, there, back, true); }},
                  {&b, [&] { play(b, a, back, there, false); }}});
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SessionsOverFaults, ABrokenConnectionEndsEveryCall) {
  int errors = 0;
  for (const std::uint64_t seed : seeds(120)) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    auto network = std::make_shared<LoopbackNetwork>(random_fabric(random));
    FaultPlan mortal = random_faults(random);
    mortal.dies_at = 1 + up_to(random, 40);
    const bool sender_sees_it_first = random() % 2 == 0;
    SessionParty a(network, sender_sees_it_first ? mortal : random_faults(random),
                   random_tuning(random), random_config(random));
    SessionParty b(network, sender_sees_it_first ? random_faults(random) : mortal,
                   random_tuning(random), random_config(random));
    std::vector<Message> messages;
    for (int i = 0; i < kMessages; ++i) messages.push_back(random_message(random));
    // A message that was received whole was sent whole; after the first error nothing arrives.
    std::size_t sent = 0, received = 0;
    Endpoint& to_b = a.endpoint(b);
    run_together({{&a,
                   [&] {
                     while (sent < kMessages && send(a, to_b, messages[sent]).ok()) ++sent;
                   }},
                  {&b, [&] {
                     while (received < kMessages) {
                       const Status status = receive_or_learn(b, messages[received]);
                       EXPECT_NE(status.code(), StatusCode::kNotFound) << "a hang";
                       if (!status.ok()) break;
                       ++received;
                     }
                   }}});
    if (sent < kMessages || received < kMessages) ++errors;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(errors > 20 || std::getenv("MAD_TEST_SEED") != nullptr) << errors;
}

TEST(SessionsOverFaults, AFlippedBitFailsItsMessageAlone) {
  constexpr std::size_t kNumberAt = 4;  // of a chunk's header; hubs count from 1
  std::size_t damaged = 0;
  for (const std::uint64_t seed : seeds(40)) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    test::Ledgers ledgers(kNumberAt);
    auto network = std::make_shared<LoopbackNetwork>(random_fabric(random));
    FaultPlan plan_a = random_faults(random), plan_b = random_faults(random);
    MessengerConfig config = random_config(random);
    config.checksum = true;
    plan_a.tap = &ledgers.of_a;
    plan_b.tap = &ledgers.of_b;
    plan_a.flip_bit = static_cast<unsigned>(up_to(random, 150));
    SessionParty a(network, plan_a, random_tuning(random), config);
    SessionParty b(network, plan_b, random_tuning(random), random_config(random));
    std::vector<Message> messages;
    for (int i = 0; i < kMessages; ++i) messages.push_back(random_message(random));
    std::vector<Status> outcomes;
    Endpoint& to_b = a.endpoint(b);
    run_together({{&a,
                   [&] {
                     for (Message& message : messages) {
                       const Status status = send(a, to_b, message);
                       EXPECT_TRUE(status.ok()) << status.message();
                     }
                   }},
                  {&b, [&] {
                     for (const Message& message : messages) {
                       outcomes.push_back(receive_or_learn(b, message));
                     }
                   }}});
    const std::set<std::uint32_t> wrong = ledgers.of_a.damaged();
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      EXPECT_EQ(outcomes[i].code(), wrong.count(i + 1) ? StatusCode::kCorrupt : StatusCode::kOk)
          << "message " << i << ": " << outcomes[i].message();
    }
    damaged += wrong.size();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(damaged > 20 || std::getenv("MAD_TEST_SEED") != nullptr) << damaged;
}

}  // namespace
}  // namespace mad
