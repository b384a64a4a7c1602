// The conformance suite on an RDMA device, by libfabric's verbs, also by drivers that are made to
// misbehave.
#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/ofi/verbs_host.h"
#include "tests/fault/faulty_driver.h"

namespace mad {
namespace {

const auto* const kHost = ::testing::AddGlobalTestEnvironment(new VerbsHost);

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

DriverFactory factory(bool is_faulty) {
  DriverFactory factory;
  factory.name = is_faulty ? "verbs_faulty" : "verbs";
  factory.make = [=] {
    DriverPair pair;
    pair.a = open_verbs();
    pair.b = open_verbs();
    if (!is_faulty) return pair;
    pair.a = faulty(std::move(pair.a), 21);
    pair.b = faulty(std::move(pair.b), 1021);
    return pair;
  };
  factory.nobody = [](const DriverPair&) {
    return std::vector<std::byte>(open_verbs()->address());
  };
  return factory;
}

INSTANTIATE_TEST_SUITE_P(Ofi, DriverConformance, ::testing::Values(factory(false), factory(true)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
