// What a C caller can get wrong with messages, and what it is told.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "netmod/abi/mad.h"

namespace {

std::string error() { return mad_last_error(); }

class MessageApi : public ::testing::Test {
 protected:
  void SetUp() override {
    mad_config config;
    mad_config_init(&config);
    config.fabric = "loopback";
    config.context = this;
    config.callbacks.on_message = [](void* context, mad_peer*, std::uint8_t, void*, std::size_t,
                                     std::uint64_t, mad_incoming* incoming) {
      if (incoming != nullptr) static_cast<MessageApi*>(context)->incoming = incoming;
    };
    config.callbacks.on_sent = [](void* context, mad_op*, int status) {
      auto* const test = static_cast<MessageApi*>(context);
      ++test->sent;
      test->sent_status = status;
      // While the engine closes, nothing new starts.
      test->from_callback = mad_send_header(test->engine, test->me, 1, "x", 1);
    };
    config.callbacks.on_received = [](void* context, mad_op*, std::uint64_t bytes, int) {
      static_cast<MessageApi*>(context)->received_bytes = bytes;
    };
    ASSERT_EQ(mad_engine_open(&config, &engine), MAD_SUCCESS) << error();
    char address[MAD_ADDRESS_MAX];
    size_t size = sizeof(address);
    ASSERT_EQ(mad_engine_address(engine, address, &size), MAD_SUCCESS);
    ASSERT_EQ(mad_engine_peer(engine, address, size, &me), MAD_SUCCESS);
    mad_type* byte = nullptr;
    ASSERT_EQ(mad_type_bytes(1, &byte), MAD_SUCCESS);
    ASSERT_EQ(mad_type_vector(2, 3, 5, byte, &type), MAD_SUCCESS);
    mad_type_release(byte);
  }
  void TearDown() override {
    mad_type_release(type);
    mad_engine_close(engine);
  }
  int send(const void* base, std::uint64_t count, const mad_type* of, mad_path path, mad_op* slot) {
    return mad_send(engine, me, 1, "h", 1, base, count, of, path, slot);
  }
  void wait_for_message() {
    for (int i = 0; i < 100000 && incoming == nullptr; ++i) mad_engine_progress(engine, nullptr);
    ASSERT_NE(incoming, nullptr);
  }
  void wait_for_sent() {
    for (int i = 0; i < 100000 && sent == 0; ++i) mad_engine_progress(engine, nullptr);
    ASSERT_EQ(sent, 1);
  }

