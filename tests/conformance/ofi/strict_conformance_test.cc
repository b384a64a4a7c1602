// The conformance suite on a provider that holds the driver to the rules of RDMA hardware, as those
// that differ most of whom it can play.
#include <cstdlib>

#include "tests/conformance/ofi/engine.h"

namespace mad {
namespace {

std::unique_ptr<Driver> open_strict() {
  OfiOptions options;
  options.provider = "strict";
  options.interface = "lo";
  auto driver = open_ofi(options);
  if (!driver.ok()) throw std::runtime_error(std::string(driver.status().message()));
  return std::move(*driver);
}

DriverFactory factory(const char* persona) {
  DriverFactory factory;
  factory.name = persona;
  factory.make = [persona] {
    setenv("FI_STRICT_AS", persona, 1);
    DriverPair pair;
    pair.a = open_strict();
    pair.b = open_strict();
    return pair;
  };
  factory.nobody = [](const DriverPair&) { return Bytes(open_strict()->address()); };
  return factory;
}

std::vector<DriverFactory> factories() {
  std::vector<DriverFactory> made;
  for (const char* const name : {"verbs", "iwarp", "psm2", "opx"}) made.push_back(factory(name));
  return made;
}

INSTANTIATE_TEST_SUITE_P(Strict, DriverConformance, ::testing::ValuesIn(factories()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
