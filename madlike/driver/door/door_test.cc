#include "madlike/driver/door/door.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/door/house.h"
#include "madlike/driver/ip/address.h"
#include "tests/conformance/ip/ipv6_host.h"
#include "tests/support/silent_host.h"

namespace mad {
namespace {

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

// Its engine could be busy for any time, which its host would answer for.
TEST(Door, AHostThatFallsSilentMeanwhileMayBeCalledAgain) {
  House a;
  auto peer = *DoorAddress::parse(a.door.address().data(), a.door.address().size());
  peer.socket = *listening_address("lo");
  const auto listener = tcp_listen(&peer.socket);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  a.door.call(peer);
  TcpSocket accepted;
  int error = 0;
  while (!accepted) accepted = tcp_accept(listener->fd(), &error);
  fall_silent(accepted.fd());
  ASSERT_TRUE(pump({&a}, [&] { return a.events.size() == 1; }));
  EXPECT_EQ(a.events[0].why.code(), StatusCode::kAgain);
}

TEST(Door, AnotherFabricsEngineIsNoPeer) {
  House a, b(DoorMagic{'M', 'A', 'D', 'X', 'Y', 'Z'});
  a.call(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.events.size() == 1; }));
  EXPECT_EQ(a.events[0].why.code(), StatusCode::kVersion);
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

TEST(Door, AnAddressOfAnotherFamilyIsRefused) {
  const Ipv6Host host;
  if (!host.has_ipv6("lo")) GTEST_SKIP() << "lo has no IPv6 address";
  const House six;
  const auto refuses = [](const House& house, const House& other) {
    const auto parsed = house.door.parse(other.door.address().data(), other.door.address().size());
    EXPECT_EQ(parsed.ok() ? StatusCode::kOk : parsed.status().code(), StatusCode::kInvalidArgument);
  };
  host.allow_ipv4();
  const House four;
  refuses(six, four);
  refuses(four, six);
}

TcpSocket dial(const DoorAddress& peer) {
  auto dialed = tcp_dial(peer.socket);
  EXPECT_TRUE(dialed.ok()) << dialed.status().message();
  return dialed.ok() ? std::move(*dialed) : TcpSocket();
}
TcpSocket dial(const House& house) {
  return dial(*DoorAddress::parse(house.door.address().data(), house.door.address().size()));
}

bool is_closed(const TcpSocket& socket) {
  DoorReader reader;
  reader.expect(1);
  return reader.read(socket.fd()) == DoorReader::Outcome::kEnded;
}

/// More than there are places for.
std::vector<TcpSocket> herd_at(const House& house) {
  std::vector<TcpSocket> herd;
  for (int i = 0; i < 300; ++i) herd.push_back(dial(house));
  return herd;
}

constexpr milliseconds kLong{600000};

TEST(Door, NobodyOfAHerdIsSentAway) {
  House a(kMagic, kLong);
  const auto herd = herd_at(a);
  for (int i = 0; i < 50; ++i) a.door.look(&a.events, &a.ready);
  EXPECT_EQ(std::count_if(herd.begin(), herd.end(), is_closed), 0);
}

TEST(Door, AHerdThatSaysNothingKeepsNobodyOut) {
  House a(kMagic, kLong, milliseconds(50)), b;
  const auto herd = herd_at(a);
  b.call(a);
  ASSERT_TRUE(pump({&a, &b}, [&] { return !a.events.empty() && !b.events.empty(); }));
  EXPECT_TRUE(a.events[0].socket && b.events[0].socket);
}

/// While one exists, this process can open no file.
class NoFiles {
 public:
  NoFiles() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const TcpSocket next(dup(0));
    const rlimit none{static_cast<rlim_t>(next.fd()), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoFiles() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

TEST(Door, WhoComesWhenThereAreNoFilesWaits) {
  House a, b;
  b.call(a);
  b.door.look(&b.events, &b.ready);  // its request has left
  testing::internal::CaptureStderr();
  {
    const NoFiles none;
    for (int i = 0; i < 50; ++i) {
      a.door.look(&a.events, &a.ready);
      b.door.look(&b.events, &b.ready);
    }
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("ulimit -n"), std::string::npos) << said;
  ASSERT_TRUE(b.events.empty()) << b.events[0].why.message();
  ASSERT_TRUE(pump({&a, &b}, [&] { return !a.events.empty() && !b.events.empty(); }));
  EXPECT_TRUE(a.events[0].socket && b.events[0].socket);
}

TEST(Door, WhoCallsWithoutFilesMayCallAgain) {
  House a, b;
  const NoFiles none;
  b.call(a);
  b.door.look(&b.events, &b.ready);
  ASSERT_EQ(b.events.size(), 1u);
  EXPECT_EQ(b.events[0].why.code(), StatusCode::kNoMemory);
  EXPECT_NE(b.events[0].why.message().find("ulimit -n"), std::string_view::npos);
}

TEST(Door, SilentStrangersCostNoLooks) {
  House a(kMagic, kLong);
  const TcpSocket silent = dial(a);
  ASSERT_TRUE(pump({&a}, [&] { return a.door.busy(); })) << "it stands at the door";
  for (int i = 0; i < 5000; ++i) a.door.look(&a.events, &a.ready);
  EXPECT_FALSE(a.door.busy());
  EXPECT_FALSE(is_closed(silent));
}

TEST(Door, WhoseSecretIsAnotherIsAnotherEngine) {
  House a, b;
  auto peer = *DoorAddress::parse(b.door.address().data(), b.door.address().size());
  peer.secret = random_secret();
  a.door.call(peer);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.events.size() == 1; }));
  EXPECT_EQ(a.events[0].why.code(), StatusCode::kUnreachable);
  EXPECT_NE(a.events[0].why.message().find("another engine"), std::string_view::npos);
}

