// The Madeleine interface through mad.h: what the calls do, and what a C caller can get wrong.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "netmod/abi/mad.h"

namespace {

constexpr int kLong = 20000;  // milliseconds; nothing takes that long

std::string error() { return mad_last_error(); }

struct Engine {
  explicit Engine(const mad_callbacks& callbacks = {}) {
    mad_config config;
    mad_config_init(&config);
    config.fabric = "loopback";
    config.callbacks = callbacks;
    config.context = this;
    EXPECT_EQ(mad_engine_open(&config, &handle), MAD_SUCCESS) << error();
  }
  ~Engine() { mad_engine_close(handle); }
  mad_peer* peer(const Engine& other) {
    char address[MAD_ADDRESS_MAX];
    size_t size = sizeof(address);
    EXPECT_EQ(mad_engine_address(other.handle, address, &size), MAD_SUCCESS);
    mad_peer* peer = nullptr;
    EXPECT_EQ(mad_engine_peer(handle, address, size, &peer), MAD_SUCCESS) << error();
    return peer;
  }

  mad_engine* handle = nullptr;
  int result_in_callback = MAD_SUCCESS;
};

// Runs both, each in a thread; whoever is through keeps its engine moving for the other.
void run_together(Engine& a, const std::function<void()>& in_a, Engine& b,
                  const std::function<void()>& in_b) {
  std::atomic<int> through{0};
  const auto run = [&through](Engine& engine, const std::function<void()>& program) {
    program();
    ++through;
    while (through < 2) {
      mad_engine_progress(engine.handle, nullptr);
      std::this_thread::yield();
    }
  };
  std::thread thread([&] { run(a, in_a); });
  run(b, in_b);
  thread.join();
}

// Every second float of a row.
mad_type* every_second_float(std::uint64_t count) {
  mad_type* number = nullptr;
  mad_type* type = nullptr;
  EXPECT_EQ(mad_type_bytes(sizeof(float), &number), MAD_SUCCESS);
  EXPECT_EQ(mad_type_vector(count, 1, 2 * sizeof(float), number, &type), MAD_SUCCESS);
  EXPECT_EQ(mad_type_commit(type), MAD_SUCCESS);
  mad_type_release(number);
  return type;
}

TEST(MadeleineApi, PiecesAndLayoutsGoThere) {
  for (const std::uint64_t count : {3u, 5000u, 400000u}) {
    Engine a, b;
    mad_type* const type = every_second_float(count);
    std::vector<float> sent(2 * count), got(2 * count, -1.0f);
    std::iota(sent.begin(), sent.end(), 1.0f);
    std::uint64_t got_count = 0;
    mad_peer* const to_b = a.peer(b);
    mad_peer* const to_a = b.peer(a);
    run_together(
        a,
        [&] {
          mad_packing* message = nullptr;
          ASSERT_EQ(mad_begin_packing(a.handle, to_b, &message), MAD_SUCCESS) << error();
          std::uint64_t size = count;
          EXPECT_EQ(mad_pack(message, &size, sizeof(size), MAD_SEND_SAFER, MAD_RECV_EXPRESS),
                    MAD_SUCCESS);
          size = 0;
          EXPECT_EQ(
              mad_pack_layout(message, sent.data(), 1, type, MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
              MAD_SUCCESS);
          EXPECT_EQ(
              mad_pack_layout(message, sent.data(), 0, type, MAD_SEND_LATER, MAD_RECV_CHEAPER),
              MAD_SUCCESS);
          EXPECT_EQ(mad_end_packing(message), MAD_SUCCESS) << error();
        },
        b,
        [&] {
          mad_peer* from = nullptr;
          mad_unpacking* message = nullptr;
          ASSERT_EQ(mad_begin_unpacking(b.handle, kLong, &from, &message), MAD_SUCCESS);
          EXPECT_EQ(from, to_a);
          EXPECT_EQ(
              mad_unpack(message, &got_count, sizeof(got_count), MAD_SEND_SAFER, MAD_RECV_EXPRESS),
              MAD_SUCCESS);
          EXPECT_EQ(got_count, count);
          EXPECT_EQ(
              mad_unpack_layout(message, got.data(), 1, type, MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
              MAD_SUCCESS);
          EXPECT_EQ(mad_unpack(message, nullptr, 0, MAD_SEND_LATER, MAD_RECV_CHEAPER), MAD_SUCCESS);
          EXPECT_EQ(mad_end_unpacking(message), MAD_SUCCESS) << error();
        });
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], i % 2 == 0 ? sent[i] : -1.0f) << i;
    }
    mad_type_release(type);
  }
}

