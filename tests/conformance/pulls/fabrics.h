// Fabrics whose remote writes the receiver reads from the sender's memory, for tests of what holds
// while it has not.
#ifndef TESTS_CONFORMANCE_PULLS_FABRICS_H_
#define TESTS_CONFORMANCE_PULLS_FABRICS_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "madlike/driver/driver.h"
#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/polled.h"

namespace mad {

struct PullFabric {
  const char* name;  // of tests
  std::unique_ptr<Driver> (*open)();
  std::size_t most;  // writes to one peer that are not answered
};

/// Those of this host.
const std::vector<PullFabric>& pull_fabrics();

/// An open driver and what it said.
struct PullEngine {
  explicit PullEngine(const PullFabric& fabric) : driver(fabric.open()), station(*driver) {}
  ConnectionId connect(const std::vector<std::byte>& address) {
    auto id = driver->connect(address.data(), address.size());
    EXPECT_TRUE(id.ok()) << id.status().message();
    return *id;
  }
  ConnectionId connect(const PullEngine& peer) { return connect(peer.driver->address()); }
  std::unique_ptr<Driver> driver;
  Station station;
};

inline bool pump(const std::vector<PullEngine*>& engines, const std::function<bool()>& done) {
  return poll_all(engines, done);
}

inline std::string pull_fabric_name(const ::testing::TestParamInfo<PullFabric>& info) {
  return info.param.name;
}

}  // namespace mad

#endif  // TESTS_CONFORMANCE_PULLS_FABRICS_H_
