// What a C caller can get wrong with memory that is shared, and what it is told.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "netmod/abi/mad.h"

namespace {

std::string error() { return mad_last_error(); }

class OneSidedApi : public ::testing::Test {
 protected:
  void SetUp() override {
    mad_config config;
    mad_config_init(&config);
    config.fabric = "ofi:tcp";
    config.interface = "lo";
    ASSERT_EQ(mad_engine_open(&config, &engine), MAD_SUCCESS) << error();
    char address[MAD_ADDRESS_MAX];
    size_t size = sizeof(address);
    ASSERT_EQ(mad_engine_address(engine, address, &size), MAD_SUCCESS);
    ASSERT_EQ(mad_engine_peer(engine, address, size, &me), MAD_SUCCESS);
  }
  void TearDown() override { mad_engine_close(engine); }

  mad_engine* engine = nullptr;
  mad_peer* me = nullptr;
  mad_op op{};
  char memory[64] = {};
};

TEST_F(OneSidedApi, WrongArgumentsAreNamed) {
  mad_region* shared = nullptr;
  EXPECT_EQ(mad_region_share(nullptr, memory, 1, &shared), MAD_ERR_ARGUMENT);
  EXPECT_EQ(error(), "mad_region_share: engine is NULL");
  EXPECT_EQ(mad_region_share(engine, nullptr, 1, &shared), MAD_ERR_ARGUMENT);
  EXPECT_EQ(error(), "mad_region_share: base is NULL");
  EXPECT_EQ(mad_region_share(engine, memory, 0, &shared), MAD_ERR_ARGUMENT);
  EXPECT_EQ(error(), "mad_region_share: there are no bytes");
  EXPECT_EQ(mad_region_share(engine, memory, 1, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(error(), "mad_region_share: out is NULL");
  EXPECT_EQ(shared, nullptr);
  const mad_region_key key{};
  EXPECT_EQ(mad_put(engine, nullptr, &key, 0, memory, 1, &op), MAD_ERR_ARGUMENT);
  EXPECT_EQ(error(), "mad_put: peer is NULL");
  EXPECT_EQ(mad_put(engine, me, nullptr, 0, memory, 1, &op), MAD_ERR_ARGUMENT);
  EXPECT_EQ(error(), "mad_put: region is NULL");
  EXPECT_EQ(mad_put(engine, me, &key, 0, nullptr, 1, &op), MAD_ERR_ARGUMENT);
  EXPECT_EQ(error(), "mad_put: the data are NULL");
  EXPECT_EQ(mad_get(engine, me, &key, 0, memory, 0, &op), MAD_ERR_ARGUMENT);
  EXPECT_EQ(error(), "mad_get: there are no bytes");
  EXPECT_EQ(mad_get(engine, me, &key, 0, memory, 1, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(error(), "mad_get: op is NULL");
  mad_region_unshare(engine, nullptr);
  mad_region_unshare(nullptr, nullptr);
}

TEST_F(OneSidedApi, TheKeyNamesTheFabric) {
  mad_region* shared = nullptr;
  ASSERT_EQ(mad_region_share(engine, memory, sizeof(memory), &shared), MAD_SUCCESS) << error();
  mad_region_key key;
  mad_region_get_key(shared, &key);
  EXPECT_STREQ(key.fabric, "ofi:tcp");
  mad_region_unshare(engine, shared);
}

void expect_shares_nothing(const char* fabric, bool checksum) {
  char memory[1];
  mad_config config;
  mad_config_init(&config);
  config.fabric = fabric;
  config.interface = "lo";
  config.checksum = checksum ? 1 : 0;
  mad_engine* engine = nullptr;
  ASSERT_EQ(mad_engine_open(&config, &engine), MAD_SUCCESS) << error();
  mad_region* shared = nullptr;
  EXPECT_EQ(mad_region_share(engine, memory, sizeof(memory), &shared), MAD_NOT_NOW);
  EXPECT_EQ(shared, nullptr);
  mad_engine_close(engine);
}

// What is put and got has no checksum.
TEST_F(OneSidedApi, WhoSendsChecksumsSharesNothing) { expect_shares_nothing("ofi:tcp", true); }

TEST_F(OneSidedApi, NothingIsDoneByAnotherFabricOrWithoutOne) {
  const mad_region_key key{};
  EXPECT_EQ(mad_put(engine, me, &key, 0, memory, 1, &op), MAD_NOT_NOW);
  EXPECT_EQ(mad_get(engine, me, &key, 0, memory, 1, &op), MAD_NOT_NOW);
  expect_shares_nothing("tcp", false);
}

}  // namespace
