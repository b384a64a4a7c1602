#include "madlike/message/reconnects.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "madlike/base/say.h"

namespace mad {
namespace {

using std::chrono::milliseconds;

// The pause after the first failure, doubled by each of the next ones, of which it is half as long
// to half as long again.
constexpr milliseconds kFirstPause{10};
constexpr unsigned kMostDoublings = 7;
// What is over by then nobody has to know.
constexpr milliseconds kPatience{100};

milliseconds pause_after(unsigned failures, std::minstd_rand& random) {
  const auto longest = kFirstPause * (1 << std::min(failures - 1, kMostDoublings));
  const auto half = longest.count() / 2;
  return milliseconds(std::uniform_int_distribution<long>(half, half + longest.count())(random));
}

}  // namespace

bool may_pass(StatusCode why) { return why == StatusCode::kAgain || why == StatusCode::kNoMemory; }

bool Reconnects::later(Endpoint& endpoint, const Status& why) {
  if (!endpoint.state.may_reconnect() || !may_pass(why.code())) return false;
  clock_.tick();
  const auto now = clock_.now();
  Endpoint::Attempts& attempts = endpoint.attempts;
  if (attempts.failed++ == 0) {
    attempts.first = now;
    core_.unconnected.push_back(&endpoint);
  }
  const milliseconds timeout = core_.config.connect_timeout;
  if (timeout.count() > 0 && now - attempts.first >= timeout) return false;
  if (now - attempts.first >= kPatience) tell(endpoint, why);
  peers_.leave_connection(endpoint);
  attempts.next = now + pause_after(attempts.failed, random_);
  attempts.waits = true;
  return true;
}

// Also those under way are looked at, so that time goes on.
void Reconnects::advance() {
  if (!timer_.ticked()) return;
  clock_.tick();
  const auto now = clock_.now();
  for (Endpoint* const endpoint : core_.unconnected) {
    Endpoint::Attempts& attempts = endpoint->attempts;
    if (!attempts.waits || now < attempts.next) continue;
    attempts.waits = false;
    (void)peers_.contact(*endpoint);
  }
  const auto over = [](const Endpoint* endpoint) { return !endpoint->state.may_reconnect(); };
  auto& unconnected = core_.unconnected;
  unconnected.erase(std::remove_if(unconnected.begin(), unconnected.end(), over),
                    unconnected.end());
}

void Reconnects::tell(const Endpoint& endpoint, const Status& why) {
  if (std::exchange(told_, true)) return;
  const auto seconds = std::chrono::duration<double>(core_.config.connect_timeout).count();
  const std::string until =
      seconds > 0 ? " for " + std::to_string(std::lround(seconds)) + " s" : "";
  say("libmad", "no connection to a peer over " + endpoint.driver->caps().name +
                    " yet, which is tried again" + until + ": " + std::string(why.message()));
}

}  // namespace mad