/// Nobody looks for so long; how long this then took.
milliseconds after_a_pause(const std::function<void()>& act) {
  std::this_thread::sleep_for(milliseconds(5000));
  const auto begin = Clock::now();
  act();
  return std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
}
// More than any of the house's timeouts, and less than that pause.
constexpr milliseconds kInTime{4500};

TEST(Door, APauseDoesNotCountForWhoComesAfterwards) {
  House a;
  const auto waited = after_a_pause([&] {
    const TcpSocket silent = dial(a);
    ASSERT_TRUE(pump({&a}, [&] { return a.door.busy(); })) << "it stands at the door";
    EXPECT_TRUE(pump({&a}, [&] { return is_closed(silent); }));
  });
  EXPECT_LT(waited, kInTime);
}

TEST(Door, NorForWhomWeCallAfterwards) {
  House a;
  auto peer = *DoorAddress::parse(a.door.address().data(), a.door.address().size());
  peer.socket = *listening_address("lo");
  const auto listener = tcp_listen(&peer.socket);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  ASSERT_EQ(::listen(listener->fd(), 0), 0);
  std::vector<TcpSocket> ahead;  // there is no room for more
  for (int i = 0; i < 4; ++i) ahead.push_back(dial(peer));
  const auto waited = after_a_pause([&] {
    a.door.call(peer);
    EXPECT_TRUE(pump({&a}, [&] { return a.events.size() == 1; }));
  });
  EXPECT_LT(waited, kInTime);
}

TEST(Door, WhoSaysNothingIsSentAway) {
  House a;
  const TcpSocket dialed = dial(a);
  DoorReader reader;
  reader.expect(1);
  ASSERT_TRUE(pump({&a}, [&] { return a.door.busy(); })) << "it stands at the door";
  EXPECT_TRUE(pump({&a}, [&] {
    return reader.read(dialed.fd()) == DoorReader::Outcome::kEnded && !a.door.busy();
  }));
}

}  // namespace
}  // namespace mad
