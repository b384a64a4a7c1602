// Engine: an ofi driver of a test on lo, with what it said.
#ifndef TESTS_CONFORMANCE_OFI_ENGINE_H_
#define TESTS_CONFORMANCE_OFI_ENGINE_H_

#include <fcntl.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "madlike/driver/ofi/ofi.h"
#include "tests/conformance/driver_conformance.h"
#include "tests/support/bytes.h"

namespace mad {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

inline OfiOptions on_lo(const std::string& provider) {
  OfiOptions options;
  options.provider = provider;
  options.interface = "lo";
  return options;
}

inline std::unique_ptr<Driver> open(const OfiOptions& options) {
  Result<std::unique_ptr<Driver>> driver = open_ofi(options);
  EXPECT_TRUE(driver.ok()) << driver.status().message();
  return driver.ok() ? std::move(*driver) : nullptr;
}

/// An open driver and what it said.
struct Engine {
  explicit Engine(const OfiOptions& options) : driver(open(options)), station(*driver) {}
  ConnectionId connect(const Bytes& address) {
    Result<ConnectionId> id = driver->connect(address.data(), address.size());
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? *id : 0;
  }
  ConnectionId connect(const Engine& peer) { return connect(peer.driver->address()); }
  std::unique_ptr<Driver> driver;
  Station station;
};

inline bool pump(const std::vector<Engine*>& engines, const std::function<bool()>& done,
                 milliseconds limit = milliseconds(20000)) {
  const auto deadline = Clock::now() + limit;
  while (!done()) {
    for (Engine* engine : engines) engine->station.poll();
    if (Clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

inline Status send(Engine& from, ConnectionId to, Bytes& bytes,
                   const std::vector<Engine*>& engines) {
  const Segment segment{bytes.data(), bytes.size()};
  Status status = StatusCode::kAgain;
  pump(engines, [&] {
    status = from.driver->post_send(to, {&segment, 1}, &bytes);
    return !status.again();
  });
  return status;
}

inline Bytes number_of(std::size_t value, std::size_t size = sizeof(std::size_t)) {
  Bytes bytes(size);
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

/// Files this process has open: what a driver closes, it does not keep.
inline std::size_t open_files() {
  std::size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) != -1;
  return count;
}

/// Posts packets of `bytes` until the fabric takes none for a while; returns how many it took.
inline std::size_t fill(Engine& from, ConnectionId to, Bytes& bytes) {
  const Segment segment{bytes.data(), bytes.size()};
  std::size_t accepted = 0;
  auto last = Clock::now();
  while (Clock::now() - last < milliseconds(50)) {
    const Status status = from.driver->post_send(to, {&segment, 1}, &bytes);
    EXPECT_FALSE(status.error()) << status.message();
    if (status.in_progress()) {
      ++accepted;
      last = Clock::now();
    }
    from.station.poll();
  }
  return accepted;
}

class OfiDriverTest : public ::testing::TestWithParam<const char*> {
 protected:
  OfiOptions options() const { return on_lo(GetParam()); }
};

}  // namespace mad

#endif  // TESTS_CONFORMANCE_OFI_ENGINE_H_
