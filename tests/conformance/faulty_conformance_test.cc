// The driver conformance suite over a driver that is made to misbehave: whoever wraps a driver must
// keep what driver.h promises, and the suite must not rely on more than that.
#include "tests/conformance/loopback_kinds.h"
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
  result.nobody = loopback::nobody;
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

INSTANTIATE_TEST_SUITE_P(
    Faulty, DriverConformance,
    ::testing::Values(factory("calm", loopback::like_tcp(), FaultPlan{}),
                      factory("refusing", loopback::like_tcp(), refusing()),
                      factory("late", loopback::like_tcp(), late()),
                      factory("everything", loopback::like_tcp(), everything()),
                      factory("narrow", loopback::narrow(), everything()),
                      factory("in_pieces", loopback::in_pieces(), FaultPlan{}),
                      factory("late_pieces", loopback::in_pieces(), everything()),
                      factory("lending", loopback::lending(), everything())),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
