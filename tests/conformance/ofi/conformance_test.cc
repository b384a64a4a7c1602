// The conformance suite on the ofi driver, over the loopback interface.
#include "madlike/driver/ofi/ofi.h"
#include "tests/conformance/driver_conformance.h"

namespace mad {
namespace {

std::unique_ptr<Driver> open_on_lo(const char* provider) {
  OfiOptions options;
  options.provider = provider;
  options.interface = "lo";
  Result<std::unique_ptr<Driver>> driver = open_ofi(options);
  EXPECT_TRUE(driver.ok()) << driver.status().message();
  return driver.ok() ? std::move(*driver) : nullptr;
}

DriverFactory factory(const char* provider) {
  DriverFactory result;
  result.name = provider;
  result.make = [provider] {
    DriverPair pair;
    pair.a = open_on_lo(provider);
    pair.b = open_on_lo(provider);
    return pair;
  };
  // Where an engine has been that is closed now.
  result.nobody = [provider](const DriverPair&) {
    return std::vector<std::byte>(open_on_lo(provider)->address());
  };
  return result;
}

INSTANTIATE_TEST_SUITE_P(Ofi, DriverConformance,
                         ::testing::Values(factory("tcp"), factory("sockets")),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
