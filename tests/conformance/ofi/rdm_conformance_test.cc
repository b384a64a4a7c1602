// The conformance suite on providers without connected endpoints.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "madlike/driver/ofi/ofi.h"
#include "tests/conformance/driver_conformance.h"

namespace mad {
namespace {

std::unique_ptr<Driver> open_rdm(const OfiOptions& options) {
  auto driver = open_ofi(options);
  if (!driver.ok()) throw std::runtime_error(std::string(driver.status().message()));
  return std::move(*driver);
}

/// `as_device`: as one that registers memory, and sends what it has without being polled, so that
/// memory is lent.
DriverFactory factory(const char* provider, bool as_device = false) {
  OfiOptions options;
  options.provider = provider;
  options.interface = "lo";
  options.as_device = as_device;
  DriverFactory factory;
  factory.name = provider + std::string(as_device ? "_as_device" : "");
  std::replace(factory.name.begin(), factory.name.end(), '+', '_');
  factory.leaves_when_polled = factory.name == "udp_ofi_rxd";
  factory.make = [options] {
    DriverPair pair;
    pair.a = open_rdm(options);
    pair.b = open_rdm(options);
    return pair;
  };
  factory.nobody = [options](const DriverPair&) {
    return std::vector<std::byte>(open_rdm(options)->address());
  };
  return factory;
}

INSTANTIATE_TEST_SUITE_P(Rdm, DriverConformance,
                         ::testing::Values(factory("tcp+ofi_rxm"), factory("tcp+ofi_rxm", true),
                                           factory("udp+ofi_rxd")),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
