// What tests do with several open drivers at once: poll all until something holds.
//
// Engine is a driver and its Station, by the names `driver` and `station`.
#ifndef TESTS_CONFORMANCE_POLLED_H_
#define TESTS_CONFORMANCE_POLLED_H_

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "madlike/driver/driver.h"
#include "tests/support/bytes.h"

namespace mad {

/// How long a test polls for what is to come about; only one that fails waits so long.
inline constexpr std::chrono::milliseconds kPollLimit{40000};
/// Turns of polling between two yields, each of which may give away a time slice of the core.
inline constexpr unsigned kTurnsPerYield = 64;

/// Polls all engines until `done` holds; false: it did not in time.
template <typename Engine>
bool poll_all(const std::vector<Engine*>& engines, const std::function<bool()>& done,
              std::chrono::milliseconds limit = kPollLimit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (unsigned turn = 1; !done(); ++turn) {
    for (Engine* engine : engines) engine->station.poll();
    if (std::chrono::steady_clock::now() > deadline) return false;
    if (turn % kTurnsPerYield == 0) std::this_thread::yield();
  }
  return true;
}

/// Posts one packet, whose context is `bytes`, polling all engines while the driver says kAgain.
template <typename Engine>
Status post_polling(Engine& from, ConnectionId to, Bytes& bytes,
                    const std::vector<Engine*>& engines) {
  const Segment segment{bytes.data(), bytes.size()};
  Status status = StatusCode::kAgain;
  poll_all(engines, [&] {
    status = from.driver->post_send(to, {&segment, 1}, &bytes);
    return !status.again();
  });
  return status;
}

}  // namespace mad

#endif  // TESTS_CONFORMANCE_POLLED_H_
