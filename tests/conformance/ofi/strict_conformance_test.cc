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

std::unique_ptr<Driver> open_as(const char* persona) {
  setenv("FI_STRICT_AS", persona, 1);
  return open_strict();
}

DriverFactory factory(const char* persona) {
  DriverFactory factory;
  factory.name = persona;
  factory.make = [persona] {
    DriverPair pair;
    pair.a = open_as(persona);
    pair.b = open_as(persona);
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

/// An engine of a provider whose packets leave though nobody polls, and whose queue is short.
struct ShortQueue {
  ShortQueue() : driver(open_as("opx")), station(*driver) {}
  std::unique_ptr<Driver> driver;
  Station station;
};

// Who is told so may not come back for long.
TEST(StrictQueue, WhatHasLeftArrivesThoughItsSenderLooksNoMore) {
  ShortQueue a, b;
  const auto id = a.driver->connect(b.driver->address().data(), b.driver->address().size());
  ASSERT_TRUE(id.ok()) << id.status().message();
  const std::vector<ShortQueue*> both{&a, &b};
  ASSERT_TRUE(poll_all(both, [&] { return a.station.connected.count(*id) == 1; }));
  Bytes bytes(8);
  const Segment segment{bytes.data(), bytes.size()};
  const auto post = [&] { return a.driver->post_send(*id, {&segment, 1}, nullptr); };
  std::size_t posted = 0;
  ASSERT_TRUE(poll_all(both, [&] {
    if (post().ok()) ++posted;
    return posted == 200;  // the grant grows with each
  }));
  ASSERT_TRUE(poll_all(both, [&] { return b.station.received.size() == posted; }));
  for (int i = 0; i < 100; ++i) {
    if (post().ok()) ++posted;
  }
  EXPECT_GT(posted, 200u);
  EXPECT_TRUE(poll_all<ShortQueue>({&b}, [&] { return b.station.received.size() == posted; }));
}

}  // namespace
}  // namespace mad
