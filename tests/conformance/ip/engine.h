// Engine: a driver of a test over IP on lo, with what it said.
#ifndef TESTS_CONFORMANCE_IP_ENGINE_H_
#define TESTS_CONFORMANCE_IP_ENGINE_H_

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "madlike/driver/ofi/ofi.h"
#include "madlike/driver/tcp/tcp.h"
#include "madlike/driver/ucx/names.h"
#include "madlike/driver/ucx/ucx.h"
#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/polled.h"
#include "tests/support/bytes.h"
#include "tests/support/lack.h"

namespace mad {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// What the fabrics over IP have in common.
struct EngineOptions {
  // "tcp", "ofi:tcp", "ucx:tcp", "ucx", "ucx:posix,cma"
  std::string fabric;
  std::string interface = "lo";
  milliseconds connect_timeout{10000};
  milliseconds close_timeout{10000};
  milliseconds linger{2000};
  bool few_buffers = false;  // memory for few packets that are not yet released
};

inline Result<std::unique_ptr<Driver>> try_open(const EngineOptions& options) {
  const auto fill = [&options](auto& specific) {
    specific.interface = options.interface;
    specific.connect_timeout = options.connect_timeout;
    specific.close_timeout = options.close_timeout;
    specific.linger = options.linger;
    specific.stranger_timeout = std::chrono::hours(1);  // it ends nothing that tests wait for
  };
  if (options.fabric == "tcp") {
    TcpOptions tcp;
    fill(tcp);
    if (options.few_buffers) tcp.receive_chunks = 2;
    return open_tcp(tcp);
  }
  if (is_ucx(options.fabric)) {
    UcxOptions ucx = *ucx_options(options.fabric, options.interface);
    fill(ucx);
    if (options.few_buffers) ucx.receive_chunks = 20;
    ucx.least_pull_bytes = 64;
    return open_ucx(ucx);
  }
  OfiOptions ofi;
  fill(ofi);
  if (options.few_buffers) ofi.receive_buffers = 4;
  ofi.provider = options.fabric.substr(options.fabric.find(':') + 1);
  return open_ofi(ofi);
}

inline std::unique_ptr<Driver> open(const EngineOptions& options) {
  Result<std::unique_ptr<Driver>> driver = try_open(options);
  if (!driver.ok()) throw std::runtime_error(std::string(driver.status().message()));
  return std::move(*driver);
}

/// An open driver and what it said.
struct Engine {
  explicit Engine(const EngineOptions& options) : driver(open(options)), station(*driver) {}
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
                 milliseconds limit = kPollLimit) {
  return poll_all(engines, done, limit);
}

inline Status send(Engine& from, ConnectionId to, Bytes& bytes,
                   const std::vector<Engine*>& engines) {
  return post_polling(from, to, bytes, engines);
}

inline Bytes number_of(std::size_t value, std::size_t size = sizeof(std::size_t)) {
  Bytes bytes(size);
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

/// Posts packets of `bytes` until the fabric takes none for a while.
struct Filled {
  std::size_t accepted = 0;  // packets
  std::size_t pending = 0;   // of them, whose completion is to follow
};
inline Filled fill(Engine& from, ConnectionId to, Bytes& bytes) {
  const Segment segment{bytes.data(), bytes.size()};
  Filled filled;
  auto last = Clock::now();
  // A pause of this process alone does not end it: the fabric has refused so many packets in a row.
  constexpr int kRefusals = 2000;
  for (int refusals = 0; refusals < kRefusals || Clock::now() - last < milliseconds(50);) {
    const Status status = from.driver->post_send(to, {&segment, 1}, &bytes);
    EXPECT_FALSE(status.error()) << status.message();
    if (status.error()) break;
    if (status.again()) {
      ++refusals;
    } else {
      refusals = 0;
      last = Clock::now();
      ++filled.accepted;
    }
    if (status.in_progress()) ++filled.pending;
    from.station.poll();
  }
  return filled;
}

/// What holds for every fabric over IP.
class IpDriverTest : public ::testing::TestWithParam<const char*> {
 protected:
  EngineOptions options() const {
    EngineOptions options;
    options.fabric = GetParam();
    return options;
  }
  /// Whether a packet may be half sent.  Shared memory takes it whole or not at all.
  bool sends_halves() const { return options().fabric.find("tcp") != std::string::npos; }
};

/// A fabric's name as a test's.
inline std::string test_name(std::string fabric) {
  std::replace_if(
      fabric.begin(), fabric.end(), [](char letter) { return letter == ':' || letter == ','; },
      '_');
  return fabric;
}
inline std::string fabric_test_name(const ::testing::TestParamInfo<const char*>& info) {
  return test_name(info.param);
}

#define MAD_FOR_ALL_FABRICS_OVER_IP(fixture)                                                       \
  INSTANTIATE_TEST_SUITE_P(Ip, fixture,                                                            \
                           ::testing::Values("tcp", "ofi:tcp", "ucx:tcp", "ucx", "ucx:posix,cma"), \
                           fabric_test_name)

}  // namespace mad

#endif  // TESTS_CONFORMANCE_IP_ENGINE_H_
