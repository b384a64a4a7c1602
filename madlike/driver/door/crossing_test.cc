// Engines that call each other: one of them is played by hand, so that its words come when they are
// to come.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>
#include <optional>

#include "gtest/gtest.h"
#include "madlike/driver/door/door.h"
#include "madlike/driver/door/house.h"
#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

/// An engine's listening socket and words, for `house` to talk to.
class Peer {
 public:
  /// `above`: whether this engine's address is greater than that of the house, or smaller.
  Peer(House& house, bool above) : house_(house), theirs_(parsed(house.door.address())) {
    sockaddr_in name{};
    std::memcpy(&name, theirs_.socket.data(), sizeof(name));
    address_.secret = random_secret();
    while (!listener_) {
      name.sin_port = htons(static_cast<std::uint16_t>(ntohs(name.sin_port) + (above ? 1 : -1)));
      address_.socket = *to_address(&name, sizeof(name));
      auto listener = tcp_listen(&address_.socket);  // where nobody else does
      if (listener.ok()) listener_ = std::move(*listener);
    }
    EXPECT_EQ(house.door.address() < address_.bytes(), above);
  }

  const DoorAddress& address() const { return address_; }

  /// Connects to the house; what that says of it.
  std::optional<DoorVerdict::Kind> ask() {
    auto dialed = tcp_dial(theirs_.socket);
    EXPECT_TRUE(dialed.ok());
    socket_ = std::move(*dialed);
    auto watch = std::move(*TcpWatch::open());
    EXPECT_TRUE(watch.add(socket_, TcpWatch::Role::kCall, 0, true));
    std::vector<TcpWatch::Ready> ready;
    EXPECT_TRUE(pump({&house_}, [&] {
      watch.look(&ready);
      return !ready.empty();
    }));
    const DoorNonce nonce = random_nonce();
    say(DoorHello{kMagic, DoorHello::Kind::kRequest, nonce}.pack());
    const auto challenge =
        DoorHello::parse(hear(DoorHello::kBytes), kMagic, DoorHello::Kind::kChallenge);
    if (!challenge) return std::nullopt;
    const DoorKey key = session_key(theirs_.secret, nonce, *challenge);
    say(DoorAnswer{address_}.seal(key));
    const auto verdict = DoorVerdict::open(hear(DoorVerdict::kBytes), key);
    return verdict ? std::make_optional(verdict->kind) : std::nullopt;
  }

  /// Tells the house, which has called, that another connection is under way.
  void refuse() {
    int error = 0;
    ASSERT_TRUE(pump({&house_}, [&] {
      socket_ = tcp_accept(listener_.fd(), &error);
      return socket_.fd() >= 0;
    }));
    const auto request =
        DoorHello::parse(hear(DoorHello::kBytes), kMagic, DoorHello::Kind::kRequest);
    ASSERT_TRUE(request);
    const DoorNonce nonce = random_nonce();
    say(DoorHello{kMagic, DoorHello::Kind::kChallenge, nonce}.pack());
    const DoorKey key = session_key(address_.secret, *request, nonce);
    const auto answer = DoorAnswer::open(hear(DoorAnswer::kBytes), key);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->address.bytes(), theirs_.bytes());
    say(DoorVerdict{DoorVerdict::Kind::kCrossing}.seal(key));
    reader_.expect(1);
    EXPECT_TRUE(
        pump({&house_}, [&] { return reader_.read(socket_.fd()) == DoorReader::Outcome::kEnded; }));
  }

 private:
  static DoorAddress parsed(const std::vector<std::byte>& bytes) {
    return *DoorAddress::parse(bytes.data(), bytes.size());
  }
  template <std::size_t kSize>
  void say(const std::array<std::byte, kSize>& bytes) {
    EXPECT_TRUE(tcp_send(socket_.fd(), bytes.data(), bytes.size()));
  }
  const std::byte* hear(std::size_t size) {
    reader_.expect(size);
    EXPECT_TRUE(pump({&house_},
                     [&] { return reader_.read(socket_.fd()) == DoorReader::Outcome::kComplete; }));
    return reader_.bytes();
  }

  House& house_;
  DoorAddress theirs_;
  DoorAddress address_;
  TcpSocket listener_;
  TcpSocket socket_;
  DoorReader reader_;
};

TEST(DoorCrossing, TheRequestOfTheSmallerAddressIsAcceptedDuringOurOwnCall) {
  House house;
  Peer peer(house, false);
  house.door.call(peer.address());
  EXPECT_EQ(peer.ask(), DoorVerdict::Kind::kAccepted);
  ASSERT_EQ(house.events.size(), 1u);
  EXPECT_TRUE(house.events[0].socket);
  EXPECT_EQ(house.events[0].peer.bytes(), peer.address().bytes());
}

TEST(DoorCrossing, TheRequestOfTheGreaterAddressIsRefusedDuringOurOwnCall) {
  House house;
  Peer peer(house, true);
  house.door.call(peer.address());
  EXPECT_EQ(peer.ask(), DoorVerdict::Kind::kCrossing);
  EXPECT_TRUE(house.events.empty()) << "the call goes on";
}

// The refusal promised that the peer's own request comes.
TEST(DoorCrossing, WhoRefusedOurCallForItsOwnIsAccepted) {
  House house;
  Peer peer(house, true);
  house.door.call(peer.address());
  bool accepted = false;
  ASSERT_TRUE(pump({&house}, [&] {
    peer.refuse();
    accepted = peer.ask() == DoorVerdict::Kind::kAccepted;
    return accepted || testing::Test::HasFailure();  // else the house has called again meanwhile
  }));
  EXPECT_TRUE(accepted);
  ASSERT_EQ(house.events.size(), 1u);
  EXPECT_TRUE(house.events[0].socket);
}

}  // namespace
}  // namespace mad
