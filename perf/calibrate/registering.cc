#include "perf/calibrate/registering.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kShort = std::size_t{64} << 10, kLong = std::size_t{1} << 20;
constexpr double kLeastNs = 0.1, kLeastByteNs = 0.0001;  // of what noise says costs nothing
constexpr std::chrono::seconds kPatience{10};

[[noreturn]] void give_up(const mad::Status& status) {
  throw std::runtime_error(std::string(status.message()));
}

/// Whether the driver says that it is connected; what arrives meanwhile is given back.
bool says_connected(mad::Driver& driver) {
  std::array<mad::Completion, 16> completions;
  const std::size_t count = driver.poll(completions.data(), completions.size());
  bool connected = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (completions[i].kind == mad::Completion::Kind::kDisconnected) give_up(completions[i].status);
    if (completions[i].buffer != nullptr) driver.release(completions[i].buffer);
    connected |= completions[i].kind == mad::Completion::Kind::kConnected;
  }
  return connected;
}

mad::ConnectionId connect(mad::Driver& driver, mad::Driver& peer) {
  const std::vector<std::byte>& address = peer.address();
  const auto connection = driver.connect(address.data(), address.size());
  if (!connection.ok()) give_up(connection.status());
  const auto deadline = Clock::now() + kPatience;
  while (!says_connected(driver)) {
    (void)says_connected(peer);
    if (Clock::now() > deadline) throw std::runtime_error("two engines do not connect");
  }
  return *connection;
}

double least_ns(mad::Driver& driver, mad::ConnectionId peer, mad::Segment memory, int rounds) {
  double least = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    const auto token = driver.expose(peer, memory);
    if (!token.ok()) give_up(token.status());
    driver.withdraw(peer, *token);
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    if (round == 0 || ns < least) least = ns;
  }
  return least;
}

}  // namespace

void measure_registering(mad::Driver& driver, mad::Driver& peer, int rounds, mad::Costs* costs) {
  const mad::ConnectionId connection = connect(driver, peer);
  std::vector<std::byte> memory(kLong, std::byte{1});
  const double few = least_ns(driver, connection, {memory.data(), kShort}, rounds);
  const double many = least_ns(driver, connection, {memory.data(), kLong}, rounds);
  costs->register_byte_ns = std::max((many - few) / (kLong - kShort), kLeastByteNs);
  costs->register_ns = std::max(few - costs->register_byte_ns * kShort, kLeastNs);
}

}  // namespace calibrate
