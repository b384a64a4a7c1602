// A peer over a fabric that takes the lengths of packets, and of what is to come of them, from it.
#include "madlike/message/announcing_driver.h"
#include "tests/fuzz/fuzzed_frames.h"
#include "tests/fuzz/fuzzed_messenger.h"

namespace mad::test {
namespace {

constexpr int kMostSteps = 300;
constexpr int kTurns = 3;

class Conversation {
 public:
  Conversation(const std::uint8_t* bytes, std::size_t size)
      : choices_(bytes, size),
        network_(std::make_shared<LoopbackNetwork>()),
        driver_(new AnnouncingDriver(network_)),
        victim_(std::unique_ptr<Driver>(driver_)),
        peer_(network_),
        frames_(choices_) {
    victim_.meet(peer_.address(), &choices_);
    (void)peer_.connect(driver_->address().data(), driver_->address().size());
    look();
  }

  void run() {
    for (int i = 0; i < kMostSteps && !choices_.empty() && !victim_.alone(); ++i) {
      if (choices_.below(3) == 0) {
        victim_.act();
      } else {
        announce();
      }
      look();
    }
    peer_.fail();
    look();
    expect_nothing_wrong(victim_.alone() ? "" : "the end of the peer was not noticed", "");
    expect_nothing_wrong(victim_.part(), "");
    expect_nothing_wrong(driver_->all_released() ? "" : "a buffer was not given back", "");
  }

 private:
  // Truthfully but for one time in sixteen.
  void announce() {
    if (left_.empty()) left_ = frames_.next();
    const std::size_t here =
        choices_.below(4) == 0 ? choices_.below(left_.size() + 1) : left_.size();
    const Bytes piece(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(here));
    left_.erase(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(here));
    const std::size_t rest =
        choices_.below(16) == 0 ? choices_.below(UINT64_MAX) - here : left_.size();
    driver_->announce(0, piece, rest);
  }

  void look() {
    victim_.progress(kTurns);
    Completion news;
    while (peer_.poll(&news, 1) > 0) {
      if (news.kind != Completion::Kind::kReceived) continue;
      frames_.hear(news.bytes, news.rest);
      peer_.release(news.buffer);
    }
    victim_.progress(kTurns);
  }

  FuzzedBytes choices_;
  std::shared_ptr<LoopbackNetwork> network_;
  AnnouncingDriver* driver_;
  FuzzedMessenger victim_;
  LoopbackDriver peer_;
  FuzzedFrames frames_;
  Bytes left_;  // of a packet that has begun
};

}  // namespace
}  // namespace mad::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  mad::test::Conversation(bytes, size).run();
  return 0;
}
