// A receiver that does not read is not silent: its host answers.
#include <chrono>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/tcp/tcp.h"

namespace mad {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSilence{1000};
constexpr std::size_t kPacket = 64 * 1024;

std::unique_ptr<Driver> open() {
  TcpOptions options;
  options.interface = "lo";
  options.silence_timeout = kSilence;
  auto opened = open_tcp(options);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  return std::move(*opened);
}

/// What one poll says, if anything.
Completion::Kind poll(Driver& driver, Completion::Kind nothing) {
  Completion news;
  if (driver.poll(&news, 1) == 0) return nothing;
  if (news.buffer != nullptr) driver.release(news.buffer);
  return news.kind;
}

TEST(TcpSilence, AReceiverThatComputesKeepsItsConnection) {
  const auto sender = open(), receiver = open();
  const auto& address = receiver->address();
  const auto id = sender->connect(address.data(), address.size());
  ASSERT_TRUE(id.ok());
  const auto give_up = Clock::now() + milliseconds(20000);
  while (poll(*sender, Completion::Kind::kSent) != Completion::Kind::kConnected) {
    (void)poll(*receiver, Completion::Kind::kSent);
    ASSERT_LT(Clock::now(), give_up);
  }
  std::vector<std::byte> packet(kPacket);
  const Segment segment{packet.data(), packet.size()};
  std::size_t sent = 0;
  for (const auto until = Clock::now() + 2 * kSilence; Clock::now() < until;) {
    const Status posted = sender->post_send(*id, {&segment, 1}, nullptr);
    ASSERT_FALSE(posted.error()) << posted.message();
    if (!posted.again()) ++sent;
    ASSERT_NE(poll(*sender, Completion::Kind::kSent), Completion::Kind::kDisconnected);
  }
  EXPECT_GT(sent, 0u);
  ASSERT_TRUE(sender->post_send(*id, {&segment, 1}, nullptr).again()) << "its window is closed";
}

}  // namespace
}  // namespace mad
