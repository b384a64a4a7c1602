// Engines of tests of the ucx driver, on lo.
#ifndef TESTS_CONFORMANCE_UCX_ENGINE_H_
#define TESTS_CONFORMANCE_UCX_ENGINE_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "madlike/driver/ucx/driver.h"
#include "madlike/driver/ucx/names.h"
#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/polled.h"
#include "tests/support/bytes.h"

namespace mad {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

inline UcxOptions on_lo(bool posix = true, bool tcp = true) {
  UcxOptions options;
  options.interface = "lo";
  options.posix = posix;
  options.tcp = tcp;
  return options;
}

/// The fabric of this name on lo; with cma all writes are read from the sender's memory.
inline UcxOptions on_lo(const char* fabric) {
  UcxOptions options = *ucx_options(fabric, "lo");
  options.least_pull_bytes = 1;
  return options;
}

/// A fabric's name as a test's: its transports.
inline constexpr auto transports_name = [](const auto& info) {
  std::string name = std::string(info.param).substr(4);
  std::replace(name.begin(), name.end(), ',', '_');
  return name;
};

/// An open driver and what it said.
struct UcxEngine {
  explicit UcxEngine(const UcxOptions& options = on_lo())
      : driver(open(options)), station(*driver) {}
  static std::unique_ptr<Driver> open(const UcxOptions& options) {
    auto opened = open_ucx(options);
    if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
    return std::move(*opened);
  }
  ConnectionId connect(const std::vector<std::byte>& address) {
    auto id = driver->connect(address.data(), address.size());
    EXPECT_TRUE(id.ok()) << id.status().message();
    return *id;
  }
  ConnectionId connect(const UcxEngine& peer) { return connect(peer.driver->address()); }
  /// The transport of a connection that stands.
  UcxTransport transport(ConnectionId id) const {
    return static_cast<const UcxDriver&>(*driver).lane(id)->transport();
  }
  std::unique_ptr<Driver> driver;
  Station station;
};

inline bool pump(const std::vector<UcxEngine*>& engines, const std::function<bool()>& done) {
  return poll_all(engines, done);
}

inline Status send(UcxEngine& from, ConnectionId to, Bytes& bytes,
                   const std::vector<UcxEngine*>& engines) {
  return post_polling(from, to, bytes, engines);
}

}  // namespace mad

#endif  // TESTS_CONFORMANCE_UCX_ENGINE_H_
