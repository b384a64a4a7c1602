// The conformance suite on libfabric's reliable datagrams over an RDMA device.
#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/ofi/verbs_host.h"

namespace mad {
namespace {

constexpr const char* kProvider = "verbs+ofi_rxm";

const auto* const kHost = ::testing::AddGlobalTestEnvironment(new VerbsHost);

DriverFactory factory() {
  DriverFactory factory;
  factory.name = "verbs_ofi_rxm";
  factory.make = [] {
    DriverPair pair;
    pair.a = open_verbs(kProvider);
    pair.b = open_verbs(kProvider);
    return pair;
  };
  factory.nobody = [](const DriverPair&) {
    return std::vector<std::byte>(open_verbs(kProvider)->address());
  };
  return factory;
}

INSTANTIATE_TEST_SUITE_P(Rdm, DriverConformance, ::testing::Values(factory()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
