// Engines of tests of libfabric's datagrams, on lo, and who meets them and says what a test wants.
#ifndef TESTS_CONFORMANCE_OFI_RDM_ENGINE_H_
#define TESTS_CONFORMANCE_OFI_RDM_ENGINE_H_

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "madlike/driver/door/door.h"
#include "madlike/driver/ofi/header.h"
#include "madlike/driver/ofi/peer_addresses.h"
#include "madlike/driver/ofi/rdm_driver.h"
#include "madlike/driver/ofi/rdm_fabric.h"
#include "madlike/driver/ofi/rdm_offer.h"
#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/polled.h"
#include "tests/support/bytes.h"

namespace mad {

inline OfiOptions datagrams_on_lo() {
  OfiOptions options;
  options.provider = "tcp+ofi_rxm";
  options.interface = "lo";
  options.linger = std::chrono::milliseconds(50);
  return options;
}

/// An open driver and what it said.
struct RdmEngine {
  RdmEngine() : driver(open()), station(*driver) {}
  ConnectionId connect(const Bytes& address) {
    auto id = driver->connect(address.data(), address.size());
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? *id : 0;
  }
  ConnectionId connect(const RdmEngine& peer) { return connect(peer.driver->address()); }

  std::unique_ptr<RdmDriver> driver;
  Station station;

 private:
  static std::unique_ptr<RdmDriver> open() {
    auto opened = RdmDriver::open(datagrams_on_lo());
    if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
    return std::unique_ptr<RdmDriver>(static_cast<RdmDriver*>(opened->release()));
  }
};

inline bool pump(const std::vector<RdmEngine*>& engines, const std::function<bool()>& done) {
  return poll_all(engines, done);
}

/// Who came in by an engine's door, with an endpoint, and no engine behind them.
class RdmStranger {
 public:
  static constexpr std::uint64_t kTag = 0x1234567800;  // that the engine's packets are to have

  explicit RdmStranger(RdmEngine& with) : engine_(with), fabric_(open()) {
    DoorOptions options;
    options.interface = "lo";
    auto opened = Door::open({"ofi", {'M', 'A', 'D', 'O', 'F', 'I'}}, options);
    if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
    door_ = std::make_unique<Door>(std::move(*opened));
    const auto& address = engine_.driver->address();
    door_->call(*door_->parse(address.data(), address.size()));
    connection = engine_.connect(door_->address());  // so that the engine tells of our end
    std::vector<Door::Event> events;
    std::vector<std::uint32_t> ready;
    EXPECT_TRUE(poll_all<RdmEngine>({&engine_}, [&] {
      door_->look(&events, &ready);
      return !events.empty();
    }));
    socket = std::move(events.at(0).socket);
    DoorReader reader;
    reader.expect(RdmOffer::kBytes);
    EXPECT_TRUE(pump([&] { return reader.read(socket.fd()) == DoorReader::Outcome::kComplete; }));
    engines = RdmOffer::parse(reader.bytes()).value();
    for (Bytes& each : buffers_) {
      contexts_.emplace_back(std::make_unique<fi_context2>());
      EXPECT_EQ(fi_recv(fabric_->endpoint(), each.data(), each.size(), nullptr, FI_ADDR_UNSPEC,
                        contexts_.back().get()),
                0);
    }
    EXPECT_EQ(fi_av_insert(&fabric_->addresses(), engines.name.data(), 1, &to_, 0, nullptr), 1);
  }

  /// What an engine here would say.
  RdmOffer offer() const {
    RdmOffer own = engines;
    own.tag = kTag;
    own.name = fabric_->name();
    return own;
  }
  template <std::size_t kSize>
  void say(const std::array<std::byte, kSize>& bytes) {
    ASSERT_TRUE(tcp_send(socket.fd(), bytes.data(), bytes.size()));
  }
  void send(const Bytes& packet) {
    sent_.push_back(packet);
    fi_context2 context;
    ssize_t error = -FI_EAGAIN;
    ASSERT_TRUE(pump([&] {
      look();
      error =
          fi_send(fabric_->endpoint(), sent_.back().data(), packet.size(), nullptr, to_, &context);
      return error != -FI_EAGAIN;
    }));
    ASSERT_EQ(error, 0);
    ASSERT_TRUE(pump([&] { return look() > 0; }));  // it has left
  }
  /// A packet of one byte, `number`.
  void send(std::uint8_t number, OfiHeader::Kind kind = OfiHeader::Kind::kPacket) {
    OfiHeader header;
    header.tag = engines.tag;
    header.kind = kind;
    header.number = number;
    send(header);
  }
  void send(const OfiHeader& header) {
    Bytes packet(OfiHeader::kBytes);
    header.write(packet.data());
    if (header.kind == OfiHeader::Kind::kPacket) {
      packet.push_back(static_cast<std::byte>(header.number));
    }
    send(packet);
  }
  /// As an engine does it; the hello is packet 0.
  void become_acquainted() {
    say(offer().pack());
    send(0, OfiHeader::Kind::kCredit);
    ASSERT_TRUE(pump([&] { return engine_.station.connected.count(connection) == 1; }));
  }
  bool pump(const std::function<bool()>& done) {
    return poll_all<RdmEngine>({&engine_}, [&] {
      look_for_packets();
      return done();
    });
  }

  ConnectionId connection = 0;
  TcpSocket socket;
  RdmOffer engines;

 private:
  static std::unique_ptr<RdmFabric> open() {
    auto fabric = RdmFabric::open(datagrams_on_lo());
    if (!fabric.ok()) throw std::runtime_error(std::string(fabric.status().message()));
    return std::move(*fabric);
  }
  void look_for_packets() {
    fi_cq_msg_entry entry{};
    if (fi_cq_read(fabric_->completions(), &entry, 1) == 1 && (entry.flags & FI_SEND) != 0) {
      ++left_;
    }
  }
  /// Packets that have left since it was asked last.
  std::size_t look() {
    look_for_packets();
    return std::exchange(left_, 0);
  }

  RdmEngine& engine_;
  std::array<Bytes, 16> buffers_ = filled();
  static std::array<Bytes, 16> filled() {
    std::array<Bytes, 16> made;
    made.fill(Bytes(64));
    return made;
  }
  std::vector<std::unique_ptr<fi_context2>> contexts_;
  std::vector<Bytes> sent_;
  std::unique_ptr<RdmFabric> fabric_;
  std::unique_ptr<Door> door_;
  fi_addr_t to_ = FI_ADDR_UNSPEC;
  std::size_t left_ = 0;
};

}  // namespace mad

#endif  // TESTS_CONFORMANCE_OFI_RDM_ENGINE_H_
