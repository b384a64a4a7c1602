#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "netmod/abi/mad.h"

namespace {

/// A launcher of a job of two nodes with a process each, of which the other one is played.
struct Played {
  std::map<std::string, std::string> values;
  bool works = true;
};

int put(void* context, const char* key, const char* value) {
  auto* const played = static_cast<Played*>(context);
  std::string others = key;
  played->values[key] = value;
  others.back() = '1';  // what node 0 puts, node 1 has put, too
  played->values[others] = value;
  return played->works ? 0 : 1;
}

int get(void* context, int /*rank*/, const char* key, char* value, size_t room) {
  auto* const played = static_cast<Played*>(context);
  const auto found = played->values.find(key);
  if (!played->works || found == played->values.end() || found->second.size() >= room) return 1;
  std::strcpy(value, found->second.c_str());
  return 0;
}

int fence(void* context) { return static_cast<Played*>(context)->works ? 0 : 1; }

int gather(void* /*context*/, const void* own, size_t bytes, void* all) {
  std::memcpy(all, own, bytes);
  return 0;
}

constexpr int kNodes[] = {0, 1};

class ModexApi : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(mad_modex_open(&config_, &modex_), MAD_SUCCESS) << mad_last_error();
    ASSERT_EQ(mad_modex_register(modex_, "card", &card_), MAD_SUCCESS);
  }
  void TearDown() override { mad_modex_close(modex_); }

  Played played_;
  mad_modex_config config_{0, 2, kNodes, 1, {&played_, 100, put, get, fence, gather}};
  mad_modex* modex_ = nullptr;
  uint32_t card_ = 0;
};

int same(const void* one, size_t one_size, const void* other, size_t other_size) {
  return one_size == other_size && std::memcmp(one, other, one_size) == 0;
}

TEST_F(ModexApi, SendsAndReceives) {
  uint32_t host = 0;
  ASSERT_EQ(mad_modex_register(modex_, "host", &host), MAD_SUCCESS);
  ASSERT_EQ(mad_modex_proc_send(modex_, card_, "four", 4), MAD_SUCCESS);
  ASSERT_EQ(mad_modex_node_send(modex_, host, "n", 1), MAD_SUCCESS);
  ASSERT_EQ(mad_modex_exchange(modex_), MAD_SUCCESS) << mad_last_error();
  char data[8] = {};
  size_t size = sizeof(data);
  ASSERT_EQ(mad_modex_proc_receive(modex_, 1, card_, data, &size), MAD_SUCCESS) << mad_last_error();
  EXPECT_EQ(std::string(data, size), "four");
  size = sizeof(data);
  ASSERT_EQ(mad_modex_node_receive(modex_, 1, host, data, &size), MAD_SUCCESS);
  EXPECT_EQ(std::string(data, size), "n");
  size = 3;
  EXPECT_EQ(mad_modex_proc_receive(modex_, 1, card_, data, &size), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_node_receive(modex_, 1, card_, data, &size), MAD_ERR_NOT_FOUND);
  int all = 0;
  ASSERT_EQ(mad_modex_agree(modex_, card_, same, &all), MAD_SUCCESS) << mad_last_error();
  EXPECT_EQ(all, 1);
}

TEST_F(ModexApi, ALauncherThatFailsIsAnError) {
  played_.works = false;
  ASSERT_EQ(mad_modex_proc_send(modex_, card_, "four", 4), MAD_SUCCESS);
  EXPECT_EQ(mad_modex_exchange(modex_), MAD_ERR_INTERNAL);
  EXPECT_NE(std::string(mad_last_error()).find("the launcher failed in put mad-1-0"),
            std::string::npos);
}

TEST_F(ModexApi, RefusesWhatIsWrong) {
  char data[8];
  size_t size = sizeof(data);
  int all;
  mad_modex* out = nullptr;
  mad_modex_config config = config_;
  config.launcher.get = nullptr;
  EXPECT_EQ(mad_modex_open(&config, &out), MAD_ERR_ARGUMENT);
  config = config_;
  config.rank = 2;
  EXPECT_EQ(mad_modex_open(&config, &out), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_open(nullptr, &out), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_open(&config_, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_register(modex_, nullptr, &card_), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_proc_send(modex_, card_, nullptr, 1), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_proc_send(modex_, card_ + 1, data, 1), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_node_send(nullptr, card_, data, 1), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_exchange(nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_proc_receive(modex_, 1, card_, data, &size), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_proc_receive(modex_, 1, card_, nullptr, &size), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_modex_agree(modex_, card_, nullptr, &all), MAD_ERR_ARGUMENT);
  mad_modex_close(nullptr);
}

}  // namespace
