// Stranger: for tests, who came in by an engine's door and says what it likes.
#ifndef TESTS_CONFORMANCE_UCX_STRANGER_H_
#define TESTS_CONFORMANCE_UCX_STRANGER_H_

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "madlike/driver/door/door.h"
#include "madlike/driver/ucx/side.h"
#include "tests/conformance/ucx/engine.h"

namespace mad {

/// A door without an engine behind it, that connected to `engine`.
struct Stranger {
  explicit Stranger(UcxEngine& with) : engine(with) {
    DoorOptions options;
    options.interface = "lo";
    auto opened = Door::open({"ucx", {'M', 'A', 'D', 'U', 'C', 'X'}}, options);
    if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
    door = std::make_unique<Door>(std::move(*opened));
    const auto& address = engine.driver->address();
    door->call(*door->parse(address.data(), address.size()));
    // The engine was told of us, and so tells of our end.
    connection = engine.connect(door->address());
    std::vector<Door::Event> events;
    std::vector<std::uint32_t> ready;
    EXPECT_TRUE(pump({&engine}, [&] {
      door->look(&events, &ready);
      return !events.empty();
    }));
    socket = std::move(events.at(0).socket);
    EXPECT_TRUE(hear(UcxOffer::kBytes));
    offer = UcxOffer::parse(reader.bytes()).value();
  }

  // On the control socket.
  template <std::size_t kSize>
  void say(const std::array<std::byte, kSize>& bytes) {
    ASSERT_TRUE(tcp_send(socket.fd(), bytes.data(), bytes.size()));
  }
  /// The next message; false: there is none.
  bool hear(std::size_t bytes) {
    reader.expect(bytes);
    return pump({&engine},
                [&] { return reader.read(socket.fd()) == DoorReader::Outcome::kComplete; });
  }
  UcxNote hear_note() {
    EXPECT_TRUE(hear(UcxNote::kBytes));
    return UcxNote::parse(reader.bytes()).value();
  }
  void offer_tcp(const Side& side) {
    UcxOffer own = offer;
    own.lanes[0].open = false;
    own.lanes[3] = side.offer;
    say(own.pack());
  }

  // Over UCX.
  /// Until the engine's hello is here.
  void agree_on_posix(Side& side) {
    UcxOffer own = offer;
    own.lanes[0] = side.offer;
    say(own.pack());
    say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kPosix}.pack());
    side.lane->add_user();
    ASSERT_TRUE(pump({&engine}, [&] {
      side.progress();
      return !side.messages.empty();
    }));
  }
  void connect_by_posix(Side& side) {
    agree_on_posix(side);
    ASSERT_TRUE(side.lane->wire(&side.endpoint, offer.lanes[0]).ok());
    greet(side);
  }
  void connect_by_tcp(Side& side) {
    offer_tcp(side);
    say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kTcp}.pack());
    ASSERT_TRUE(side.lane->wire(&side.endpoint, offer.lanes[3]).ok());
    side.lane->add_user();
    greet(side);
  }
  void greet(Side& side) {
    send(side, UcxMessage::kHello);
    ASSERT_TRUE(pump({&engine}, [&] {
      side.progress();
      return engine.station.connected.count(connection) == 1;
    }));
  }
  /// A message to whom `tag` names, with a word that begins with a byte of 1.
  void send(Side& side, UcxMessage kind, std::uint64_t tag) {
    std::uint64_t word = 1;
    const Segment segment{&word, sizeof(word)};
    ASSERT_TRUE(pump({&engine}, [&] {
      side.progress();
      return side.lane->send(side.endpoint.get(), kind, {tag, 0, 0}, {&segment, 1}, sizeof(word),
                             nullptr) == UCS_OK;
    }));
  }
  void send(Side& side, UcxMessage kind) { send(side, kind, offer.tag); }
  /// A message that is the first `size` bytes of the engine's tag and ones.
  void send_bare(Side& side, UcxMessage kind, std::size_t size) {
    struct Bare {
      std::array<std::byte, 16> bytes;
      std::size_t size;
    } bare{{}, size};
    bare.bytes.fill(std::byte{1});
    std::memcpy(bare.bytes.data(), &offer.tag, sizeof(offer.tag));
    const auto pack = [](void* out, void* from) {
      const auto& [bytes, count] = *static_cast<const Bare*>(from);
      std::memcpy(out, bytes.data(), count);
      return count;
    };
    ASSERT_TRUE(pump({&engine}, [&] {
      side.progress();
      return uct_ep_am_bcopy(side.endpoint.get(), static_cast<std::uint8_t>(kind), pack, &bare,
                             0) >= 0;
    }));
  }
  /// The engine says that the connection ended for this reason.
  void expect_end(StatusCode code) {
    ASSERT_TRUE(
        pump({&engine}, [&] { return engine.station.disconnected.count(connection) == 1; }));
    const Status why = engine.station.disconnected[connection];
    EXPECT_EQ(why.code(), code) << why.message();
  }

  UcxEngine& engine;
  std::unique_ptr<Door> door;
  ConnectionId connection = 0;  // the engine's
  TcpSocket socket;
  DoorReader reader;
  UcxOffer offer;  // the engine's
};

/// An engine and a stranger that connected to it.
class UcxStrangers : public ::testing::Test {
 protected:
  explicit UcxStrangers(const UcxOptions& options = on_lo()) : engine_(options) {}

  UcxEngine engine_;
  Stranger stranger_{engine_};
};

}  // namespace mad

#endif  // TESTS_CONFORMANCE_UCX_STRANGER_H_
