// The conformance suite on the fabrics over IP, on the loopback interface.
#include "tests/conformance/ip/engine.h"

namespace mad {
namespace {

DriverFactory factory(const char* fabric) {
  EngineOptions options;
  options.fabric = fabric;
  DriverFactory result;
  result.name = test_name(fabric);
  result.make = [options] {
    DriverPair pair;
    pair.a = open(options);
    pair.b = open(options);
    return pair;
  };
  // Where an engine has been that is closed now.
  result.nobody = [options](const DriverPair&) { return Bytes(open(options)->address()); };
  return result;
}

INSTANTIATE_TEST_SUITE_P(Ip, DriverConformance,
                         ::testing::Values(factory("tcp"), factory("ofi:tcp"), factory("ucx:tcp"),
                                           factory("ucx"), factory("ucx:posix,cma")),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
