// Engines of tests of the shm driver.
#ifndef TESTS_CONFORMANCE_SHM_ENGINE_H_
#define TESTS_CONFORMANCE_SHM_ENGINE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "madlike/driver/shm/driver.h"
#include "madlike/driver/shm/shm.h"
#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/polled.h"
#include "tests/support/bytes.h"

namespace mad {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// An open driver and what it said.
struct ShmEngine {
  explicit ShmEngine(const ShmOptions& options = {}) : driver(open(options)), station(*driver) {}
  static std::unique_ptr<Driver> open(const ShmOptions& options) {
    auto opened = open_shm(options);
    if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
    return std::move(*opened);
  }
  ConnectionId connect(const std::vector<std::byte>& address) {
    auto id = driver->connect(address.data(), address.size());
    EXPECT_TRUE(id.ok()) << id.status().message();
    return *id;
  }
  ConnectionId connect(const ShmEngine& peer) { return connect(peer.driver->address()); }
  ShmDriver& shm() { return static_cast<ShmDriver&>(*driver); }
  std::unique_ptr<Driver> driver;
  Station station;
};

inline bool pump(const std::vector<ShmEngine*>& engines, const std::function<bool()>& done,
                 milliseconds limit = kPollLimit) {
  return poll_all(engines, done, limit);
}

inline Status send(ShmEngine& from, ConnectionId to, Bytes& bytes,
                   const std::vector<ShmEngine*>& engines) {
  return post_polling(from, to, bytes, engines);
}

/// Two that are connected.
struct Met {
  explicit Met(const ShmOptions& of_a = {}) : a(of_a) {
    to_b = a.connect(b);
    EXPECT_TRUE(pump({&a, &b}, [&] {
      return a.station.connected.count(to_b) == 1 && b.station.connected.size() == 1;
    }));
    to_a = b.connect(a);
  }
  ShmEngine a, b;
  ConnectionId to_b = 0, to_a = 0;
};

inline std::vector<std::byte> address_of(pid_t pid, const DoorSecret& secret) {
  return ShmAddress{static_cast<std::uint32_t>(pid), secret}.bytes();
}

inline Status end_of(ShmEngine& engine, ConnectionId id, const std::vector<ShmEngine*>& all) {
  EXPECT_TRUE(pump(all, [&] { return engine.station.disconnected.count(id) == 1; }));
  return engine.station.disconnected[id];
}

}  // namespace mad

#endif  // TESTS_CONFORMANCE_SHM_ENGINE_H_
