#include "madlike/message/core.h"

#include <algorithm>
#include <cassert>

namespace mad {
namespace {

constexpr std::size_t kControlPacketBytes = 128;  // a frame and its body
constexpr std::size_t kControlPackets = 128;
constexpr std::size_t kMinPackets = 4;

}  // namespace

Core::Core(const MessengerConfig& its_config, MessageEvents& its_events)
    : config(its_config),
      events(its_events),
      credit_threshold(std::max<std::uint64_t>(its_config.peer_credit / 4, 1)),
      packets(its_config.packet_bytes,
              std::max(kMinPackets, its_config.staging_bytes / its_config.packet_bytes)),
      controls(kControlPacketBytes, kControlPackets) {
  static_assert(kFrameBytes + kMaxGreetingBytes <= kControlPacketBytes);
  static_assert(kFrameBytes + kWindowBytes <= kControlPacketBytes);
  assert(config.greeting.size() <= kMaxGreetingBytes);
}

void Core::activate(Endpoint& endpoint) {
  if (endpoint.active || !endpoint.state.live()) return;
  endpoint.active = true;
  active.push_back(&endpoint);
}

void Core::end(Endpoint& endpoint, const Status& why) {
  if (endpoint.state.end(why)) ending.push_back(&endpoint);
}

void Core::fail_posts(Endpoint& endpoint, const Status& why) {
  if (endpoint.state.refuse(why)) refused.push_back(&endpoint);
}

void Core::finish_if_done(OutgoingMessage& message) {
  const auto& state = state_of(message);
  const bool over =
      state.phase == OutgoingPhase::kFinished || state.phase == OutgoingPhase::kFailed;
  if (over && state.posts == 0) finished.push(&message);
}

void Core::remove(IncomingMessage& message) {
  Endpoint& from = *message.endpoint;
  --from.arrivals;
  if (from.begun.message == &message) from.begun.message = nullptr;
  incoming.remove(message);
}

ArrivalMark Core::arrival_mark() const {
  std::uint64_t bytes = 0;
  for (const DriverCounters& of_driver : counters.drivers) bytes += of_driver.bytes_received;
  return {OfferTimes::Clock::now(), reading, bytes, written};
}

void Core::return_credit(Endpoint& endpoint, std::uint64_t bytes) {
  if (bytes == 0) return;
  endpoint.credit.release(bytes);
  if (endpoint.credit.to_return() >= credit_threshold) activate(endpoint);
}

}  // namespace mad
