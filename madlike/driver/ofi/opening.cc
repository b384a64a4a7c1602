#include "madlike/driver/ofi/opening.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

namespace mad {
namespace {

/// Threads that are started meanwhile get no signals: those are the program's own threads'.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

void OfiOpenings::add(ConnectionId connection, std::uint32_t number, std::vector<std::byte> peer) {
  waiting_.push_back({connection, number, std::move(peer)});
  start();
}

void OfiOpenings::cancel(ConnectionId connection) {
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
                                [=](const Waiting& each) { return each.connection == connection; }),
                 waiting_.end());
}

void OfiOpenings::start() {
  const auto policy = fabric_.facts().by_device ? std::launch::async : std::launch::deferred;
  while (!waiting_.empty() && running_.size() < kAtOnce) {
    Waiting& next = waiting_.front();
    const auto open = [this, peer = next.peer] { return fabric_.open_endpoint(peer); };
    const WithoutSignals none;
    try {
      running_.push_back({next.connection, next.number, std::async(policy, open)});
    } catch (const std::system_error&) {
      if (!running_.empty()) return;  // no thread now: those that run will end
      running_.push_back({next.connection, next.number, std::async(std::launch::deferred, open)});
    }
    waiting_.pop_front();
  }
}

std::optional<OfiOpenings::Opened> OfiOpenings::take() {
  for (auto each = running_.begin(); each != running_.end(); ++each) {
    if (each->endpoint.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) continue;
    Opened opened{each->connection, each->number, each->endpoint.get()};
    running_.erase(each);
    start();
    return opened;
  }
  return std::nullopt;
}

}  // namespace mad