  mad_engine* engine = nullptr;
  mad_peer* me = nullptr;
  mad_type* type = nullptr;
  mad_op op{};
  mad_incoming* incoming = nullptr;
  int sent = 0;
  int sent_status = 99;
  int from_callback = 99;
  std::uint64_t received_bytes = 0;
};

TEST_F(MessageApi, HeadersAreChecked) {
  EXPECT_EQ(mad_send_header(nullptr, me, 1, "x", 1), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_send_header(engine, nullptr, 1, "x", 1), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_send_header(engine, me, 1, nullptr, 1), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_send_header(engine, me, 255, "x", 1), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("255"), std::string::npos);
  const std::string longer(mad_max_header_bytes(engine) + 1, 'x');
  EXPECT_EQ(mad_send_header(engine, me, 1, longer.data(), longer.size()), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("mad_max_header_bytes()"), std::string::npos);
  EXPECT_EQ(mad_send_header(engine, me, 1, nullptr, 0), MAD_SUCCESS);
}

TEST_F(MessageApi, PayloadsAreChecked) {
  char memory[16] = {};
  EXPECT_EQ(send(memory, 1, type, MAD_PATH_AUTO, &op), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("mad_type_commit()"), std::string::npos);
  ASSERT_EQ(mad_type_commit(type), MAD_SUCCESS);
  EXPECT_EQ(send(memory, 1, type, MAD_PATH_AUTO, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(send(memory, 1, type, MAD_PATH_COUNT, &op), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find(mad_path_names()), std::string::npos);
  EXPECT_EQ(mad_send_soon(engine, me, 1, "h", 1, memory, 1, nullptr, MAD_PATH_AUTO, nullptr),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(error(), "mad_send_soon: op is NULL");
  EXPECT_EQ(mad_send(engine, me, 1, "h", 1, memory, 1, type, static_cast<mad_path>(100), &op),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(send(memory, 1, type, MAD_PATH_OFF, &op), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("type must be NULL"), std::string::npos);
  EXPECT_EQ(send(nullptr, 5, nullptr, MAD_PATH_AUTO, &op), MAD_ERR_ARGUMENT);
  EXPECT_EQ(send(memory, UINT64_MAX / 3, type, MAD_PATH_AUTO, &op), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_counters(engine)->packets_sent, 0u);
}

TEST_F(MessageApi, AnAbsoluteTypeNeedsNoBase) {
  // As with MPI_BOTTOM: displacements are addresses.
  char memory[8] = "absolut";
  mad_type* byte = nullptr;
  mad_type* absolute = nullptr;
  ASSERT_EQ(mad_type_bytes(1, &byte), MAD_SUCCESS);
  const std::int64_t place = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(memory));
  ASSERT_EQ(mad_type_indexed_block(1, 7, &place, byte, &absolute), MAD_SUCCESS);
  mad_type_release(byte);
  ASSERT_EQ(mad_type_commit(absolute), MAD_SUCCESS);
  ASSERT_GE(send(nullptr, 1, absolute, MAD_PATH_AUTO, &op), 0) << error();
  mad_type_release(absolute);
  wait_for_message();
  std::string got(7, '-');
  mad_op receive{};
  const int result =
      mad_recv(engine, incoming, got.data(), 7, nullptr, MAD_PATH_AUTO, &receive, &received_bytes);
  ASSERT_GE(result, 0) << error();
  for (int i = 0; i < 100000 && received_bytes == 0; ++i) mad_engine_progress(engine, nullptr);
  EXPECT_EQ(received_bytes, 7u);
  EXPECT_EQ(got, "absolut");
}

TEST_F(MessageApi, AReceiveWithAWrongArgumentFreesTheSender) {
  const std::vector<char> data(300000, 'x');
  std::vector<char> memory(300000);
  mad_op receive{};
  std::uint64_t received = 77;
  ASSERT_EQ(send(data.data(), data.size(), nullptr, MAD_PATH_AUTO, &op), MAD_IN_PROGRESS);
  wait_for_message();
  EXPECT_EQ(
      mad_recv(nullptr, incoming, memory.data(), 1, nullptr, MAD_PATH_AUTO, &receive, &received),
      MAD_ERR_ARGUMENT);
  EXPECT_EQ(
      mad_recv(engine, nullptr, memory.data(), 1, nullptr, MAD_PATH_AUTO, &receive, &received),
      MAD_ERR_ARGUMENT);
  // Engine and message are right, so that the message is taken: discarded.
  EXPECT_EQ(mad_recv(engine, incoming, nullptr, 1, nullptr, MAD_PATH_AUTO, &receive, &received),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(received, 77u);
  wait_for_sent();
  EXPECT_EQ(sent_status, MAD_SUCCESS);
}

TEST_F(MessageApi, DiscardIgnoresNull) {
  mad_discard(nullptr, nullptr);
  mad_discard(engine, nullptr);
}

TEST_F(MessageApi, NothingStartsWhileTheEngineCloses) {
  const std::vector<char> data(300000, 'x');
  ASSERT_EQ(send(data.data(), data.size(), nullptr, MAD_PATH_AUTO, &op), MAD_IN_PROGRESS);
  wait_for_message();
  mad_engine_close(engine);
  engine = nullptr;
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(sent_status, MAD_ERR_CLOSED);
  EXPECT_LT(from_callback, 0);
}

}  // namespace
