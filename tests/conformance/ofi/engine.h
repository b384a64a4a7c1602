// Engines of tests of the ofi driver, on lo, with a provider that fails when it is to.
#ifndef TESTS_CONFORMANCE_OFI_ENGINE_H_
#define TESTS_CONFORMANCE_OFI_ENGINE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "madlike/driver/ofi/driver.h"
#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/ofi/provider.h"
#include "tests/conformance/polled.h"
#include "tests/support/bytes.h"

namespace mad {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// No time limit of an engine ends what these tests wait for.
inline OfiOptions on_lo() {
  OfiOptions options;
  options.interface = "lo";
  options.connect_timeout = options.close_timeout = milliseconds(3600 * 1000);
  options.linger = milliseconds(50);
  return options;
}

/// The same, used as RDMA devices are.
inline OfiOptions as_device() {
  OfiOptions options = on_lo();
  options.as_device = true;
  return options;
}

inline std::unique_ptr<OfiFabric> fabric_on_lo(const OfiOptions& options = on_lo()) {
  auto fabric = OfiFabric::open(options);
  if (!fabric.ok()) throw std::runtime_error(std::string(fabric.status().message()));
  return std::move(*fabric);
}

/// An open driver and what it said.
struct OfiEngine {
  explicit OfiEngine(const OfiOptions& options = on_lo())
      : OfiEngine(options, fabric_on_lo(options)) {}
  OfiEngine(const OfiOptions& options, std::unique_ptr<OfiFabric> fabric)
      : provider(*fabric),
        driver(std::make_unique<OfiDriver>(options, std::move(fabric))),
        station(*driver) {}
  ConnectionId connect(const Bytes& address) {
    auto id = driver->connect(address.data(), address.size());
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? *id : 0;
  }
  ConnectionId connect(const OfiEngine& peer) { return connect(peer.driver->address()); }
  /// What an engine may sleep on now says; kAgain: it is to be polled first.
  Status watch() {
    std::vector<pollfd> descriptors;
    return driver->watch(&descriptors);
  }

  Provider provider;
  std::unique_ptr<OfiDriver> driver;
  Station station;
};

inline bool pump(const std::vector<OfiEngine*>& engines, const std::function<bool()>& done) {
  return poll_all(engines, done);
}

inline Status send(OfiEngine& from, ConnectionId to, Bytes& bytes,
                   const std::vector<OfiEngine*>& engines) {
  return post_polling(from, to, bytes, engines);
}

/// Two engines that are connected.
class OfiPair : public ::testing::Test {
 protected:
  explicit OfiPair(const OfiOptions& options = on_lo()) : a(options), b(options) {}
  void SetUp() override {
    to_b = a.connect(b);
    ASSERT_TRUE(pump(both, [&] {
      return a.station.connected.count(to_b) == 1 && b.station.connected.size() == 1;
    }));
    to_a = b.station.connected.begin()->first;
  }
  Status post(Bytes& bytes) {
    const Segment segment{bytes.data(), bytes.size()};
    return a.driver->post_send(to_b, {&segment, 1}, &bytes);
  }

  OfiEngine a, b;
  const std::vector<OfiEngine*> both{&a, &b};
  ConnectionId to_b = 0, to_a = 0;
};

}  // namespace mad

#endif  // TESTS_CONFORMANCE_OFI_ENGINE_H_
