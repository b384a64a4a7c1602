// The conformance suite over an RDMA device, also by drivers that are made to misbehave.
#include <stdexcept>

#include "tests/conformance/ucx/rdma.h"
#include "tests/fault/faulty_driver.h"

namespace mad {
namespace {

std::unique_ptr<Driver> faulty(std::unique_ptr<Driver> driver, std::uint64_t seed) {
  FaultPlan plan;
  plan.seed = seed;
  plan.refuse_post = 200;
  plan.delay = 500;
  plan.max_delay = 10;
  plan.short_poll = 300;
  plan.reorder = true;
  return std::make_unique<FaultyDriver>(std::move(driver), plan);
}

DriverFactory factory(const std::string& fabric, bool is_faulty) {
  DriverFactory result;
  result.name = fabric.substr(fabric.find(':') + 1) + (is_faulty ? "_faulty" : "");
  result.leaves_when_polled = fabric == "ucx:ud";
  result.make = [=] {
    DriverPair pair;
    pair.a = UcxEngine::open(over_rdma(fabric));
    pair.b = UcxEngine::open(over_rdma(fabric));
    if (!is_faulty) return pair;
    pair.a = faulty(std::move(pair.a), 21);
    pair.b = faulty(std::move(pair.b), 1021);
    return pair;
  };
  result.nobody = [=](const DriverPair&) {
    return Bytes(UcxEngine::open(over_rdma(fabric))->address());
  };
  return result;
}

INSTANTIATE_TEST_SUITE_P(Rdma, DriverConformance,
                         ::testing::Values(factory("ucx:rc", false), factory("ucx:ud", false),
                                           factory("ucx:rc", true), factory("ucx:ud", true)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
