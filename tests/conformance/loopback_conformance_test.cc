#include "madlike/driver/loopback/loopback.h"
#include "tests/conformance/driver_conformance.h"

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
  // The next port of the network: nobody has opened it yet.
  result.nobody = [](const DriverPair& pair) {
    std::vector<std::byte> address = pair.b->address();
    address.back() = std::byte{0x7F};
    return address;
  };
  return result;
}

LoopbackOptions narrow() {
  LoopbackOptions options;
  options.max_iov = 1;
  options.max_packet_bytes = 256;
  options.inject_bytes = 0;
  options.queue_depth = 1;
  options.remote_write = false;
  return options;
}

LoopbackOptions like_tcp() {
  LoopbackOptions options;
  options.max_iov = 4;
  options.inject_bytes = 128;
  options.max_write_iov = 4;
  return options;
}

LoopbackOptions in_pieces() {
  LoopbackOptions options;
  options.piece_bytes = 1000;
  return options;
}

LoopbackOptions lending() {
  LoopbackOptions options;
  options.queue_depth = 5;
  options.lent_bytes = 1000;
  options.short_bytes = 128;
  return options;
}

INSTANTIATE_TEST_SUITE_P(Loopback, DriverConformance,
                         ::testing::Values(factory("wide", {}), factory("narrow", narrow()),
                                           factory("like_tcp", like_tcp()),
                                           factory("in_pieces", in_pieces()),
                                           factory("lending", lending())),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
