#include "madlike/driver/ucx/lane.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/ucx/fabric.h"
#include "madlike/driver/ucx/hole.h"

namespace mad {
namespace {

/// An engine's lanes without the engine: everything that comes is copied.
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
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    fabric = std::move(*opened);
    lane = fabric->lane(transport);
    auto prepared = lane->prepare(&offer);
    EXPECT_TRUE(prepared.ok()) << prepared.status().message();
    endpoint = std::move(*prepared);
  }
  ~Side() override {
    endpoint.reset();
    if (lane->used()) lane->drop_user();
  }

  void wire(const Side& peer) {
    const Status wired = lane->wire(&endpoint, peer.offer);
    ASSERT_TRUE(wired.ok()) << wired.message();
    lane->add_user();
  }
  void progress() {
    fabric->accept();
    fabric->progress();
  }
  bool on_message(const UcxLane&, UcxMessage kind, Segment bytes, bool) override {
    const auto packet = reinterpret_cast<std::uintptr_t>(bytes.begin() + UcxHeader::kTagBytes);
    messages.push_back({kind, {bytes.begin(), bytes.end()}, packet % 8 == 0});
    return false;
  }
  void on_failed(uct_ep_h broken) override { failed = failed || broken == endpoint.get(); }

  std::unique_ptr<UcxFabric> fabric;
  UcxLane* lane = nullptr;
  UcxLaneOffer offer;
  UctEndpoint endpoint;
  std::vector<Message> messages;
  bool failed = false;
};

