// Hosts that say nothing: a device asks for them, as nobody else does.
#include <cstdlib>

#include "tests/conformance/ofi/engine.h"

namespace mad {
namespace {

constexpr milliseconds kSilence{40};

std::unique_ptr<Driver> open_strict(milliseconds silence) {
  OfiOptions options = on_lo();
  options.provider = "strict";
  options.silence_timeout = silence;
  auto driver = open_ofi(options);
  if (!driver.ok()) throw std::runtime_error(std::string(driver.status().message()));
  return std::move(*driver);
}

struct StrictEngine {
  explicit StrictEngine(milliseconds silence) : driver(open_strict(silence)), station(*driver) {}
  std::unique_ptr<Driver> driver;
  Station station;
};

class OfiSilence : public ::testing::Test {
 protected:
  explicit OfiSilence(milliseconds silence = kSilence) : a_(silence), b_(milliseconds(0)) {}

  void SetUp() override {
    const std::vector<std::byte>& address = b_.driver->address();
    const auto id = a_.driver->connect(address.data(), address.size());
    ASSERT_TRUE(id.ok());
    to_ = *id;
    ASSERT_TRUE(send());
  }
  void TearDown() override { unsetenv("FI_STRICT_CABLE"); }

  /// Whether a word arrives.
  bool send() {
    Bytes word = {std::byte{1}, std::byte{2}};
    const std::size_t before = b_.station.received.size();
    return post_polling(a_, to_, word, engines_).code() != StatusCode::kPeerFailed &&
           poll_all(engines_, [&] { return b_.station.received.size() > before; });
  }
  /// Polls for so long.
  void wait(milliseconds time) {
    const auto until = Clock::now() + time;
    poll_all(engines_, [&] { return Clock::now() >= until; });
  }

  StrictEngine a_, b_;
  std::vector<StrictEngine*> engines_ = {&a_, &b_};
  ConnectionId to_ = 0;
};

TEST_F(OfiSilence, AHostThatAnswersIsAskedAndStaysConnected) {
  wait(4 * kSilence);
  EXPECT_TRUE(a_.station.disconnected.empty());
  EXPECT_TRUE(send());
}

TEST_F(OfiSilence, AHostThatIsGoneIsAskedForAndGivenUp) {
  setenv("FI_STRICT_CABLE", "pulled", 1);
  ASSERT_TRUE(poll_all(engines_, [&] { return !a_.station.disconnected.empty(); }));
  EXPECT_EQ(a_.station.disconnected.at(to_).code(), StatusCode::kPeerFailed);
}

TEST_F(OfiSilence, AHostThatAnswersNothingIsGivenUpAfterTheTimeout) {
  setenv("FI_STRICT_CABLE", "silent", 1);
  ASSERT_TRUE(poll_all(engines_, [&] { return !a_.station.disconnected.empty(); }));
  const Status& why = a_.station.disconnected.at(to_);
  EXPECT_EQ(why.code(), StatusCode::kPeerFailed);
  EXPECT_NE(why.message().find("answered nothing for 40 ms"), std::string_view::npos);
}

class OfiNoSilence : public OfiSilence {
 protected:
  OfiNoSilence() : OfiSilence(milliseconds(0)) {}
};

TEST_F(OfiNoSilence, NobodyIsAskedForWhereThatIsNotWanted) {
  setenv("FI_STRICT_CABLE", "pulled", 1);
  wait(4 * kSilence);
  EXPECT_TRUE(a_.station.disconnected.empty());
}

}  // namespace
}  // namespace mad
