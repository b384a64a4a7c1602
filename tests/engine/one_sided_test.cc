// Memory that an engine shares, accessed by its peers while it does nothing but let its fabric
// move.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>

#include "tests/engine/node.h"

namespace mad::test {
namespace {

constexpr std::size_t kShared = 3 * 1000 * 1000;

class OneSided : public ::testing::Test {
 protected:
  OneSided() : a_("ofi:tcp"), b_("ofi:tcp"), to_b_(a_.peer(b_)), memory_(pattern(kShared, 3)) {
    EXPECT_EQ(mad_region_share(b_.engine(), memory_.data(), kShared, &shared_), MAD_SUCCESS)
        << mad_last_error();
    mad_region_get_key(shared_, &key_);
  }
  ~OneSided() override {
    mad_region_unshare(b_.engine(), shared_);
    close_together({&a_, &b_});
  }
  void connect() {
    Operation sent;
    a_.send(to_b_, "hello", nullptr, 0, nullptr, MAD_PATH_AUTO, &sent);
    ASSERT_TRUE(progress_until({&a_, &b_}, [&] { return sent.done && !b_.arrivals.empty(); }));
    b_.arrivals.clear();
  }
  bool done(const Operation& operation) {
    return progress_until({&a_, &b_}, [&] { return operation.done; });
  }

  Node a_, b_;
  mad_peer* to_b_;
  Bytes memory_;
  mad_region* shared_ = nullptr;
  mad_region_key key_{};
};

TEST_F(OneSided, NotBeforeTheyAreConnected) {
  Operation operation;
  unsigned char byte = 1;
  EXPECT_EQ(mad_put(a_.engine(), to_b_, &key_, 0, &byte, 1, &operation.slot), MAD_NOT_NOW);
  connect();
  EXPECT_EQ(mad_put(a_.engine(), to_b_, &key_, 0, &byte, 1, &operation.slot), MAD_IN_PROGRESS);
  ASSERT_TRUE(done(operation));
  EXPECT_EQ(memory_[0], std::byte{1});
}

TEST_F(OneSided, AllLengthsArePutAndGot) {
  connect();
  for (const std::size_t size : {1ul, 7ul, 4096ul, 65537ul, 1048577ul, kShared - 5}) {
    const Bytes bytes = pattern(size, static_cast<unsigned>(size));
    Operation put, get;
    ASSERT_EQ(mad_put(a_.engine(), to_b_, &key_, 5, bytes.data(), size, &put.slot),
              MAD_IN_PROGRESS);
    ASSERT_TRUE(done(put));
    EXPECT_EQ(put.status, MAD_SUCCESS);
    EXPECT_EQ(std::memcmp(&memory_[5], bytes.data(), size), 0) << size;
    Bytes got(size);
    ASSERT_EQ(mad_get(a_.engine(), to_b_, &key_, 5, got.data(), size, &get.slot), MAD_IN_PROGRESS);
    ASSERT_TRUE(done(get));
    EXPECT_EQ(get.status, MAD_SUCCESS);
    EXPECT_EQ(got, bytes) << size;
  }
  EXPECT_TRUE(b_.arrivals.empty());
}

// Which those would not have.
TEST_F(OneSided, NothingIsPutOrGotByWhoSendsChecksums) {
  Node checks("ofi:tcp", [](mad_config& config) { config.checksum = 1; });
  mad_peer* const to_b = checks.peer(b_);
  Operation sent, operation;
  checks.send(to_b, "hello", nullptr, 0, nullptr, MAD_PATH_AUTO, &sent);
  ASSERT_TRUE(progress_until({&checks, &b_}, [&] { return sent.done && !b_.arrivals.empty(); }));
  unsigned char byte = 1;
  EXPECT_EQ(mad_put(checks.engine(), to_b, &key_, 0, &byte, 1, &operation.slot), MAD_NOT_NOW);
  EXPECT_EQ(mad_get(checks.engine(), to_b, &key_, 0, &byte, 1, &operation.slot), MAD_NOT_NOW);
  close_together({&checks, &b_});
  shared_ = nullptr;  // it went with its engine
}

TEST_F(OneSided, AnErrorIsToldToEachThatWasUnderWay) {
  connect();
  std::deque<Operation> operations(50);
  Bytes bytes(kShared);
  for (Operation& operation : operations) {
    ASSERT_EQ(mad_get(a_.engine(), to_b_, &key_, 0, bytes.data(), kShared, &operation.slot),
              MAD_IN_PROGRESS);
  }
  b_.close();
  shared_ = nullptr;  // it went with its engine
  ASSERT_TRUE(progress_until({&a_}, [&] { return operations.back().done; }));
  for (const Operation& operation : operations) EXPECT_EQ(operation.callbacks, 1);
  EXPECT_NE(operations.back().status, MAD_SUCCESS);
  unsigned char byte = 1;
  Operation late;
  EXPECT_LT(mad_put(a_.engine(), to_b_, &key_, 0, &byte, 1, &late.slot), 0);
}

}  // namespace
}  // namespace mad::test
