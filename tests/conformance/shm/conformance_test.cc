// The conformance suite on shared memory of our own.
#include "tests/conformance/shm/engine.h"

namespace mad {
namespace {

DriverFactory factory(const char* name, std::size_t memory_limit,
                      ShmOptions::SingleCopy single_copy = ShmOptions::SingleCopy::kNever) {
  ShmOptions options;
  options.memory_limit = memory_limit;
  options.single_copy = single_copy;
  DriverFactory result;
  result.name = name;
  result.make = [options] {
    DriverPair pair;
    pair.a = ShmEngine::open(options);
    pair.b = ShmEngine::open(options);
    return pair;
  };
  // Where an engine has been that is closed now.
  result.nobody = [options](const DriverPair&) { return ShmEngine::open(options)->address(); };
  return result;
}

INSTANTIATE_TEST_SUITE_P(Shm, DriverConformance,
                         ::testing::Values(factory("roomy", 0), factory("narrow", 40 * 1024),
                                           factory("weighing", 0,
                                                   ShmOptions::SingleCopy::kIfFaster),
                                           factory("reading", 0, ShmOptions::SingleCopy::kAlways)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