TEST(MadeleineApi, LongRunsOfALayoutAreReferencedNotCopied) {
  Engine a, b;
  constexpr std::uint64_t kBlock = 64 * 1024, kBlocks = 16;
  mad_type* byte = nullptr;
  mad_type* type = nullptr;
  ASSERT_EQ(mad_type_bytes(1, &byte), MAD_SUCCESS);
  ASSERT_EQ(mad_type_vector(kBlocks, kBlock, 2 * kBlock, byte, &type), MAD_SUCCESS);
  ASSERT_EQ(mad_type_commit(type), MAD_SUCCESS);
  mad_type_release(byte);
  std::vector<unsigned char> sent(2 * kBlock * kBlocks, 7), got(sent.size());
  mad_peer* const to_b = a.peer(b);
  run_together(
      a,
      [&] {
        mad_packing* message = nullptr;
        ASSERT_EQ(mad_begin_packing(a.handle, to_b, &message), MAD_SUCCESS);
        EXPECT_EQ(
            mad_pack_layout(message, sent.data(), 1, type, MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
            MAD_SUCCESS);
        mad_type_release(type);  // safe: the transfer holds what it needs
        EXPECT_EQ(mad_end_packing(message), MAD_SUCCESS);
      },
      b,
      [&] {
        mad_unpacking* message = nullptr;
        ASSERT_EQ(mad_begin_unpacking(b.handle, kLong, nullptr, &message), MAD_SUCCESS);
        for (std::uint64_t i = 0; i < 1; ++i) {
          EXPECT_EQ(
              mad_unpack(message, got.data(), kBlock * kBlocks, MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
              MAD_SUCCESS);
        }
        EXPECT_EQ(mad_end_unpacking(message), MAD_SUCCESS) << error();
      });
  EXPECT_EQ(got[kBlock * kBlocks - 1], 7);
  const mad_counters& counters = *mad_engine_counters(a.handle);
  EXPECT_GE(counters.referenced_bytes, kBlock * kBlocks);
  EXPECT_LT(counters.staged_bytes, kBlock);
}

TEST(MadeleineApi, MessagesAreCountedByTheirPacketsAndBytesOnly) {
  Engine a, b;
  mad_peer* const to_b = a.peer(b);
  std::vector<char> sent(100000, 'x'), got(100000);
  run_together(
      a,
      [&] {
        mad_packing* message = nullptr;
        ASSERT_EQ(mad_begin_packing(a.handle, to_b, &message), MAD_SUCCESS);
        EXPECT_EQ(mad_pack(message, sent.data(), sent.size(), MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
                  MAD_SUCCESS);
        EXPECT_EQ(mad_end_packing(message), MAD_SUCCESS);
      },
      b,
      [&] {
        mad_unpacking* message = nullptr;
        ASSERT_EQ(mad_begin_unpacking(b.handle, kLong, nullptr, &message), MAD_SUCCESS);
        EXPECT_EQ(mad_unpack(message, got.data(), got.size(), MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
                  MAD_SUCCESS);
        EXPECT_EQ(mad_end_unpacking(message), MAD_SUCCESS) << error();
      });
  const mad_counters& sender = *mad_engine_counters(a.handle);
  const mad_counters& receiver = *mad_engine_counters(b.handle);
  for (int path = 0; path < MAD_PATH_COUNT; ++path) {
    EXPECT_EQ(sender.sends[path] + sender.send_bytes[path], 0u) << path;
    EXPECT_EQ(receiver.recvs[path] + receiver.recv_bytes[path], 0u) << path;
  }
  EXPECT_EQ(sender.headers, 0u);
  EXPECT_GE(sender.packets_sent, 2u);
  EXPECT_GE(receiver.packets_received, 2u);
  EXPECT_GE(sender.staged_bytes + sender.referenced_bytes, sent.size());
}

TEST(MadeleineApi, MismatchesAreErrorsWithASentence) {
  Engine a, b;
  mad_peer* const to_b = a.peer(b);
  int value = 5;
  run_together(
      a,
      [&] {
        for (int i = 0; i < 2; ++i) {
          mad_packing* message = nullptr;
          ASSERT_EQ(mad_begin_packing(a.handle, to_b, &message), MAD_SUCCESS);
          EXPECT_EQ(mad_pack(message, &value, sizeof(value), MAD_SEND_CHEAPER, MAD_RECV_EXPRESS),
                    MAD_SUCCESS);
          EXPECT_EQ(mad_end_packing(message), MAD_SUCCESS);
        }
      },
      b,
      [&] {
        std::int64_t room = 0;
        mad_unpacking* message = nullptr;
        ASSERT_EQ(mad_begin_unpacking(b.handle, kLong, nullptr, &message), MAD_SUCCESS);
        EXPECT_EQ(mad_unpack(message, &room, 8, MAD_SEND_CHEAPER, MAD_RECV_EXPRESS),
                  MAD_ERR_PROTOCOL);
        EXPECT_EQ(error(),
                  "piece 1 of the message has 4 bytes, 8 were asked for; the unpacking calls must "
                  "mirror the packing calls");
        EXPECT_EQ(mad_end_unpacking(message), MAD_ERR_PROTOCOL);
        ASSERT_EQ(mad_begin_unpacking(b.handle, kLong, nullptr, &message), MAD_SUCCESS);
        EXPECT_EQ(mad_unpack(message, &room, 2, MAD_SEND_CHEAPER, MAD_RECV_EXPRESS),
                  MAD_ERR_TRUNCATED);
        EXPECT_EQ(mad_end_unpacking(message), MAD_ERR_TRUNCATED);
      });
}

TEST(MadeleineApi, NothingComesWithinTheTime) {
  Engine a;
  mad_unpacking* message = nullptr;
  mad_peer* from = nullptr;
  EXPECT_EQ(mad_begin_unpacking(a.handle, 0, &from, &message), MAD_IN_PROGRESS);
  EXPECT_EQ(mad_begin_unpacking(a.handle, 10, &from, &message), MAD_IN_PROGRESS);
  EXPECT_EQ(message, nullptr);
  EXPECT_EQ(from, nullptr);
}

TEST(MadeleineApi, AMessageToOneself) {
  Engine a;
  mad_peer* const me = a.peer(a);
  mad_packing* out = nullptr;
  ASSERT_EQ(mad_begin_packing(a.handle, me, &out), MAD_SUCCESS);
  int sent = 11, got = 0;
  EXPECT_EQ(mad_pack(out, &sent, sizeof(sent), MAD_SEND_SAFER, MAD_RECV_EXPRESS), MAD_SUCCESS);
  ASSERT_EQ(mad_end_packing(out), MAD_SUCCESS) << error();
  mad_unpacking* in = nullptr;
  mad_peer* from = nullptr;
  ASSERT_EQ(mad_begin_unpacking(a.handle, kLong, &from, &in), MAD_SUCCESS);
  EXPECT_EQ(from, me);
  EXPECT_EQ(mad_unpack(in, &got, sizeof(got), MAD_SEND_SAFER, MAD_RECV_EXPRESS), MAD_SUCCESS);
  EXPECT_EQ(mad_end_unpacking(in), MAD_SUCCESS);
  EXPECT_EQ(got, 11);
}

// An engine that came, sent b a message that is unpacked and one that waits, and left: its peer.
mad_peer* who_left_a_message(Engine& b) {
  mad_peer* from = nullptr;
  mad_unpacking* in = nullptr;
  int got = 0;
  {
    Engine a;
    mad_peer* const to_b = a.peer(b);
    run_together(
        a,
        [&] {
          mad_packing* out = nullptr;
          int sent = 12;
          ASSERT_EQ(mad_begin_packing(a.handle, to_b, &out), MAD_SUCCESS);
          EXPECT_EQ(mad_pack(out, &sent, sizeof(sent), MAD_SEND_SAFER, MAD_RECV_EXPRESS),
                    MAD_SUCCESS);
          EXPECT_EQ(mad_end_packing(out), MAD_SUCCESS);
        },
        b,
        [&] {
          // The first message of all needs the receiver's consent to leave.
          ASSERT_EQ(mad_begin_unpacking(b.handle, kLong, &from, &in), MAD_SUCCESS);
          EXPECT_EQ(mad_unpack(in, &got, sizeof(got), MAD_SEND_SAFER, MAD_RECV_EXPRESS),
                    MAD_SUCCESS);
          EXPECT_EQ(mad_end_unpacking(in), MAD_SUCCESS);
        });
    EXPECT_EQ(got, 12);
    mad_packing* second = nullptr;
    EXPECT_EQ(mad_begin_packing(a.handle, to_b, &second), MAD_SUCCESS);
    EXPECT_EQ(mad_pack(second, &got, sizeof(got), MAD_SEND_SAFER, MAD_RECV_EXPRESS), MAD_SUCCESS);
    EXPECT_EQ(mad_end_packing(second), MAD_SUCCESS) << error();
    mad_engine_progress(b.handle, nullptr);
  }
  for (int i = 0; i < 100000 && mad_peer_status(from) == MAD_SUCCESS; ++i) {
    mad_engine_progress(b.handle, nullptr);
  }
  EXPECT_EQ(mad_peer_status(from), MAD_ERR_CLOSED);
  return from;
}

TEST(MadeleineApi, AMessageOutlivesItsSender) {
  Engine b;
  mad_peer* const from = who_left_a_message(b);
  mad_unpacking* in = nullptr;
  int got = 0;
  mad_peer* again = nullptr;
  ASSERT_EQ(mad_begin_unpacking(b.handle, kLong, &again, &in), MAD_SUCCESS);
  EXPECT_EQ(again, from);
  EXPECT_EQ(mad_unpack(in, &got, sizeof(got), MAD_SEND_SAFER, MAD_RECV_EXPRESS), MAD_SUCCESS)
      << error();
  EXPECT_EQ(mad_end_unpacking(in), MAD_SUCCESS);
  EXPECT_EQ(got, 12);
  mad_packing* to_nobody = nullptr;
  EXPECT_EQ(mad_begin_packing(b.handle, from, &to_nobody), MAD_ERR_CLOSED);
}

TEST(MadeleineApi, APeerThatWasReleasedIsNamedAgainByWhoIsGivenIt) {
  Engine b;
  mad_peer* const released = who_left_a_message(b);
  int mine = 0;
  mad_peer_set_context(released, &mine);
  EXPECT_EQ(mad_peer_release(b.handle, released), MAD_SUCCESS);
  mad_peer* from = nullptr;
  mad_unpacking* in = nullptr;
  ASSERT_EQ(mad_begin_unpacking(b.handle, kLong, &from, &in), MAD_SUCCESS);
  EXPECT_EQ(from, released);
  EXPECT_EQ(mad_end_unpacking(in), MAD_ERR_TRUNCATED);
  EXPECT_NE(who_left_a_message(b), from) << "as another goes, records that nobody names are freed";
  EXPECT_EQ(mad_peer_status(from), MAD_ERR_CLOSED);
  EXPECT_EQ(mad_peer_context(from), &mine);
  EXPECT_EQ(mad_peer_release(b.handle, from), MAD_SUCCESS);
}

TEST(MadeleineApi, WrongArgumentsAreRefused) {
  Engine a, b;
  mad_peer* const me = a.peer(a);
  mad_packing* out = nullptr;
  mad_unpacking* in = nullptr;
  EXPECT_EQ(mad_begin_packing(nullptr, me, &out), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_begin_packing(a.handle, nullptr, &out), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_begin_packing(a.handle, me, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_begin_packing(b.handle, me, &out), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("another engine"), std::string::npos);
  EXPECT_EQ(mad_begin_unpacking(nullptr, 0, nullptr, &in), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_begin_unpacking(a.handle, 0, nullptr, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_pack(nullptr, "x", 1, MAD_SEND_SAFER, MAD_RECV_EXPRESS), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_end_packing(nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_end_unpacking(nullptr), MAD_ERR_ARGUMENT);

  mad_type* raw = nullptr;
  ASSERT_EQ(mad_type_bytes(4, &raw), MAD_SUCCESS);
  ASSERT_EQ(mad_begin_packing(a.handle, me, &out), MAD_SUCCESS);
  EXPECT_EQ(mad_pack(out, nullptr, 1, MAD_SEND_SAFER, MAD_RECV_EXPRESS), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_pack(out, "x", 1, static_cast<mad_send_mode>(3), MAD_RECV_EXPRESS),
            MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("SAFER, LATER and CHEAPER"), std::string::npos);
  EXPECT_EQ(mad_pack(out, "x", 1, MAD_SEND_SAFER, static_cast<mad_recv_mode>(-1)),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_pack_layout(out, "xxxx", 1, nullptr, MAD_SEND_SAFER, MAD_RECV_EXPRESS),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_pack_layout(out, "xxxx", 1, raw, MAD_SEND_SAFER, MAD_RECV_EXPRESS),
            MAD_ERR_ARGUMENT)
      << "not committed";
  ASSERT_EQ(mad_type_commit(raw), MAD_SUCCESS);
  EXPECT_EQ(mad_pack_layout(out, "xxxx", UINT64_MAX, raw, MAD_SEND_SAFER, MAD_RECV_EXPRESS),
            MAD_ERR_ARGUMENT);
  // None of that was taken: the message is empty.
  EXPECT_EQ(mad_end_packing(out), MAD_SUCCESS);
  ASSERT_EQ(mad_begin_unpacking(a.handle, kLong, nullptr, &in), MAD_SUCCESS);
  EXPECT_EQ(mad_unpack(in, nullptr, 4, MAD_SEND_SAFER, MAD_RECV_EXPRESS), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_unpack_layout(in, nullptr, 1, nullptr, MAD_SEND_SAFER, MAD_RECV_EXPRESS),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_end_unpacking(in), MAD_SUCCESS) << error();
  mad_type_release(raw);
}

TEST(MadeleineApi, CallbacksMustNotPack) {
  mad_callbacks callbacks = {};
  callbacks.on_message = [](void* context, mad_peer* from, std::uint8_t, void*, std::size_t,
                            std::uint64_t, mad_incoming*) {
    auto* const engine = static_cast<Engine*>(context);
    mad_packing* out = nullptr;
    engine->result_in_callback = mad_begin_packing(engine->handle, from, &out);
  };
  Engine a(callbacks);
  mad_peer* const me = a.peer(a);
  ASSERT_EQ(mad_send_header(a.handle, me, 1, "x", 1), MAD_SUCCESS);
  for (int i = 0; i < 100000 && a.result_in_callback == MAD_SUCCESS; ++i) {
    mad_engine_progress(a.handle, nullptr);
  }
  EXPECT_EQ(a.result_in_callback, MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_send_header(a.handle, me, 255, "x", 1), MAD_ERR_ARGUMENT)
      << "handler 255 belongs to Madeleine";
}

TEST(MadeleineApi, APeerThatLeavesEndsTheWaitingCalls) {
  Engine a;
  auto b = std::make_unique<Engine>();
  mad_peer* const to_b = a.peer(*b);
  std::vector<char> big(1 << 20);
  std::thread other([&] {
    mad_unpacking* message = nullptr;
    EXPECT_EQ(mad_begin_unpacking(b->handle, kLong, nullptr, &message), MAD_SUCCESS);
    mad_end_unpacking(message);  // nothing is wanted; what comes later is refused
    b.reset();
  });
  mad_packing* out = nullptr;
  int result = MAD_SUCCESS;
  ASSERT_EQ(mad_begin_packing(a.handle, to_b, &out), MAD_SUCCESS);
  for (int i = 0; i < 100000 && result == MAD_SUCCESS; ++i) {
    result = mad_pack(out, big.data(), big.size(), MAD_SEND_SAFER, MAD_RECV_CHEAPER);
  }
  EXPECT_EQ(result, MAD_ERR_CLOSED) << error();
  EXPECT_EQ(mad_end_packing(out), MAD_ERR_CLOSED);
  other.join();
}

}  // namespace
