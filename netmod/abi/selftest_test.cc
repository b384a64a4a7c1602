#include "netmod/abi/selftest.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "madlike/driver/loopback/loopback.h"
#include "madlike/driver/ofi/ofi.h"
#include "netmod/abi/fabric.h"
#include "tests/fault/faulty_driver.h"

namespace mad {
namespace {

constexpr std::chrono::milliseconds kLong{20000};

std::unique_ptr<Driver> opened(const std::string& fabric) {
  auto driver = open_fabric(fabric, {"lo"});
  EXPECT_TRUE(driver.ok()) << driver.status().message();
  return driver.ok() ? std::move(*driver) : nullptr;
}

/// Of two engines of a network, one of which is as the plan says.
Status with_faults(const FaultPlan& plan, std::chrono::milliseconds limit = kLong,
                   const LoopbackOptions& options = {}) {
  auto network = std::make_shared<LoopbackNetwork>(options);
  return self_test(std::make_unique<FaultyDriver>(std::make_unique<LoopbackDriver>(network), plan),
                   std::make_unique<LoopbackDriver>(network), limit);
}

/// All of it, so that any bit of a packet may flip.
class AnyByte : public PacketTap {
 public:
  Segment payload(Segment packet, std::size_t /*rest*/) override { return packet; }
  void posting(Segment /*packet*/, std::size_t /*rest*/) override {}
  void damaged(Segment /*packet*/, std::size_t /*rest*/) override {}
};

TEST(SelfTest, FabricsPass) {
  for (const char* fabric : {"loopback", "tcp", "shm", "ofi:tcp", "ucx:posix"}) {
    const Status status = self_test(opened(fabric), opened(fabric), kLong);
    EXPECT_TRUE(status.ok()) << fabric << ": " << status.message();
  }
}

TEST(SelfTest, WhatIsOneForADevicePasses) {
  OfiOptions options;
  options.interface = "lo";
  options.as_device = true;
  auto one = open_ofi(options), other = open_ofi(options);
  ASSERT_TRUE(one.ok() && other.ok());
  const Status status = self_test(std::move(*one), std::move(*other), kLong);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(SelfTest, WithoutRemoteWritesAndInPiecesToo) {
  LoopbackOptions options;
  options.remote_write = false;
  EXPECT_TRUE(with_faults({}, kLong, options).ok());
  options.piece_bytes = 1000;
  EXPECT_TRUE(with_faults({}, kLong, options).ok());
}

TEST(SelfTest, WaitsForWhatIsLate) {
  FaultPlan plan;
  plan.refuse_post = 500;
  plan.delay = 500;
  plan.max_delay = 10;
  const Status status = with_faults(plan);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(SelfTest, SaysWhatDoesNotWork) {
  const auto failure = [](const FaultPlan& plan) {
    const Status status = with_faults(plan);
    EXPECT_TRUE(status.error());
    return std::string(status.message());
  };
  AnyByte tap;
  FaultPlan flips;
  flips.flip_bit = 1000;
  flips.tap = &tap;
  EXPECT_EQ(failure(flips), "the bytes of a packet are not those that were sent");
  FaultPlan dies;
  dies.dies_at = 2;
  EXPECT_NE(failure(dies).find(" failed: the connection ended: "), std::string::npos)
      << failure(dies);
  FaultPlan exposes_nothing;
  exposes_nothing.refuse_expose = 1000;
  EXPECT_FALSE(failure(exposes_nothing).empty());
  FaultPlan writes_nothing;
  writes_nothing.fail_write = 1000;
  EXPECT_FALSE(failure(writes_nothing).empty());
}

TEST(SelfTest, ComesToItsEnd) {
  FaultPlan never;
  never.refuse_post = 1000;
  const Status status = with_faults(never, std::chrono::milliseconds(1));
  EXPECT_EQ(status.code(), StatusCode::kUnreachable);
  EXPECT_EQ(status.message(), "sending a packet did not come about in time");
}

}  // namespace
}  // namespace mad
