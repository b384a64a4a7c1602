// A host that answers nothing is gone.  A receiver that does not read is not silent: its host
// answers.
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/tcp/tcp.h"
#include "tests/support/silent_host.h"

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

constexpr milliseconds kPatience{20000};

ConnectionId connect(Driver& sender, Driver& receiver) {
  const auto& address = receiver.address();
  const auto id = sender.connect(address.data(), address.size());
  EXPECT_TRUE(id.ok()) << id.status().message();
  const auto give_up = Clock::now() + kPatience;
  while (poll(sender, Completion::Kind::kSent) != Completion::Kind::kConnected) {
    (void)poll(receiver, Completion::Kind::kSent);
    if (Clock::now() < give_up) continue;
    ADD_FAILURE() << "they do not connect";
    break;
  }
  return *id;
}

/// The sockets that came to the receiver's port are the receiver's.
void let_host_fall_silent(const Driver& receiver) {
  sockaddr_in listens{}, own{}, peer{};
  ASSERT_GE(receiver.address().size(), sizeof(listens)) << "lo has IPv4";
  std::memcpy(&listens, receiver.address().data(), sizeof(listens));
  int found = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    socklen_t size = sizeof(own), peer_size = sizeof(peer);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
    if (own.sin_family != AF_INET || own.sin_port != listens.sin_port) continue;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) continue;
    fall_silent(fd);
    ++found;
  }
  ASSERT_EQ(found, 1);
}

/// Why the connection ends; ok: it does not.
Status end_of(Driver& driver, ConnectionId id) {
  Completion news;
  const auto give_up = Clock::now() + kPatience;
  while (Clock::now() < give_up) {
    if (driver.poll(&news, 1) == 0 || news.kind != Completion::Kind::kDisconnected) continue;
    EXPECT_EQ(news.connection, id);
    return news.status;
  }
  return {};
}

TEST(TcpSilence, AHostThatAnswersNothingIsGone) {
  const auto sender = open(), receiver = open();
  const ConnectionId id = connect(*sender, *receiver);
  let_host_fall_silent(*receiver);
  std::vector<std::byte> packet(kPacket);
  const Segment segment{packet.data(), packet.size()};
  ASSERT_FALSE(sender->post_send(id, {&segment, 1}, nullptr).error());
  const Status why = end_of(*sender, id);
  EXPECT_EQ(why.code(), StatusCode::kPeerFailed);
  EXPECT_NE(why.message().find("answers nothing"), std::string_view::npos) << why.message();
}

// The kernel asks it, after half the time.
TEST(TcpSilence, AHostThatIsSentNothingIsAskedForAnAnswer) {
  const auto sender = open(), receiver = open();
  const ConnectionId id = connect(*sender, *receiver);
  let_host_fall_silent(*receiver);
  EXPECT_EQ(end_of(*sender, id).code(), StatusCode::kPeerFailed);
}

TEST(TcpSilence, AReceiverThatComputesKeepsItsConnection) {
  const auto sender = open(), receiver = open();
  const ConnectionId id = connect(*sender, *receiver);
  std::vector<std::byte> packet(kPacket);
  const Segment segment{packet.data(), packet.size()};
  std::size_t sent = 0;
  bool is_full = false;
  const auto until = Clock::now() + 2 * kSilence, give_up = until + kPatience;
  while (Clock::now() < until || (!is_full && Clock::now() < give_up)) {
    const Status posted = sender->post_send(id, {&segment, 1}, nullptr);
    ASSERT_FALSE(posted.error()) << posted.message();
    is_full = posted.again();
    if (!is_full) ++sent;
    ASSERT_NE(poll(*sender, Completion::Kind::kSent), Completion::Kind::kDisconnected);
  }
  EXPECT_GT(sent, 0u);
  ASSERT_TRUE(is_full) << "its window is closed";
}

}  // namespace
}  // namespace mad
