// The conformance suite over ucx drivers that are made to misbehave.
#include <stdexcept>

#include "madlike/driver/ucx/names.h"
#include "madlike/driver/ucx/ucx.h"
#include "tests/conformance/driver_conformance.h"
#include "tests/fault/faulty_driver.h"

namespace mad {
namespace {

std::unique_ptr<Driver> open(const UcxOptions& options, std::uint64_t seed) {
  FaultPlan plan;
  plan.seed = seed;
  plan.refuse_post = 200;
  plan.delay = 500;
  plan.max_delay = 10;
  plan.short_poll = 300;
  plan.reorder = true;
  auto opened = open_ucx(options);
  if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
  return std::make_unique<FaultyDriver>(std::move(*opened), plan);
}

DriverFactory factory(const char* name, const char* fabric) {
  UcxOptions options = *ucx_options(fabric, "lo");
  options.least_pull_bytes = 1;
  DriverFactory result;
  result.name = name;
  result.make = [options] {
    DriverPair pair;
    pair.a = open(options, 21);
    pair.b = open(options, 1021);
    return pair;
  };
  return result;
}

INSTANTIATE_TEST_SUITE_P(FaultyUcx, DriverConformance,
                         ::testing::Values(factory("posix", "ucx:posix"), factory("tcp", "ucx:tcp"),
                                           factory("both", "ucx"), factory("cma", "ucx:posix,cma")),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