bool pump(Side& a, Side& b, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    a.progress();
    b.progress();
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

class UcxLaneTest : public ::testing::TestWithParam<UcxTransport> {};

TEST_P(UcxLaneTest, EveryKindAndSizeArrivesGathered) {
  Side a(GetParam()), b(GetParam());
  EXPECT_EQ(a.offer.geometry, b.offer.geometry);
  a.wire(b);
  b.wire(a);
  const std::size_t most = a.lane->max_message_bytes() - sizeof(UcxHeader);
  std::size_t count = 0;
  for (const std::size_t size : {std::size_t{1}, std::size_t{76}, std::size_t{92}, std::size_t{93},
                                 std::size_t{2048}, std::size_t{2049}, std::size_t{9000}, most}) {
    for (const UcxMessage kind : {UcxMessage::kPacket, UcxMessage::kWrite}) {
      std::vector<std::byte> sent(size);
      for (std::size_t i = 0; i < size; ++i) sent[i] = static_cast<std::byte>(i * 7 + size);
      const std::size_t half = size / 2;
      const Segment segments[] = {
          {sent.data(), half}, {nullptr, 0}, {sent.data() + half, size - half}};
      const UcxHeader header{0x1234567890ABCDEFu, 5, 6};
      int told = 0;
      struct Done : uct_completion_t {
        int* told = nullptr;
      } done;
      done.func = [](uct_completion_t* self) { ++*static_cast<Done*>(self)->told; };
      done.count = 1;
      done.status = UCS_OK;
      done.told = &told;
      ucs_status_t status = UCS_ERR_NO_RESOURCE;
      ASSERT_TRUE(pump(a, b, [&] {
        status = a.lane->send(a.endpoint.get(), kind, header, {segments, 3}, size, &done);
        return status != UCS_ERR_NO_RESOURCE;
      }));
      ASSERT_TRUE(status == UCS_OK || status == UCS_INPROGRESS) << ucs_status_string(status);
      ++count;
      ASSERT_TRUE(pump(a, b, [&] {
        return b.messages.size() == count && (status == UCS_OK || told == 1);
      })) << size;
      const Side::Message& got = b.messages.back();
      const std::size_t before = kind == UcxMessage::kWrite ? sizeof(header) : UcxHeader::kTagBytes;
      EXPECT_EQ(got.kind, kind);
      ASSERT_EQ(got.bytes.size(), before + size);
      EXPECT_EQ(std::memcmp(got.bytes.data(), &header, before), 0);
      EXPECT_EQ(std::memcmp(got.bytes.data() + before, sent.data(), size), 0) << size;
      EXPECT_TRUE(got.aligned || size < 2048 || GetParam() == UcxTransport::kTcp);
    }
  }
}

TEST_P(UcxLaneTest, AnEngineCanReachItself) {
  if (GetParam() == UcxTransport::kTcp) GTEST_SKIP() << "nobody does so over tcp";
  Side a(GetParam()), b(GetParam());
  HoleWatch watch(std::chrono::milliseconds(100000));
  const PolledClock::time_point now{};
  watch.begin(*a.lane, now);
  ASSERT_TRUE(watch.busy());
  for (int i = 0; i < 100 && watch.busy(); ++i) {
    EXPECT_FALSE(watch.look(now));
    a.progress();
    for (const Side::Message& message : a.messages) {
      std::uint64_t tag = 1;
      std::memcpy(&tag, message.bytes.data(), sizeof(tag));
      watch.on_message(tag);
    }
    a.messages.clear();
  }
  EXPECT_FALSE(watch.busy()) << "the queue moves";
  EXPECT_FALSE(a.lane->used());
}

TEST_P(UcxLaneTest, ASecondDeathIsLookedAtBehindTheFirst) {
  if (GetParam() == UcxTransport::kTcp) GTEST_SKIP() << "it has no queue";
  Side a(GetParam());
  HoleWatch watch(std::chrono::milliseconds(100));
  const PolledClock::time_point now{};
  watch.begin(*a.lane, now);
  EXPECT_FALSE(watch.look(now));
  watch.begin(*a.lane, now);
  EXPECT_FALSE(watch.look(now));
  watch.on_message(HoleWatch::kTag);
  EXPECT_FALSE(watch.look(now));
  EXPECT_TRUE(watch.busy()) << "one is still under way";
  EXPECT_TRUE(watch.look(now + std::chrono::milliseconds(101)));
}

TEST_P(UcxLaneTest, AQueueThatDoesNotMoveHasAHole) {
  if (GetParam() == UcxTransport::kTcp) GTEST_SKIP() << "it has no queue";
  Side a(GetParam());
  HoleWatch watch(std::chrono::milliseconds(100));
  const PolledClock::time_point began{};
  watch.begin(*a.lane, began);
  EXPECT_FALSE(watch.look(began));  // a is not polled: it looks like one
  watch.on_message(77);             // another's message, from before
  EXPECT_FALSE(watch.look(began + std::chrono::milliseconds(99)));
  EXPECT_FALSE(watch.look(began + std::chrono::milliseconds(101)));
  EXPECT_TRUE(watch.look(began + std::chrono::milliseconds(300)));
  EXPECT_FALSE(watch.busy());
}

TEST_P(UcxLaneTest, WrongAddressesAreUnreachable) {
  Side a(GetParam()), b(GetParam());
  UcxLaneOffer cut = b.offer;
  cut.device.pop_back();
  UctEndpoint none;
  EXPECT_EQ(a.lane->wire(&none, cut).code(), StatusCode::kUnreachable);
  UcxLaneOffer elsewhere = b.offer;
  for (std::byte& each : elsewhere.device) each ^= std::byte{0x55};
  EXPECT_EQ(a.lane->wire(&none, elsewhere).code(), StatusCode::kUnreachable);
  EXPECT_FALSE(none);
}

TEST_P(UcxLaneTest, WhatIsNotHereIsNotFound) {
  Side a(GetParam());
  UcxOptions options;
  options.posix = false;
  const auto opened = UcxFabric::open(options, "eth4711", a);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kNotFound);
  EXPECT_NE(opened.status().message().find("eth4711"), std::string_view::npos);
  options.posix = true;
  options.posix_segment_bytes = 64 * 1024;  // does not fit into UCX's 16 bits
  options.tcp = false;
  const auto too_long = UcxFabric::open(options, "lo", a);
  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.status().code(), StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxLaneTest,
                         ::testing::Values(UcxTransport::kPosix, UcxTransport::kTcp),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace mad
