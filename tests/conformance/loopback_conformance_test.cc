#include "tests/conformance/loopback_kinds.h"

namespace mad {
namespace {

DriverFactory factory(const char* name, const LoopbackOptions& options) {
  DriverFactory result;
  result.name = name;
  result.make = [options] {
    auto network = std::make_shared<LoopbackNetwork>(options);
    DriverPair pair;
    pair.a = std::make_unique<LoopbackDriver>(network);
    pair.b = std::make_unique<LoopbackDriver>(network);
    return pair;
  };
  result.nobody = loopback::nobody;
  return result;
}

INSTANTIATE_TEST_SUITE_P(Loopback, DriverConformance,
                         ::testing::Values(factory("wide", {}),
                                           factory("narrow", loopback::narrow()),
                                           factory("like_tcp", loopback::like_tcp()),
                                           factory("in_pieces", loopback::in_pieces()),
                                           factory("lending", loopback::lending())),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
