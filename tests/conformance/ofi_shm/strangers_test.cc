// Who came in by the door and then says what no engine says.
#include "madlike/driver/door/door.h"
#include "madlike/driver/ofi_shm/offer.h"
#include "tests/conformance/ip/engine.h"

namespace mad {
namespace {

EngineOptions shm() {
  EngineOptions options;
  options.fabric = "ofi:shm";
  return options;
}

// A door of our own, without an engine behind it, that connected to an engine.
class OfiShmStrangers : public ::testing::Test {
 protected:
  void SetUp() override {
    DoorOptions options;
    options.fabric = "ofi:shm";
    options.magic = {'M', 'A', 'D', 'S', 'H', 'M'};
    options.interface = "lo";
    auto opened = Door::open(options);
    ASSERT_TRUE(opened.ok());
    door_ = std::make_unique<Door>(std::move(*opened));
    const auto& address = engine_.driver->address();
    door_->call(*door_->parse(address.data(), address.size()));
    // The engine was told of us, and so tells of our end.
    connection_ = engine_.connect(door_->address());
    std::vector<Door::Event> events;
    std::vector<std::uint32_t> ready;
    ASSERT_TRUE(pump({&engine_}, [&] {
      door_->look(&events, &ready);
      return !events.empty();
    }));
    socket_ = std::move(events[0].socket);
    ASSERT_TRUE(socket_);
    reader_.expect(OfiShmOffer::kBytes);
    ASSERT_TRUE(pump({&engine_},
                     [&] { return reader_.read(socket_.fd()) == DoorReader::Outcome::kComplete; }));
    const auto offer = OfiShmOffer::parse(reader_.bytes());
    ASSERT_TRUE(offer);
    offer_ = *offer;
  }

  template <std::size_t kSize>
  void say(const std::array<std::byte, kSize>& bytes) {
    ASSERT_TRUE(tcp_send(socket_.fd(), bytes.data(), bytes.size()));
  }
  void expect_end(StatusCode code) {
    ASSERT_TRUE(pump({&engine_}, [&] { return !engine_.station.disconnected.empty(); }));
    const Status why = engine_.station.disconnected[connection_];
    EXPECT_EQ(why.code(), code) << why.message();
  }

  Engine engine_{shm()};
  std::unique_ptr<Door> door_;
  ConnectionId connection_ = 0;
  TcpSocket socket_;
  DoorReader reader_;
  OfiShmOffer offer_;  // the engine's
};

TEST_F(OfiShmStrangers, NoOffer) {
  std::array<std::byte, OfiShmOffer::kBytes> foreign{};
  foreign.fill(std::byte{'G'});
  say(foreign);
  expect_end(StatusCode::kProtocol);
}

TEST_F(OfiShmStrangers, AnotherGeometryIsAnotherVersion) {
  ++offer_.geometry[0];
  say(offer_.pack());
  expect_end(StatusCode::kVersion);
}

TEST_F(OfiShmStrangers, MemoryThatIsNotHereIsUnreachable) {
  offer_.endpoint = offer_.gate = "mad-of-another-host";
  say(offer_.pack());
  expect_end(StatusCode::kUnreachable);
}

// Its own is there, but nobody else's.
TEST_F(OfiShmStrangers, WhoOffersTheEnginesOwnMemoryIsUnreachable) {
  say(offer_.pack());
  expect_end(StatusCode::kUnreachable);
}

TEST_F(OfiShmStrangers, WhoLeavesMeanwhileMayComeAgain) {
  socket_.close();
  expect_end(StatusCode::kAgain);
}

}  // namespace
}  // namespace mad
