// What a C caller can get wrong with tagged messages, and what it is told.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "netmod/abi/mad.h"

namespace {

std::string error() { return mad_last_error(); }

class TaggedApi : public ::testing::Test {
 protected:
  void SetUp() override {
    mad_config config;
    mad_config_init(&config);
    config.fabric = "loopback";
    config.context = this;
    config.callbacks.on_tagged = [](void* context, mad_op*, const mad_arrival*, int) {
      ++static_cast<TaggedApi*>(context)->told;
    };
    ASSERT_EQ(mad_engine_open(&config, &engine), MAD_SUCCESS) << error();
    char address[MAD_ADDRESS_MAX];
    size_t size = sizeof(address);
    ASSERT_EQ(mad_engine_address(engine, address, &size), MAD_SUCCESS);
    ASSERT_EQ(mad_engine_peer(engine, address, size, &me), MAD_SUCCESS);
  }
  void TearDown() override { mad_engine_close(engine); }
  int send(const mad_envelope& to, std::uint32_t flags = 0) {
    return mad_tagged_send(engine, me, &to, flags, nullptr, "x", 1, nullptr, MAD_PATH_AUTO, &op);
  }
  int receive(const mad_envelope& what) {
    return mad_tagged_receive(engine, &what, memory, 1, nullptr, MAD_PATH_AUTO, &op, &waits,
                              &arrival);
  }
  mad_message* claimed() {
    EXPECT_GE(send({0, 1, 2}), 0) << error();
    const mad_envelope what{0, 1, 2};
    mad_message* message = nullptr;
    for (int i = 0; i < 100000 && message == nullptr; ++i) {
      mad_engine_progress(engine, nullptr);
      (void)mad_tagged_claim(engine, &what, &arrival, &message);
    }
    EXPECT_NE(message, nullptr);
    return message;
  }

