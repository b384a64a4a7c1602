// The conformance suite on libfabric's tcp, used as RDMA devices are.
#include "tests/conformance/ofi/engine.h"

namespace mad {
namespace {

std::unique_ptr<Driver> open_as_device() {
  OfiOptions options;
  options.interface = "lo";
  options.as_device = true;
  auto driver = open_ofi(options);
  if (!driver.ok()) throw std::runtime_error(std::string(driver.status().message()));
  return std::move(*driver);
}

DriverFactory factory() {
  DriverFactory factory;
  factory.name = "tcp_as_device";
  factory.make = [] {
    DriverPair pair;
    pair.a = open_as_device();
    pair.b = open_as_device();
    return pair;
  };
  factory.nobody = [](const DriverPair&) { return Bytes(open_as_device()->address()); };
  return factory;
}

INSTANTIATE_TEST_SUITE_P(Ofi, DriverConformance, ::testing::Values(factory()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
