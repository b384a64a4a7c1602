// What a C caller can get wrong with engines and peers, and what it is told.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "netmod/abi/mad.h"

namespace {

std::string error() { return mad_last_error(); }

mad_config loopback() {
  mad_config config;
  mad_config_init(&config);
  config.fabric = "loopback";
  return config;
}

TEST(EngineApi, ConfigInitGivesDefaults) {
  mad_config config;
  std::memset(&config, 0xff, sizeof(config));
  mad_config_init(&config);
  EXPECT_EQ(config.abi_version, static_cast<std::uint32_t>(MAD_ABI_VERSION));
  EXPECT_EQ(config.fabric, nullptr);
  EXPECT_EQ(config.eager_limit, 0u);
  EXPECT_EQ(config.connect_timeout, 600u);
  EXPECT_EQ(config.callbacks.on_sent, nullptr);
  mad_config_init(nullptr);
}

// As of a program that was compiled before its library was replaced.
TEST(EngineApi, WhoIsOfAnotherVersionGetsNoMoreThanItHasRoomForAndIsRefused) {
  struct {
    std::array<std::uint32_t, 4> config;
    std::uint32_t behind;
  } older;
  std::memset(&older, 0xff, sizeof(older));
  mad_config_fill(reinterpret_cast<mad_config*>(&older), sizeof(older.config), MAD_ABI_VERSION - 1);
  EXPECT_EQ(older.config[0], static_cast<std::uint32_t>(MAD_ABI_VERSION - 1));
  EXPECT_EQ(older.config[3], 0u);
  EXPECT_EQ(older.behind, 0xffffffffu);
  mad_engine* engine = nullptr;
  EXPECT_EQ(mad_engine_open(reinterpret_cast<const mad_config*>(&older), &engine), MAD_ERR_VERSION);
  EXPECT_EQ(engine, nullptr);
}

TEST(EngineApi, OpenRefusesWhatItCannotServe) {
  mad_config config = loopback();
  mad_engine* engine = nullptr;
  EXPECT_EQ(mad_engine_open(nullptr, &engine), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_open(&config, nullptr), MAD_ERR_ARGUMENT);

  config.abi_version = MAD_ABI_VERSION + 1;
  EXPECT_EQ(mad_engine_open(&config, &engine), MAD_ERR_VERSION);
  EXPECT_NE(error().find("ABI version " + std::to_string(MAD_ABI_VERSION + 1)), std::string::npos)
      << error();

  config = loopback();
  config.fabric = "telegraph";
  EXPECT_EQ(mad_engine_open(&config, &engine), MAD_ERR_NOT_FOUND);
  EXPECT_NE(error().find("'telegraph'"), std::string::npos) << error();
  EXPECT_NE(error().find(mad_fabric_names()), std::string::npos) << error();

  config.fabric = "ofi:tcp";
  config.interface = "no-such-interface";
  EXPECT_EQ(mad_engine_open(&config, &engine), MAD_ERR_NOT_FOUND);
  EXPECT_NE(error().find("no-such-interface"), std::string::npos) << error();
  EXPECT_EQ(engine, nullptr);
}

TEST(EngineApi, OpenRaisesTheLimitOfFiles) {
  rlimit before{}, after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{before.rlim_max / 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const mad_config config = loopback();
  mad_engine* engine = nullptr;
  ASSERT_EQ(mad_engine_open(&config, &engine), MAD_SUCCESS) << error();
  mad_engine_close(engine);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
}

TEST(EngineApi, TheFabricsOfAListAreCountedApart) {
  mad_config config = loopback();
  config.fabric = "loopback;tcp";
  config.interface = "lo";
  mad_engine* engine = nullptr;
  ASSERT_EQ(mad_engine_open(&config, &engine), MAD_SUCCESS) << error();
  EXPECT_STREQ(mad_engine_fabric(engine), "loopback;tcp");
  mad_fabric_counters counters;
  ASSERT_EQ(mad_engine_fabric_counters(engine, 1, &counters), MAD_SUCCESS);
  EXPECT_STREQ(counters.name, "tcp");
  EXPECT_EQ(counters.bytes_sent, 0u);
  EXPECT_EQ(mad_engine_fabric_counters(engine, 2, &counters), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("no fabric 2; the engine has 2"), std::string::npos) << error();
  EXPECT_EQ(mad_engine_fabric_counters(engine, -1, &counters), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_fabric_counters(nullptr, 0, &counters), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_fabric_counters(engine, 0, nullptr), MAD_ERR_ARGUMENT);

  char address[MAD_ADDRESS_MAX];
  size_t size = sizeof(address);
  ASSERT_EQ(mad_engine_address(engine, address, &size), MAD_SUCCESS);
  char names[MAD_FABRICS_BYTES];
  ASSERT_EQ(mad_address_fabrics(address, size, names, sizeof(names)), MAD_SUCCESS);
  EXPECT_STREQ(names, "loopback;tcp");
  EXPECT_EQ(mad_address_fabrics(address, size, names, 12), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_address_fabrics(address, size, names, 13), MAD_SUCCESS);
  EXPECT_EQ(mad_address_fabrics(address, 3, names, sizeof(names)), MAD_ERR_ARGUMENT);
  mad_peer* self = nullptr;
  ASSERT_EQ(mad_engine_peer(engine, address, size, &self), MAD_SUCCESS);
  EXPECT_STREQ(mad_peer_fabric(engine, self), "loopback");
  EXPECT_STREQ(mad_peer_fabric(engine, nullptr), "");
  mad_engine_close(engine);
}

TEST(EngineApi, TheDefaultIsSharedMemoryAndTcp) {
  mad_config config;
  mad_config_init(&config);
  config.interface = "lo";
  mad_engine* engine = nullptr;
  ASSERT_EQ(mad_engine_open(&config, &engine), MAD_SUCCESS) << error();
  EXPECT_STREQ(mad_engine_fabric(engine), "shm;tcp");
  mad_engine_close(engine);
}

TEST(EngineApi, EnginesAreOpenedAndClosedRepeatedly) {
  const mad_config config = loopback();
  for (int i = 0; i < 20; ++i) {
    mad_engine* engine = nullptr;
    ASSERT_EQ(mad_engine_open(&config, &engine), MAD_SUCCESS);
    mad_engine_close(engine);
  }
}

TEST(EngineApi, NullHandlesAreRefusedOrHarmless) {
  mad_engine_close(nullptr);
  EXPECT_STREQ(mad_engine_fabric(nullptr), "");
  EXPECT_EQ(mad_engine_progress(nullptr, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_wait(nullptr, 0), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_idle(nullptr), 1);
  EXPECT_EQ(mad_engine_flushed(nullptr), 1);
  EXPECT_EQ(mad_engine_arrived(nullptr), 1);
  EXPECT_EQ(mad_max_header_bytes(nullptr), 0u);
  EXPECT_EQ(mad_engine_counters(nullptr), nullptr);
  EXPECT_EQ(mad_peer_context(nullptr), nullptr);
  EXPECT_EQ(mad_peer_status(nullptr), MAD_ERR_ARGUMENT);
  mad_peer_set_context(nullptr, nullptr);
  char room[MAD_ADDRESS_MAX];
  size_t size = sizeof(room);
  mad_peer* peer = nullptr;
  EXPECT_EQ(mad_engine_address(nullptr, room, &size), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_peer_address(nullptr, room, &size), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_peer(nullptr, room, size, &peer), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_peer_touch(nullptr, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_peer_release(nullptr, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_peer_reject(nullptr, nullptr, ""), MAD_ERR_ARGUMENT);
}

class OpenEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    const mad_config config = loopback();
    ASSERT_EQ(mad_engine_open(&config, &engine), MAD_SUCCESS) << error();
    ASSERT_EQ(mad_engine_address(engine, address, &size), MAD_SUCCESS);
  }
  void TearDown() override { mad_engine_close(engine); }

  mad_engine* engine = nullptr;
  char address[MAD_ADDRESS_MAX];
  size_t size = sizeof(address);
};

TEST_F(OpenEngine, AddressNeedsRoom) {
  EXPECT_LE(size, static_cast<size_t>(MAD_ADDRESS_MAX));
  char room[MAD_ADDRESS_MAX] = {};
  size_t small = size - 1;
  EXPECT_EQ(mad_engine_address(engine, room, &small), MAD_ERR_ARGUMENT);
  EXPECT_EQ(small, size - 1);
  EXPECT_EQ(room[0], 0);
  EXPECT_NE(error().find("MAD_ADDRESS_MAX"), std::string::npos);
  size_t exact = size;
  EXPECT_EQ(mad_engine_address(engine, room, &exact), MAD_SUCCESS);
  EXPECT_EQ(std::memcmp(room, address, size), 0);
  EXPECT_EQ(mad_engine_address(engine, nullptr, &exact), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_address(engine, room, nullptr), MAD_ERR_ARGUMENT);
}

TEST_F(OpenEngine, PeerArgumentsAreChecked) {
  mad_peer* peer = nullptr;
  EXPECT_EQ(mad_engine_peer(engine, nullptr, size, &peer), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_peer(engine, address, size, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_engine_peer(engine, address, size - 1, &peer), MAD_ERR_ARGUMENT);
  EXPECT_EQ(peer, nullptr);
  ASSERT_EQ(mad_engine_peer(engine, address, size, &peer), MAD_SUCCESS);
  EXPECT_EQ(mad_peer_touch(engine, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_peer_release(engine, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_peer_release(engine, peer), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("not gone"), std::string::npos);
  char room[MAD_ADDRESS_MAX];
  size_t room_size = sizeof(room);
  ASSERT_EQ(mad_peer_address(peer, room, &room_size), MAD_SUCCESS);
  EXPECT_EQ(std::string(room, room_size), std::string(address, size));
}

TEST_F(OpenEngine, PeersOfAnotherEngineAreRefused) {
  const mad_config config = loopback();
  mad_engine* other = nullptr;
  ASSERT_EQ(mad_engine_open(&config, &other), MAD_SUCCESS);
  mad_peer* peer = nullptr;
  ASSERT_EQ(mad_engine_peer(other, address, size, &peer), MAD_SUCCESS);
  EXPECT_EQ(mad_peer_touch(engine, peer), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("another engine"), std::string::npos);
  EXPECT_EQ(mad_send_header(engine, peer, 1, "x", 1), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_peer_release(engine, peer), MAD_ERR_ARGUMENT);
  EXPECT_STREQ(mad_peer_fabric(engine, peer), "");
  mad_engine_close(other);
}

// Its record of the peer may be gone by then.
TEST(EngineApi, WhoIsClosingHasNoFabricForPeers) {
  struct Seen {
    mad_engine* engine = nullptr;
    mad_peer* self = nullptr;
    std::string fabric = "never asked";
  } seen;
  mad_config config = loopback();
  config.context = &seen;
  config.callbacks.on_sent = [](void* context, mad_op*, int) {
    auto& asked = *static_cast<Seen*>(context);
    asked.fabric = mad_peer_fabric(asked.engine, asked.self);
  };
  ASSERT_EQ(mad_engine_open(&config, &seen.engine), MAD_SUCCESS);
  char address[MAD_ADDRESS_MAX];
  size_t size = sizeof(address);
  ASSERT_EQ(mad_engine_address(seen.engine, address, &size), MAD_SUCCESS);
  ASSERT_EQ(mad_engine_peer(seen.engine, address, size, &seen.self), MAD_SUCCESS);
  const std::vector<char> payload(1 << 20);
  mad_op op{};
  ASSERT_EQ(mad_send(seen.engine, seen.self, 1, nullptr, 0, payload.data(), payload.size(), nullptr,
                     MAD_PATH_AUTO, &op),
            MAD_IN_PROGRESS);
  mad_engine_close(seen.engine);
  EXPECT_EQ(seen.fabric, "");
}

TEST_F(OpenEngine, ProgressNeedsNoCounter) {
  EXPECT_EQ(mad_engine_progress(engine, nullptr), MAD_SUCCESS);
  int events = -1;
  EXPECT_EQ(mad_engine_progress(engine, &events), MAD_SUCCESS);
  EXPECT_GE(events, 0);
}

}  // namespace
