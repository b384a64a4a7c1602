// The engine's own part: plans by peer and path, what it counts, and messages of its own.
// tests/engine has what two engines do together.
#include "netmod/abi/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "madlike/message/wire.h"
#include "tests/support/allocations.h"

namespace {

struct Told {
  int sent = 0;
  int received = 0;
  std::vector<mad_incoming*> incoming;
  mad_peer* from = nullptr;  // of the last one
  std::vector<int> gone;     // how peers went
  std::vector<int> tagged;   // how tagged receives ended
};

class Engine : public ::testing::Test {
 protected:
  void SetUp() override {
    mad_config config;
    mad_config_init(&config);
    config.fabric = "loopback";
    config.context = &told;
    config.callbacks.on_message = [](void* context, mad_peer* from, std::uint8_t, void*,
                                     std::size_t, std::uint64_t, mad_incoming* incoming) {
      static_cast<Told*>(context)->from = from;
      static_cast<Told*>(context)->incoming.push_back(incoming);
    };
    config.callbacks.on_sent = [](void* context, mad_op*, int) {
      ++static_cast<Told*>(context)->sent;
    };
    config.callbacks.on_received = [](void* context, mad_op*, std::uint64_t, int) {
      ++static_cast<Told*>(context)->received;
    };
    config.callbacks.on_tagged = [](void* context, mad_op*, const mad_arrival*, int status) {
      static_cast<Told*>(context)->tagged.push_back(status);
    };
    config.callbacks.on_peer_gone = [](void* context, mad_peer*, int status, const char*) {
      static_cast<Told*>(context)->gone.push_back(status);
    };
    auto opened = mad_engine::open(config);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    engine = std::move(opened.value());
    auto self = engine->peer(engine->address());
    ASSERT_TRUE(self.ok());
    me = self.value();
  }

  template <typename Reached>
  bool progress_until(Reached&& reached) {
    for (int i = 0; i < 100000 && !reached(); ++i) engine->progress();
    return reached();
  }