  mad_engine* engine = nullptr;
  mad_peer* me = nullptr;
  mad_op op{};
  mad_receive* waits = nullptr;
  mad_arrival arrival{};
  char memory[1] = {'.'};
  int told = 0;
};

const mad_envelope kAny{MAD_ANY_SOURCE, MAD_ANY_TAG, 0};
const mad_envelope kAny2{MAD_ANY_SOURCE, MAD_ANY_TAG, 2};

// mad_tagged_send() says what is wrong.
TEST_F(TaggedApi, WhatIsWrongDoesNotLeaveTheShortWay) {
  const mad_envelope to{0, 0, 0}, no_source{-1, 0, 0}, no_tag{0, -1, 0};
  mad_type* pair = nullptr;
  ASSERT_EQ(mad_type_bytes(2, &pair), MAD_SUCCESS);
  EXPECT_EQ(mad_tagged_send_short(nullptr, &to, 0, nullptr, "x", 1, nullptr), MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_send_short(me, nullptr, 0, nullptr, "x", 1, nullptr), MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_send_short(me, &no_source, 0, nullptr, "x", 1, nullptr), MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_send_short(me, &no_tag, 0, nullptr, "x", 1, nullptr), MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_send_short(me, &to, 0x200, nullptr, "x", 1, nullptr), MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_send_short(me, &to, 0, nullptr, nullptr, 1, nullptr), MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_send_short(me, &to, 0, nullptr, "xy", 1, pair), MAD_NOT_NOW)
      << "not committed";
  ASSERT_EQ(mad_type_commit(pair), MAD_SUCCESS);
  EXPECT_EQ(mad_tagged_send_short(me, &to, 0, nullptr, "xy", UINT64_MAX, pair), MAD_NOT_NOW);
  mad_type_release(pair);
  EXPECT_EQ(mad_engine_counters(engine)->waiting_messages, 0u);
}

TEST_F(TaggedApi, NothingIsWrittenToOneselfOrToNobody) {
  const mad_envelope to{0, 0, 0};
  const mad_writer write = [](const void*, void*) { ADD_FAILURE() << "written"; };
  EXPECT_EQ(mad_tagged_send_written(nullptr, &to, 0, nullptr, 1, write, nullptr), MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_send_written(me, nullptr, 0, nullptr, 1, write, nullptr), MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_send_written(me, &to, 0, nullptr, 1, write, nullptr), MAD_NOT_NOW);
  EXPECT_EQ(mad_engine_counters(engine)->waiting_messages, 0u);
}

TEST_F(TaggedApi, OneToOneselfIsKeptOrReceivedAtOnce) {
  const mad_envelope to{0, 0, 0};
  ASSERT_EQ(mad_tagged_send_short(me, &to, 0, nullptr, "x", 1, nullptr), MAD_SUCCESS);
  EXPECT_EQ(mad_engine_counters(engine)->waiting_messages, 1u);
  ASSERT_EQ(receive(to), MAD_SUCCESS);
  EXPECT_EQ(memory[0], 'x');
  ASSERT_EQ(receive(to), MAD_IN_PROGRESS);
  ASSERT_EQ(mad_tagged_send_short(me, &to, 0, nullptr, "y", 1, nullptr), MAD_SUCCESS);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(memory[0], 'y');
}

TEST_F(TaggedApi, ALayoutToOneselfOutlivesItsHandle) {
  const mad_envelope to{0, 0, 0};
  mad_type *byte = nullptr, *columns = nullptr;
  ASSERT_EQ(mad_type_bytes(1, &byte), MAD_SUCCESS);
  ASSERT_EQ(mad_type_vector(3, 1, 2, byte, &columns), MAD_SUCCESS);
  ASSERT_EQ(mad_type_commit(columns), MAD_SUCCESS);
  EXPECT_EQ(mad_tagged_send_short(me, &to, 0, nullptr, "a.b.c", 0, columns), MAD_SUCCESS);
  ASSERT_EQ(receive(to), MAD_SUCCESS);
  EXPECT_EQ(arrival.sent, 0u);
  char in[] = ".....";
  ASSERT_EQ(mad_tagged_receive(engine, &to, in, 1, columns, MAD_PATH_AUTO, &op, &waits, &arrival),
            MAD_IN_PROGRESS);
  mad_type_release(columns);
  mad_type* other = nullptr;
  ASSERT_EQ(mad_type_vector(3, 1, 3, byte, &other), MAD_SUCCESS);
  ASSERT_EQ(mad_type_commit(other), MAD_SUCCESS);
  EXPECT_EQ(mad_tagged_send_short(me, &to, 0, nullptr, "x..y..z", 1, other), MAD_SUCCESS);
  EXPECT_STREQ(in, "x.y.z");
  mad_type_release(other);
  mad_type_release(byte);
}

TEST_F(TaggedApi, SendsAreChecked) {
  const mad_envelope to{0, 0, 0};
  EXPECT_EQ(mad_tagged_send(nullptr, me, &to, 0, nullptr, "x", 1, nullptr, MAD_PATH_AUTO, &op),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_send(engine, nullptr, &to, 0, nullptr, "x", 1, nullptr, MAD_PATH_AUTO, &op),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_send(engine, me, nullptr, 0, nullptr, "x", 1, nullptr, MAD_PATH_AUTO, &op),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_send(engine, me, &to, 0, nullptr, nullptr, 1, nullptr, MAD_PATH_AUTO, &op),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(send({-1, 0, 0}), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("source -1"), std::string::npos);
  EXPECT_EQ(send({0, -1, 0}), MAD_ERR_ARGUMENT);
  EXPECT_EQ(send({0, 0, 0}, 0x200), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("flags 512"), std::string::npos);
  EXPECT_GE(send({0, 0, 0}, 0xff), 0);
  EXPECT_EQ(mad_send_header(engine, me, 254, "x", 1), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("254"), std::string::npos);
}

TEST_F(TaggedApi, ReceivesAreChecked) {
  EXPECT_EQ(
      mad_tagged_receive(nullptr, &kAny, memory, 1, nullptr, MAD_PATH_AUTO, &op, &waits, &arrival),
      MAD_ERR_ARGUMENT);
  EXPECT_EQ(
      mad_tagged_receive(engine, nullptr, memory, 1, nullptr, MAD_PATH_AUTO, &op, &waits, &arrival),
      MAD_ERR_ARGUMENT);
  EXPECT_EQ(
      mad_tagged_receive(engine, &kAny, nullptr, 1, nullptr, MAD_PATH_AUTO, &op, &waits, &arrival),
      MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_receive(engine, &kAny, memory, 1, nullptr, MAD_PATH_AUTO, nullptr, &waits,
                               &arrival),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(
      mad_tagged_receive(engine, &kAny, memory, 1, nullptr, MAD_PATH_AUTO, &op, nullptr, &arrival),
      MAD_ERR_ARGUMENT);
  EXPECT_EQ(
      mad_tagged_receive(engine, &kAny, memory, 1, nullptr, MAD_PATH_AUTO, &op, &waits, nullptr),
      MAD_ERR_ARGUMENT);
  EXPECT_EQ(receive({-2, 0, 0}), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("source -2"), std::string::npos);
  EXPECT_EQ(receive({0, -2, 0}), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_counters(engine)->waiting_receives, 0u);
  EXPECT_EQ(receive(kAny), MAD_IN_PROGRESS);
  EXPECT_EQ(mad_engine_counters(engine)->waiting_receives, 1u);
  EXPECT_EQ(mad_tagged_cancel(nullptr, waits), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_cancel(engine, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_cancel(engine, waits), MAD_SUCCESS);
  EXPECT_EQ(told, 0);
}

TEST_F(TaggedApi, ProbesAndClaimsAreChecked) {
  mad_message* message = nullptr;
  EXPECT_EQ(mad_tagged_probe(nullptr, &kAny, &arrival), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_probe(engine, nullptr, &arrival), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_probe(engine, &kAny, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_probe(engine, &kAny, &arrival), MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_claim(nullptr, &kAny, &arrival, &message), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_claim(engine, &kAny, nullptr, &message), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_claim(engine, &kAny, &arrival, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_claim(engine, &kAny, &arrival, &message), MAD_NOT_NOW);
  EXPECT_EQ(mad_tagged_each(
                nullptr, [](void*, mad_receive*, mad_op*) {}, nullptr),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_tagged_each(engine, nullptr, nullptr), MAD_ERR_ARGUMENT);
}

TEST_F(TaggedApi, NotesTravelAlong) {
  const mad_envelope to{0, 1, 2};
  const std::uint64_t note[2] = {UINT64_MAX, 7};
  const mad_extension noted{note, nullptr, 0};
  ASSERT_GE(mad_tagged_send(engine, me, &to, 5, &noted, "x", 1, nullptr, MAD_PATH_AUTO, &op), 0);
  for (int i = 0; i < 100000 && arrival.sent == 0; ++i) {
    mad_engine_progress(engine, nullptr);
    (void)mad_tagged_probe(engine, &kAny2, &arrival);
  }
  EXPECT_EQ(arrival.flags, 5);
  EXPECT_TRUE(arrival.noted);
  EXPECT_EQ(arrival.note[0], note[0]);
  EXPECT_EQ(arrival.note[1], note[1]);
  arrival = {};
  ASSERT_EQ(receive(kAny2), MAD_SUCCESS);
  EXPECT_TRUE(arrival.noted);
  EXPECT_EQ(arrival.note[1], note[1]);
  mad_message* const plain = claimed();
  EXPECT_FALSE(arrival.noted) << "a message without a note";
  mad_message_discard(engine, plain);
}

TEST_F(TaggedApi, ValuesTravelAlong) {
  const mad_envelope to{0, 1, 2};
  const mad_extension carrying{nullptr, "value", 5};
  ASSERT_GE(mad_tagged_send(engine, me, &to, 0, &carrying, "x", 1, nullptr, MAD_PATH_AUTO, &op), 0);
  for (int i = 0; i < 100000 && arrival.sent == 0; ++i) {
    mad_engine_progress(engine, nullptr);
    (void)mad_tagged_probe(engine, &kAny2, &arrival);
  }
  const auto value = [this] {
    return std::string(static_cast<const char*>(arrival.value), arrival.value_bytes);
  };
  EXPECT_EQ(value(), "value") << "of a probe";
  arrival = {};
  ASSERT_EQ(receive(kAny2), MAD_SUCCESS);
  EXPECT_EQ(value(), "value");
  EXPECT_FALSE(arrival.noted);
  mad_message* const plain = claimed();
  EXPECT_EQ(arrival.value_bytes, 0u) << "a message without a value";
  mad_message_discard(engine, plain);
}

TEST_F(TaggedApi, ValuesAreChecked) {
  const mad_envelope to{0, 1, 2};
  const std::string longer(MAD_VALUE_MAX + 1, 'v');
  const mad_extension too_long{nullptr, longer.data(), longer.size()};
  EXPECT_EQ(mad_tagged_send(engine, me, &to, 0, &too_long, "x", 1, nullptr, MAD_PATH_AUTO, &op),
            MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("257 bytes: a message takes at most 256"), std::string::npos);
  const mad_extension nowhere{nullptr, nullptr, 1};
  EXPECT_EQ(mad_tagged_send(engine, me, &to, 0, &nowhere, "x", 1, nullptr, MAD_PATH_AUTO, &op),
            MAD_ERR_ARGUMENT);
}

// Whatever is wrong with the receive: its sender must not wait for ever.
TEST_F(TaggedApi, AClaimedMessageIsGoneAfterAnError) {
  EXPECT_EQ(mad_message_receive(engine, nullptr, memory, 1, nullptr, MAD_PATH_AUTO, &op, &waits,
                                &arrival),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_message_receive(engine, claimed(), nullptr, 1, nullptr, MAD_PATH_AUTO, &op, &waits,
                                &arrival),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_message_receive(engine, claimed(), memory, 1, nullptr, MAD_PATH_AUTO, nullptr,
                                &waits, &arrival),
            MAD_ERR_ARGUMENT);
  EXPECT_TRUE(mad_engine_idle(engine));
  EXPECT_EQ(mad_message_receive(engine, claimed(), memory, 1, nullptr, MAD_PATH_AUTO, &op, &waits,
                                &arrival),
            MAD_SUCCESS);
  EXPECT_EQ(memory[0], 'x');
  mad_message_discard(engine, nullptr);
  EXPECT_NE(error().find("message is NULL"), std::string::npos);
  mad_message_discard(engine, claimed());
}

// The endpoint that the peer's record names may be gone by then.
TEST(TaggedApiClosing, NoPeerIsFull) {
  struct Asked {
    mad_peer* peer = nullptr;
    int full = -1;
  } asked;
  mad_config config;
  mad_config_init(&config);
  config.fabric = "loopback";
  config.context = &asked;
  config.callbacks.on_tagged = [](void* context, mad_op*, const mad_arrival*, int) {
    auto& who = *static_cast<Asked*>(context);
    who.full = mad_peer_is_full(who.peer, 1);
  };
  mad_engine* engine = nullptr;
  ASSERT_EQ(mad_engine_open(&config, &engine), MAD_SUCCESS) << error();
  char address[MAD_ADDRESS_MAX];
  size_t size = sizeof(address);
  ASSERT_EQ(mad_engine_address(engine, address, &size), MAD_SUCCESS);
  ASSERT_EQ(mad_engine_peer(engine, address, size, &asked.peer), MAD_SUCCESS);
  mad_op op{};
  mad_receive* waits = nullptr;
  mad_arrival arrival{};
  char memory[1];
  ASSERT_EQ(
      mad_tagged_receive(engine, &kAny, memory, 1, nullptr, MAD_PATH_AUTO, &op, &waits, &arrival),
      MAD_IN_PROGRESS);
  mad_engine_close(engine);
  EXPECT_EQ(asked.full, 0);
}

}  // namespace
