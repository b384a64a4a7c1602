// The conformance suite on an RDMA device, by libfabric's verbs.
#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/ofi/verbs_host.h"

namespace mad {
namespace {

const auto* const kHost = ::testing::AddGlobalTestEnvironment(new VerbsHost);

DriverFactory factory() {
  DriverFactory factory;
  factory.name = "verbs";
  factory.make = [] {
    DriverPair pair;
    pair.a = open_verbs();
    pair.b = open_verbs();
    return pair;
  };
  factory.nobody = [](const DriverPair&) {
    return std::vector<std::byte>(open_verbs()->address());
  };
  return factory;
}

INSTANTIATE_TEST_SUITE_P(Ofi, DriverConformance, ::testing::Values(factory()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