  Told told;
  std::unique_ptr<mad_engine> engine;
  mad_peer* me = nullptr;
};

mad::Payload bytes(std::vector<char>& memory) {
  mad::Payload payload;
  payload.base = memory.data();
  payload.count = memory.size();
  payload.bytes = memory.size();
  return payload;
}

TEST_F(Engine, KnowsItself) {
  EXPECT_EQ(engine->fabric_names(), "loopback");
  EXPECT_EQ(engine->address().fabrics.at(0).fabric, "loopback");
  EXPECT_EQ(engine->address().node, mad::this_node());
  EXPECT_FALSE(engine->in_callback());
  EXPECT_FALSE(engine->closing());
  EXPECT_TRUE(engine->idle());
}

TEST_F(Engine, CountsWhatItSendsAndReceives) {
  std::vector<char> from(200000, 'f'), to(200000);
  mad_op sent{}, got{};
  EXPECT_TRUE(engine->send(*me, 1, {}, bytes(from), MAD_PATH_GATHER, &sent).in_progress());
  ASSERT_TRUE(progress_until([&] { return !told.incoming.empty(); }));
  std::uint64_t received = 0;
  const mad::Status status =
      engine->receive(told.incoming[0], bytes(to), MAD_PATH_OFF, &got, &received);
  ASSERT_FALSE(status.error()) << status.message();
  ASSERT_TRUE(progress_until([&] { return told.sent == 1; }));
  EXPECT_EQ(told.received, status.in_progress() ? 1 : 0);
  EXPECT_EQ(to, from);
  const mad_counters& counters = engine->counters();
  EXPECT_EQ(counters.sends[MAD_PATH_AUTO], 1u) << "one run is contiguous whatever is asked for";
  EXPECT_EQ(counters.recvs[MAD_PATH_OFF], 1u);
  EXPECT_EQ(counters.recv_bytes[MAD_PATH_OFF], 200000u);
}

struct Asked {
  mad_path path;
  mad_path counted;
};

// The whole payload is here when it is asked for: in runs of two bytes with three between them, of
// which there are fewer, as many, or more than in the message.
TEST_F(Engine, ShortPayloadsAreReceivedAtOnceByEveryPath) {
  const auto byte = mad::TypeDesc::bytes(1);
  const auto vector = mad::TypeDesc::vector(4, 2, 5, byte.value());
  ASSERT_TRUE(vector.ok());
  const auto program = mad::BlockProgram::compile(*vector.value());
  ASSERT_TRUE(program.ok());
  const mad_type type(vector.value(), program.value());
  const std::uint64_t size = program.value()->size();
  const auto extent = static_cast<std::size_t>(program.value()->extent());
  std::vector<char> from(3 * size);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>('a' + i);
  for (const Asked asked :
       {Asked{MAD_PATH_AUTO, MAD_PATH_PIPELINE}, Asked{MAD_PATH_GATHER, MAD_PATH_GATHER},
        Asked{MAD_PATH_PIPELINE, MAD_PATH_PIPELINE}, Asked{MAD_PATH_PACK, MAD_PATH_PACK}}) {
    for (const std::uint64_t count : {1, 3, 4}) {
      SCOPED_TRACE(testing::Message() << "path " << asked.path << ", elements " << count);
      const mad_counters before = engine->counters();
      mad_op sent{}, got{};
      told.incoming.clear();
      ASSERT_FALSE(engine->send(*me, 1, {}, bytes(from), MAD_PATH_AUTO, &sent).error());
      ASSERT_TRUE(progress_until([&] { return !told.incoming.empty(); }));
      std::vector<char> to(count * extent, '-'), expected = to;
      const std::uint64_t room = std::min<std::uint64_t>(from.size(), count * size);
      for (std::uint64_t i = 0; i < room; ++i) {
        expected[i / size * extent + i % size / 2 * 5 + i % 2] = from[i];
      }
      mad::Payload payload = bytes(to);
      payload.count = count;
      payload.type = &type;
      payload.bytes = count * size;
      std::uint64_t received = 0;
      EXPECT_TRUE(engine->receive(told.incoming[0], payload, asked.path, &got, &received).ok());
      EXPECT_EQ(received, room);
      EXPECT_EQ(to, expected);
      const mad_counters& counters = engine->counters();
      EXPECT_EQ(counters.recvs[asked.counted], before.recvs[asked.counted] + 1);
      EXPECT_EQ(counters.recv_bytes[asked.counted], before.recv_bytes[asked.counted] + room);
      EXPECT_TRUE(progress_until([&] { return engine->idle(); }));
    }
  }
  EXPECT_EQ(told.received, 0);
}

TEST_F(Engine, ShortRunsAreReceivedAtOnce) {
  std::vector<char> from(100, 'f');
  for (const std::size_t room : {1, 100, 150}) {
    mad_op sent{}, got{};
    told.incoming.clear();
    ASSERT_FALSE(engine->send(*me, 1, {}, bytes(from), MAD_PATH_AUTO, &sent).error());
    ASSERT_TRUE(progress_until([&] { return !told.incoming.empty(); }));
    std::vector<char> to(room, '-'), expected = to;
    std::uint64_t received = 0;
    EXPECT_TRUE(engine->receive(told.incoming[0], bytes(to), MAD_PATH_OFF, &got, &received).ok());
    EXPECT_EQ(received, std::min<std::size_t>(room, 100));
    std::fill_n(expected.begin(), received, 'f');
    EXPECT_EQ(to, expected);
  }
  EXPECT_EQ(engine->counters().recvs[MAD_PATH_OFF], 3u);
  EXPECT_EQ(engine->counters().recv_bytes[MAD_PATH_OFF], 201u);
  EXPECT_EQ(told.received, 0);
}

TEST_F(Engine, HugeCollectionFailsWithoutAnAbort) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer ends a program that asks for so much, instead of bad_alloc";
#endif
  // 2^50 bytes that path pack would have to collect first.
  auto byte = mad::TypeDesc::bytes(1);
  auto vector = mad::TypeDesc::vector(std::uint64_t{1} << 40, 1024, 2048, byte.value());
  ASSERT_TRUE(vector.ok());
  auto program = mad::BlockProgram::compile(*vector.value());
  ASSERT_TRUE(program.ok());
  mad::Payload payload;
  const mad_type type(vector.value(), program.value());
  payload.count = 1;
  payload.type = &type;
  payload.bytes = program.value()->size();
  std::vector<char> from(100, 'f');
  mad_op op{};
  EXPECT_THROW((void)engine->send(*me, 1, {}, payload, MAD_PATH_PACK, &op), std::bad_alloc);
  EXPECT_EQ(engine->counters().sends[MAD_PATH_PACK], 0u);
  EXPECT_TRUE(engine->idle());
}

