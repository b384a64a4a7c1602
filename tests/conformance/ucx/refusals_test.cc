// What the driver makes of a UCX that refuses what it is asked.
#include "madlike/driver/ucx/uct_double.h"
#include "tests/conformance/ucx/stranger.h"
#include "tests/support/lack.h"

namespace mad {
namespace {

const UcxLane* lane_of(const UcxEngine& engine, ConnectionId connection) {
  return static_cast<const UcxDriver&>(*engine.driver).lane(connection);
}

/// Two engines that are connected; who leaves waits for as long as it takes.
class UcxRefusals : public ::testing::Test {
 protected:
  explicit UcxRefusals(const char* fabric = "ucx:posix,cma")
      : a_(patient(fabric)), b_(patient(fabric)) {}
  void SetUp() override {
    to_b_ = a_.connect(b_);
    from_a_ = b_.connect(a_);
    ASSERT_TRUE(pump({&a_, &b_}, [&] {
      return a_.station.connected.count(to_b_) == 1 && b_.station.connected.count(from_a_) == 1;
    }));
  }
  static UcxOptions patient(const char* fabric) {
    UcxOptions options = on_lo(fabric);
    options.close_timeout = std::chrono::hours(1);
    options.linger = milliseconds(0);
    return options;
  }
  void expect_sleepless(const char* function) {
    ASSERT_TRUE(pump({&a_, &b_}, [&] {
      std::vector<pollfd> sources;
      return a_.driver->watch(&sources).ok();
    }));
    ucx_.refused = function;
    std::vector<pollfd> sources;
    EXPECT_EQ(a_.driver->watch(&sources).code(), StatusCode::kAgain);
    EXPECT_TRUE(sources.empty());
    ucx_.refused.clear();
  }

  UctDouble ucx_;
  UcxEngine a_, b_;
  ConnectionId to_b_ = 0, from_a_ = 0;
  Bytes bytes_ = pattern(5000);
  const Segment segment_{bytes_.data(), bytes_.size()};
};

class UcxRefusalsOfTcp : public UcxRefusals {
 protected:
  UcxRefusalsOfTcp() : UcxRefusals("ucx:tcp") {}
};

// Nothing would wake it.
TEST_F(UcxRefusals, ToWakeAnEngineKeepItAwake) { expect_sleepless("uct_iface_event_arm"); }
TEST_F(UcxRefusalsOfTcp, ToWakeAnEngineKeepItAwake) { expect_sleepless("uct_iface_event_fd_get"); }

TEST_F(UcxRefusals, ToSendEndTheConnection) {
  ucx_.refuse_sends(lane_of(a_, to_b_));
  const Status why = a_.driver->post_send(to_b_, {&segment_, 1}, &bytes_);
  EXPECT_EQ(why.code(), StatusCode::kPeerFailed);
  EXPECT_NE(why.message().find(ucs_status_string(ucx_.status)), std::string_view::npos)
      << why.message();
  ASSERT_TRUE(pump({&a_, &b_}, [&] { return b_.station.disconnected.count(from_a_) == 1; }));
  EXPECT_EQ(a_.station.disconnected[to_b_].code(), StatusCode::kPeerFailed);
}

// As while UCX has a message of its own.
TEST_F(UcxRefusalsOfTcp, ToSendForNowAreBackPressure) {
  ucx_.status = UCS_ERR_NO_RESOURCE;
  ucx_.refuse_sends(lane_of(a_, to_b_));
  EXPECT_TRUE(a_.driver->post_send(to_b_, {&segment_, 1}, &bytes_).again());
}

TEST_F(UcxRefusals, ToTakeLeaveEndTheConnection) {
  ucx_.refuse_sends(lane_of(a_, to_b_));
  a_.driver->disconnect(to_b_);
  ASSERT_TRUE(pump({&a_, &b_}, [&] { return b_.station.disconnected.count(from_a_) == 1; }));
  EXPECT_EQ(b_.station.disconnected[from_a_].code(), StatusCode::kPeerFailed);
}

TEST_F(UcxRefusals, ToSayWhatWasReadEndTheConnection) {
  Bytes target(bytes_.size());
  const auto token = b_.driver->expose(from_a_, {target.data(), target.size()});
  ASSERT_TRUE(token.ok());
  ASSERT_TRUE(a_.driver->post_write(to_b_, {&segment_, 1}, *token, 0, &bytes_).in_progress());
  ucx_.refuse_sends(lane_of(b_, from_a_));
  ASSERT_TRUE(pump({&a_, &b_}, [&] {
    return a_.station.disconnected.count(to_b_) == 1 && b_.station.disconnected.count(from_a_) == 1;
  }));
  EXPECT_EQ(b_.station.disconnected[from_a_].code(), StatusCode::kPeerFailed);
  EXPECT_TRUE(a_.station.finished_status[&bytes_].error());
}

// UCX is asked for messages only where there is room for as many as it may bring.
TEST_F(UcxRefusals, ToBringNoMoreThanItMayEndTheConnection) {
  Stranger stranger(a_);
  Side side(UcxTransport::kPosix);
  stranger.connect_by_posix(side);
  Bytes message(40 * 1024);
  std::memcpy(message.data(), &stranger.offer.tag, sizeof(stranger.offer.tag));
  for (std::size_t i = 0; i <= patient("ucx").receive_chunks; ++i) {
    ucx_.bring(lane_of(a_, stranger.connection), static_cast<std::uint8_t>(UcxMessage::kPacket),
               message.data(), message.size());
  }
  stranger.expect_end(StatusCode::kNoMemory);
  EXPECT_EQ(a_.station.disconnected.count(to_b_), 0u);
}

// It may have memory later, and both may come again.
TEST(UcxRefusal, OfAnEndpointEndsTheAgreement) {
  UctDouble ucx;
  UcxEngine a(on_lo("ucx:tcp")), b(on_lo("ucx:tcp"));
  ucx.refused = "uct_ep_create";
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.disconnected.count(to_b) == 1; }));
  const Status why = a.station.disconnected[to_b];
  EXPECT_TRUE(why.code() == StatusCode::kNoMemory || why.code() == StatusCode::kAgain)
      << why.message();
  ucx.refused.clear();
  const ConnectionId again = a.connect(b);
  EXPECT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(again) == 1; }));
}

TEST(UcxOpen, WithAllItsFilesOrNotAtAll) {
  const std::size_t before = open_files();
  std::size_t all = 0;
  {
    const UcxEngine engine(on_lo("ucx:tcp"));
    all = open_files() - before;
  }
  std::string said;
  for (std::size_t few = 0; few < all; ++few) {
    const NoFiles files(few);
    const auto opened = open_ucx(on_lo("ucx:tcp"));
    EXPECT_FALSE(opened.ok()) << few << " of " << all;
    said += std::string(opened.status().message()) + "\n";
  }
  EXPECT_EQ(open_files(), before);
  EXPECT_NE(said.find("a timer for ucx"), std::string::npos) << said;
}

}  // namespace
}  // namespace mad
