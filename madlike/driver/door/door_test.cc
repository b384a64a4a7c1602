#include "madlike/driver/door/door.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstring>
#include <functional>
#include <thread>

#include "gtest/gtest.h"
#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr DoorMagic kMagic{'M', 'A', 'D', 'D', 'O', 'R'};

/// A door and what it told.
struct House {
  explicit House(const DoorMagic& magic = kMagic) : door(open(magic)) {}
  static Door open(const DoorMagic& magic) {
    DoorOptions options;
    options.fabric = "door";
    options.magic = magic;
    options.interface = "lo";
    options.connect_timeout = milliseconds(1000);
    options.stranger_timeout = milliseconds(200);
    Result<Door> opened = Door::open(options);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(*opened);
  }
  void call(const House& other) {
    const auto peer = door.parse(other.door.address().data(), other.door.address().size());
    ASSERT_TRUE(peer.ok()) << peer.status().message();
    door.call(*peer);
  }
  Door door;
  std::vector<Door::Event> events;
  std::vector<std::uint32_t> ready;
};

bool pump(const std::vector<House*>& houses, const std::function<bool()>& done) {
  const auto deadline = Clock::now() + milliseconds(10000);
  while (!done()) {
    for (House* house : houses) house->door.look(&house->events, &house->ready);
    if (Clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(Door, BothSidesGetASocketAndTheOthersAddress) {
  House a, b;
  a.call(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.events.size() == 1 && b.events.size() == 1; }));
  EXPECT_EQ(a.events[0].peer.bytes(), b.door.address());
  EXPECT_EQ(b.events[0].peer.bytes(), a.door.address());
  ASSERT_TRUE(a.events[0].socket && b.events[0].socket);
  EXPECT_FALSE(a.door.busy() || b.door.busy());
  // What one says is seen by the door of the other.
  b.door.watch().change(b.events[0].socket.fd(), TcpWatch::Role::kConnection, 7);
  const std::byte word{1};
  ASSERT_TRUE(tcp_send(a.events[0].socket.fd(), &word, 1));
  ASSERT_TRUE(pump({&b}, [&] { return !b.ready.empty(); }));
  EXPECT_EQ(b.ready[0], 7u);
}

TEST(Door, CrossingCallsLeaveOneSocket) {
  for (int round = 0; round < 20; ++round) {
    House a, b;
    a.call(b);
    for (int i = 0; i < round % 5; ++i) a.door.look(&a.events, &a.ready);
    for (int i = 0; i < round % 3; ++i) b.door.look(&b.events, &b.ready);
    if (b.events.empty()) b.call(a);  // else it has one
    ASSERT_TRUE(pump({&a, &b}, [&] {
      return !a.events.empty() && !b.events.empty() && !a.door.busy() && !b.door.busy();
    }));
    EXPECT_EQ(a.events.size(), 1u);
    EXPECT_EQ(b.events.size(), 1u);
    EXPECT_TRUE(a.events[0].socket && b.events[0].socket);
  }
}

TEST(Door, WhoIsInsideIsNotLetInAgainUntilForgotten) {
  House a, b;
  a.call(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.events.size() == 1 && b.events.size() == 1; }));
  a.door.forget(b.door.address());
  a.events.clear();
  a.call(b);
  const auto soon = Clock::now() + milliseconds(200);  // it asks four times
  ASSERT_TRUE(pump({&a, &b}, [&] { return Clock::now() > soon; }));
  EXPECT_TRUE(a.events.empty());
  b.door.forget(a.door.address());
  EXPECT_TRUE(pump({&a, &b}, [&] { return a.events.size() == 1 && b.events.size() == 2; }));
}

TEST(Door, ACallThatIsForgottenTellsNothing) {
  House a, b;
  a.call(b);
  a.door.forget(b.door.address());
  EXPECT_FALSE(a.door.busy());
}

TEST(Door, NobodyThereIsAnError) {
  House a;
  // A port that is taken, where nobody listens.
  auto peer = *DoorAddress::parse(a.door.address().data(), a.door.address().size());
  sockaddr_in there{};
  ASSERT_EQ(peer.socket.size(), sizeof(there)) << "lo has IPv4";
  std::memcpy(&there, peer.socket.data(), sizeof(there));
  there.sin_port = 0;
  const TcpSocket taken(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  socklen_t size = sizeof(there);
  ASSERT_EQ(bind(taken.fd(), reinterpret_cast<const sockaddr*>(&there), size), 0);
  ASSERT_EQ(getsockname(taken.fd(), reinterpret_cast<sockaddr*>(&there), &size), 0);
  peer.socket = *to_address(&there, sizeof(there));
  a.door.call(peer);
  ASSERT_TRUE(pump({&a}, [&] { return a.events.size() == 1; }));
  EXPECT_EQ(a.events[0].why.code(), StatusCode::kUnreachable);
  EXPECT_FALSE(a.events[0].socket);
}

// The peer asks where our own call has just failed: it is there.
TEST(Door, WhoComesInIsNotToldOfAsAFailedCall) {
  House a, b;
  b.call(a);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  bool inside = false;
  ASSERT_TRUE(pump({&b}, [&] {
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    a.call(b);  // fails at once
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    a.events.clear();
    a.door.look(&a.events, &a.ready);
    EXPECT_EQ(a.events.size(), 1u);
    inside = !a.events.empty() && a.events.back().socket;
    return inside || a.events.size() != 1;
  }));
  EXPECT_TRUE(inside);
}

TEST(Door, AnotherFabricsEngineIsNoPeer) {
  House a, b(DoorMagic{'M', 'A', 'D', 'X', 'Y', 'Z'});
  a.call(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.events.size() == 1; }));
  EXPECT_EQ(a.events[0].why.code(), StatusCode::kUnreachable);
  EXPECT_TRUE(b.events.empty());
}

TEST(Door, OwnAndForeignAddressesAreRefused) {
  House a;
  const std::vector<std::byte> own = a.door.address();
  for (const std::size_t size : {own.size(), own.size() - 1, std::size_t{5}}) {
    const auto parsed = a.door.parse(own.data(), size);
    ASSERT_FALSE(parsed.ok()) << size;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(Door, WhoSaysNothingIsSentAway) {
  House a;
  const auto parsed = DoorAddress::parse(a.door.address().data(), a.door.address().size());
  const auto dialed = tcp_dial(parsed->socket);
  ASSERT_TRUE(dialed.ok());
  DoorReader reader;
  reader.expect(1);
  ASSERT_TRUE(pump({&a}, [&] { return a.door.busy(); })) << "it stands at the door";
  EXPECT_TRUE(pump({&a}, [&] {
    return reader.read(dialed->fd()) == DoorReader::Outcome::kEnded && !a.door.busy();
  }));
}

}  // namespace
}  // namespace mad
