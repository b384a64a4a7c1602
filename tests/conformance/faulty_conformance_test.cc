// The driver conformance suite over a driver that is made to misbehave: whoever wraps a driver must
// keep what driver.h promises, and the suite must not rely on more than that.
#include "madlike/driver/loopback/loopback.h"
#include "tests/conformance/driver_conformance.h"
#include "tests/fault/faulty_driver.h"

namespace mad {
namespace {

DriverFactory factory(const char* name, const LoopbackOptions& options, const FaultPlan& plan) {
  DriverFactory result;
  result.name = name;
  result.make = [options, plan] {
    auto network = std::make_shared<LoopbackNetwork>(options);
    FaultPlan plan_b = plan;
    plan_b.seed += 1000;
    DriverPair pair;
    pair.a = std::make_unique<FaultyDriver>(std::make_unique<LoopbackDriver>(network), plan);
    pair.b = std::make_unique<FaultyDriver>(std::make_unique<LoopbackDriver>(network), plan_b);
    return pair;
  };
  // The next port of the network: nobody has opened it yet.
  result.nobody = [](const DriverPair& pair) {
    std::vector<std::byte> address = pair.b->address();
    address.back() = std::byte{0x7F};
    return address;
  };
  return result;
}

FaultPlan refusing() {
  FaultPlan plan;
  plan.seed = 11;
  plan.refuse_post = 300;
  return plan;
}

FaultPlan late() {
  FaultPlan plan;
  plan.seed = 12;
  plan.delay = 500;
  plan.max_delay = 10;
  plan.short_poll = 300;
  plan.reorder = true;
  return plan;
}

FaultPlan everything() {
  FaultPlan plan = late();
  plan.seed = 13;
  plan.refuse_post = 200;
  return plan;
}

LoopbackOptions narrow() {
  LoopbackOptions options;
  options.max_iov = 1;
  options.max_packet_bytes = 256;
  options.inject_bytes = 0;
  options.queue_depth = 1;
  options.remote_write = false;
  return options;
}

LoopbackOptions like_tcp() {
  LoopbackOptions options;
  options.max_iov = 4;
  options.inject_bytes = 128;
  options.max_write_iov = 4;
  return options;
}

LoopbackOptions in_pieces() {
  LoopbackOptions options = like_tcp();
  options.piece_bytes = 1000;
  return options;
}

LoopbackOptions lending() {
  LoopbackOptions options;
  options.queue_depth = 5;
  options.lent_bytes = 1000;
  options.short_bytes = 128;
  return options;
}

INSTANTIATE_TEST_SUITE_P(Faulty, DriverConformance,
                         ::testing::Values(factory("calm", like_tcp(), FaultPlan{}),
                                           factory("refusing", like_tcp(), refusing()),
                                           factory("late", like_tcp(), late()),
                                           factory("everything", like_tcp(), everything()),
                                           factory("narrow", narrow(), everything()),
                                           factory("in_pieces", in_pieces(), FaultPlan{}),
                                           factory("late_pieces", in_pieces(), everything()),
                                           factory("lending", lending(), everything())),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
