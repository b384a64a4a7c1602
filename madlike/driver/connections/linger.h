// linger(): a driver's last polls.
#ifndef MADLIKE_DRIVER_CONNECTIONS_LINGER_H_
#define MADLIKE_DRIVER_CONNECTIONS_LINGER_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <thread>

#include "madlike/driver/driver.h"

namespace mad {

/// Polls, until a poll finds nothing and closing() is false, but not longer than `most`.  What is
/// found is dropped.  Connections that are not closing have ended before.
template <typename Closing>
void linger(Driver& driver, std::chrono::milliseconds most, const Closing& closing) {
  const auto deadline = std::chrono::steady_clock::now() + most;
  const auto in_time = [&] { return std::chrono::steady_clock::now() < deadline; };
  std::array<Completion, 16> found;
  do {
    std::size_t count = 0;
    do {
      count = driver.poll(found.data(), found.size());
      for (std::size_t i = 0; i < count; ++i) {
        if (found[i].buffer != nullptr) driver.release(found[i].buffer);
      }
    } while (count > 0 && in_time());
    std::this_thread::yield();
  } while (closing() && in_time());
}

}  // namespace mad

#endif  // MADLIKE_DRIVER_CONNECTIONS_LINGER_H_
