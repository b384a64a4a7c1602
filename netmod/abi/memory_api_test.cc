#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "netmod/abi/mad.h"

namespace {

// A process may open its own memory.
class MemoryApiTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(mad_process_self(&word_, &self_), MAD_SUCCESS); }
  void TearDown() override { mad_memory_close(memory_); }

  std::uint64_t word_ = 0;
  mad_process self_{};
  mad_memory* memory_ = nullptr;
};

std::uint64_t address_of(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

TEST_F(MemoryApiTest, RunsHereAreOneRunThere) {
  std::string there = "............";
  std::string here = "abcdefghij";
  ASSERT_EQ(mad_memory_open(&self_, &memory_), MAD_SUCCESS) << mad_last_error();
  const std::array<mad_run, 2> runs = {mad_run{here.data() + 6, 3}, mad_run{here.data(), 4}};
  EXPECT_EQ(mad_memory_write(memory_, address_of(there.data() + 1), runs.data(), 2), MAD_SUCCESS);
  EXPECT_EQ(there, ".ghiabcd....");
  EXPECT_EQ(mad_memory_read(memory_, address_of(there.data()), runs.data(), 2), MAD_SUCCESS);
  EXPECT_EQ(here, "iabcef.ghj");
}

TEST_F(MemoryApiTest, EachProcessHasAWordOfItsOwn) {
  std::uint64_t other = 0;
  mad_process process{};
  ASSERT_EQ(mad_process_self(&other, &process), MAD_SUCCESS);
  EXPECT_NE(other, word_);
  EXPECT_EQ(process.word, other);
  EXPECT_EQ(process.pid, self_.pid);
}

TEST_F(MemoryApiTest, WhoIsAnotherIsNotOpened) {
  word_ ^= 1;
  EXPECT_EQ(mad_memory_open(&self_, &memory_), MAD_ERR_PEER_FAILED);
  EXPECT_EQ(memory_, nullptr);
  EXPECT_NE(std::strstr(mad_last_error(), "another process"), nullptr) << mad_last_error();
}

TEST_F(MemoryApiTest, WrongArgumentsAreRefused) {
  const std::vector<mad_run> many(MAD_MEMORY_RUNS + 1, mad_run{&word_, 0});
  EXPECT_EQ(mad_process_self(nullptr, &self_), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_process_self(&word_, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_memory_open(nullptr, &memory_), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_memory_open(&self_, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_memory_read(nullptr, 0, many.data(), 1), MAD_ERR_ARGUMENT);
  ASSERT_EQ(mad_memory_open(&self_, &memory_), MAD_SUCCESS) << mad_last_error();
  EXPECT_EQ(mad_memory_read(memory_, 0, nullptr, 1), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_memory_write(memory_, 0, many.data(), many.size()), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_memory_write(memory_, 0, nullptr, 0), MAD_SUCCESS);
}

}  // namespace
