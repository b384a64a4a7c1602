// Side: for tests, an engine's lane without the engine.
#ifndef MADLIKE_DRIVER_UCX_SIDE_H_
#define MADLIKE_DRIVER_UCX_SIDE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/ucx/fabric.h"

namespace mad {

/// Everything that comes is copied.
class Side : public UcxEvents {
 public:
  struct Message {
    UcxMessage kind;
    std::vector<std::byte> bytes;
    bool aligned;
  };

  explicit Side(UcxTransport transport) {
    UcxOptions options;
    options.posix = transport == UcxTransport::kPosix;
    options.tcp = transport == UcxTransport::kTcp;
    auto opened = UcxFabric::open(options, "lo", *this);
    if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
    fabric = std::move(*opened);
    auto lanes = fabric->lane(transport);
    if (!lanes.ok()) throw std::runtime_error(std::string(lanes.status().message()));
    lane = *lanes;
    auto prepared = lane->prepare(&offer);
    EXPECT_TRUE(prepared.ok()) << prepared.status().message();
    endpoint = std::move(*prepared);
  }
  ~Side() override {
    endpoint.reset();
    if (lane && lane->used()) lane->drop_user();
  }

  void wire(const Side& peer) { wire(peer.offer); }
  void wire(const UcxLaneOffer& peer) {
    const Status wired = lane->wire(&endpoint, peer);
    ASSERT_TRUE(wired.ok()) << wired.message();
    lane->add_user();
  }
  void progress() {
    fabric->tend(1);
    if (lane->used()) (void)lane->progress();
  }
  bool on_message(UcxLane& from, UcxMessage kind, Segment bytes, bool keepable) override {
    const auto packet = reinterpret_cast<std::uintptr_t>(bytes.begin() + UcxHeader::kTagBytes);
    messages.push_back({kind, {bytes.begin(), bytes.end()}, packet % 8 == 0});
    if (!keep || !keepable) return false;
    kept.push_back(from.keep(bytes.data));
    return true;
  }
  void on_failed(uct_ep_h broken) override { failed = failed || broken == endpoint.get(); }

  std::unique_ptr<UcxFabric> fabric;
  std::shared_ptr<UcxLane> lane;
  UcxLaneOffer offer;
  UctEndpoint endpoint;
  std::vector<Message> messages;
  bool keep = false;  // the lane's buffers, in `kept`
  std::vector<UcxKept*> kept;
  bool failed = false;
};

inline bool pump(Side& a, Side& b, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  while (!done()) {
    a.progress();
    b.progress();
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_SIDE_H_