/// Another engine, of which a message of 8 bytes has come.
class OtherEngine : public Engine {
 protected:
  void SetUp() override {
    Engine::SetUp();
    mad_config config;
    mad_config_init(&config);
    config.fabric = "loopback";
    auto opened = mad_engine::open(config);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    other = std::move(opened.value());
    auto peer = other->peer(engine->address());
    ASSERT_TRUE(peer.ok());
    to = peer.value();
    ASSERT_FALSE(other->send(*to, 1, {}, bytes(memory), MAD_PATH_AUTO, &op).error());
    progress();
    ASSERT_EQ(told.incoming.size(), 1u);
  }
  void progress() {
    for (int i = 0; i < 100; ++i) {
      other->progress();
      engine->progress();
    }
  }
  void expect_end(int status) {
    progress();
    ASSERT_EQ(told.gone.size(), 1u);
    EXPECT_EQ(told.gone[0], status);
    EXPECT_EQ(engine->tagged().waiting_messages(), 0u);
  }

  std::vector<char> memory = std::vector<char>(8);
  mad_op op{};
  std::unique_ptr<mad_engine> other;
  mad_peer* to = nullptr;
};

TEST_F(OtherEngine, WithoutMemoryToKeepItsTaggedMessageItEnds) {
  const mad::TaggedHeader header{{0, 0, 2}, 0};
  ASSERT_TRUE(other->send_tagged(*to, header, false, bytes(memory), MAD_PATH_AUTO, &op).ok());
  mad::test::fail_allocations_from(1000);
  EXPECT_NO_THROW(progress());
  mad::test::fail_allocations_from(0);
  expect_end(MAD_ERR_MEMORY);
  engine->discard(told.incoming[0]);
}

// Whichever allocation fails.
TEST_F(OtherEngine, WithoutMemoryToReceiveItsTaggedMessageTheReceiveIsTold) {
  const mad::TaggedHeader header{{0, 0, 2}, 0};
  std::vector<char> from(1000000, 1), to_memory(from.size());
  told.tagged.reserve(100);
  bool enough = false;
  for (std::size_t count = 0; count < 100 && !enough; ++count) {
    SCOPED_TRACE(count);
    mad_receive* receive = nullptr;
    mad_arrival arrival{};
    ASSERT_TRUE(
        engine->tagged()
            .receive(header.envelope, bytes(to_memory), MAD_PATH_AUTO, &op, &receive, &arrival)
            .in_progress());
    mad_op sent{};
    ASSERT_TRUE(
        other->send_tagged(*to, header, false, bytes(from), MAD_PATH_AUTO, &sent).in_progress());
    for (int i = 0; i < 20; ++i) other->progress();
    {
      const mad::test::AllocationsLeft left(count);
      for (int i = 0; i < 20; ++i) engine->progress();
      enough = !mad::test::AllocationsLeft::failed();
    }
    progress();
    ASSERT_EQ(told.tagged.size(), count + 1);
    const int status = told.tagged.back();
    EXPECT_TRUE(status == MAD_SUCCESS || (!enough && status == MAD_ERR_MEMORY)) << status;
    EXPECT_EQ(engine->tagged().waiting_receives(), 0u);
  }
  EXPECT_TRUE(enough);
  EXPECT_EQ(to_memory, from);
  EXPECT_TRUE(told.gone.empty());
  EXPECT_TRUE(engine->idle());
  engine->discard(told.incoming[0]);
}

// The messenger has found it right, in memory that the peer may write.
TEST_F(OtherEngine, AHeaderThatIsChangedEndsIt) {
  std::byte header[mad::kTaggedHeaderBytes] = {};
  auto& events = (mad::MessageEvents&)*engine;  // NOLINT(google-readability-casting): as it is told
  mad::IncomingMessage& message = *told.incoming[0]->message;
  events.on_message(*told.from->endpoint, mad::kTaggedHandler, {header, sizeof(header)}, 8,
                    &message);
  expect_end(MAD_ERR_PROTOCOL);
}

TEST_F(Engine, MadeleineMessagesGoToTheirSessions) {
  ASSERT_TRUE(engine->touch(*me).ok());
  for (int i = 0; i < 100; ++i) engine->progress();
  mad::PackingSession& packing = engine->sessions().begin_packing(*me->endpoint, true);
  const mad::Status ended = engine->sessions().end(packing);
  ASSERT_FALSE(ended.error()) << ended.message();
  EXPECT_TRUE(progress_until([&] { return engine->idle(); }));
  EXPECT_TRUE(told.incoming.empty());
  mad::UnpackingSession* const unpacking = engine->sessions().begin_unpacking(1000);
  ASSERT_NE(unpacking, nullptr);
  EXPECT_FALSE(engine->sessions().end(*unpacking).error());
}

}  // namespace
