// Who came in by the door and then says what no engine says.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "madlike/driver/door/door.h"
#include "madlike/driver/ucx/side.h"
#include "tests/conformance/ucx/engine.h"
#include "tests/support/silent_host.h"

namespace mad {
namespace {

// A door of our own, without an engine behind it, that connected to an engine.
class UcxStrangers : public ::testing::Test {
 protected:
  explicit UcxStrangers(const UcxOptions& options = on_lo()) : engine_(options) {}
  void SetUp() override {
    DoorOptions options;
    options.fabric = "ucx";
    options.magic = {'M', 'A', 'D', 'U', 'C', 'X'};
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
    reader_.expect(UcxOffer::kBytes);
    ASSERT_TRUE(pump({&engine_},
                     [&] { return reader_.read(socket_.fd()) == DoorReader::Outcome::kComplete; }));
    offer_ = UcxOffer::parse(reader_.bytes());
    ASSERT_TRUE(offer_);
  }

  template <std::size_t kSize>
  void say(const std::array<std::byte, kSize>& bytes) {
    ASSERT_TRUE(tcp_send(socket_.fd(), bytes.data(), bytes.size()));
  }
  void offer_tcp(const Side& side) {
    UcxOffer offer = *offer_;
    offer.lanes[0].open = false;
    offer.lanes[1] = side.offer;
    say(offer.pack());
  }
  /// Until the engine's hello is here.
  void agree_on_posix(Side& side) {
    UcxOffer offer = *offer_;
    offer.lanes[0] = side.offer;
    say(offer.pack());
    say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kPosix}.pack());
    side.lane->add_user();
    ASSERT_TRUE(pump({&engine_}, [&] {
      side.progress();
      return !side.messages.empty();
    }));
  }
  void connect_by_tcp(Side& side) {
    offer_tcp(side);
    say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kTcp}.pack());
    ASSERT_TRUE(side.lane->wire(&side.endpoint, offer_->lanes[1]).ok());
    side.lane->add_user();
    say(side, UcxMessage::kHello);
    ASSERT_TRUE(pump({&engine_}, [&] {
      side.progress();
      return engine_.station.connected.count(connection_) == 1;
    }));
  }
  void say(Side& side, UcxMessage kind) {
    std::uint64_t word = 1;
    const Segment segment{&word, sizeof(word)};
    ASSERT_TRUE(pump({&engine_}, [&] {
      side.progress();
      return side.lane->send(side.endpoint.get(), kind, {offer_->tag, 0, 0}, {&segment, 1},
                             sizeof(word), nullptr) == UCS_OK;
    }));
  }
  void expect_end(StatusCode code) {
    ASSERT_TRUE(pump({&engine_}, [&] { return !engine_.station.disconnected.empty(); }));
    const Status why = engine_.station.disconnected[connection_];
    EXPECT_EQ(why.code(), code) << why.message();
  }

  UcxEngine engine_;
  std::unique_ptr<Door> door_;
  ConnectionId connection_ = 0;
  TcpSocket socket_;
  DoorReader reader_;
  std::optional<UcxOffer> offer_;  // the engine's
};

TEST_F(UcxStrangers, NoOffer) {
  std::array<std::byte, UcxOffer::kBytes> foreign{};
  foreign.fill(std::byte{'G'});
  say(foreign);
  expect_end(StatusCode::kProtocol);
}

TEST_F(UcxStrangers, NoNote) {
  say(offer_->pack());  // the engine's own memory, which it does reach
  std::array<std::byte, UcxNote::kBytes> foreign{};
  foreign.fill(std::byte{'G'});
  say(foreign);
  expect_end(StatusCode::kProtocol);
}

TEST_F(UcxStrangers, ANoteOfATransportThatIsNotTried) {
  say(offer_->pack());
  say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kTcp}.pack());
  expect_end(StatusCode::kProtocol);
}

TEST_F(UcxStrangers, WhoReachesNothingIsUnreachable) {
  for (UcxLaneOffer& lane : offer_->lanes) lane.device.assign(lane.device.size(), std::byte{7});
  say(offer_->pack());
  say(UcxNote{UcxNote::Kind::kNo, UcxTransport::kPosix}.pack());
  say(UcxNote{UcxNote::Kind::kNo, UcxTransport::kTcp}.pack());
  expect_end(StatusCode::kUnreachable);
}

struct NoEvents : UcxEvents {
  bool on_message(UcxLane&, UcxMessage, Segment, bool) override { return false; }
  void on_failed(uct_ep_h) override {}
};

// As of one that may not open our shared memory, though we may open its.
TEST_F(UcxStrangers, WhatWorksForUsAloneIsLeftForTheNext) {
  NoEvents none;
  auto fabric = UcxFabric::open(on_lo(false, true), "lo", none);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  UcxOffer offer = *offer_;  // its own shared memory, which it does reach
  auto endpoint = (*fabric)->tcp()->prepare(&offer.lanes[1]);
  ASSERT_TRUE(endpoint.ok());
  say(offer.pack());
  say(UcxNote{UcxNote::Kind::kNo, UcxTransport::kPosix}.pack());
  for (const UcxTransport transport : {UcxTransport::kPosix, UcxTransport::kTcp}) {
    reader_.expect(UcxNote::kBytes);
    ASSERT_TRUE(pump({&engine_},
                     [&] { return reader_.read(socket_.fd()) == DoorReader::Outcome::kComplete; }));
    const auto note = UcxNote::parse(reader_.bytes());
    ASSERT_TRUE(note);
    EXPECT_EQ(note->transport, transport);
    EXPECT_EQ(note->kind, UcxNote::Kind::kYes);
  }
}

// So that shared memory is attached while it can be left for tcp.
TEST_F(UcxStrangers, AHelloDoesNotStandInTheQueueItself) {
  Side side(UcxTransport::kPosix);
  agree_on_posix(side);
  ASSERT_FALSE(side.messages.empty());
  EXPECT_EQ(side.messages[0].kind, UcxMessage::kHello);
  EXPECT_GT(side.messages[0].bytes.size(), UcxLane::kMostShort);
}

// The engine has sent its hello, and given up what it had prepared for other transports.
TEST_F(UcxStrangers, WhoSaidYesMayNotSayNo) {
  Side side(UcxTransport::kPosix);
  agree_on_posix(side);
  ASSERT_FALSE(side.messages.empty());
  say(UcxNote{UcxNote::Kind::kNo, UcxTransport::kPosix}.pack());
  expect_end(StatusCode::kProtocol);
}

// Nothing wakes an engine that somebody connects to by UCX's tcp, so it looks now and then.
TEST_F(UcxStrangers, WhoAgreesOnTcpMaySleep) {
  Side side(UcxTransport::kTcp);
  offer_tcp(side);
  reader_.expect(UcxNote::kBytes);
  ASSERT_TRUE(pump({&engine_},
                   [&] { return reader_.read(socket_.fd()) == DoorReader::Outcome::kComplete; }));
  std::vector<pollfd> sources;
  for (int i = 0; i < 100 && sources.empty(); ++i) {
    engine_.station.poll();
    (void)engine_.driver->watch(&sources);
  }
  ASSERT_FALSE(sources.empty()) << "it never sleeps";
  EXPECT_GT(poll(sources.data(), sources.size(), 10000), 0) << "it sleeps for ever";
}

// The two sockets are not of one stream: what was sent on tcp before may come after.
TEST_F(UcxStrangers, OverTcpPacketsComeBehindTheControlSocketsEnd) {
  Side side(UcxTransport::kTcp);
  connect_by_tcp(side);
  socket_.close();
  const auto later = Clock::now() + milliseconds(200);
  ASSERT_TRUE(pump({&engine_}, [&] { return Clock::now() > later; }));
  say(side, UcxMessage::kPacket);
  ASSERT_TRUE(pump({&engine_}, [&] {
    side.progress();
    return engine_.station.received.size() == 1;
  }));
  side.endpoint.reset();
  expect_end(StatusCode::kPeerFailed);
}

TEST_F(UcxStrangers, WhoEndsTheControlSocketAloneIsGoneInTheEnd) {
  Side side(UcxTransport::kTcp);
  connect_by_tcp(side);
  socket_.close();
  expect_end(StatusCode::kPeerFailed);
}

// A stranger with memory of its own, over shared memory.
class UcxReadStrangers : public UcxStrangers {
 protected:
  UcxReadStrangers() : UcxStrangers(on_lo("ucx:posix,cma,tcp")) {}
  /// Connects as a process with this word; true: the engine says that it reads our memory.
  bool connect_with(std::uint64_t word) {
    UcxOffer offer = *offer_;
    offer.lanes[0] = side_.offer;
    offer.process = {static_cast<std::uint64_t>(getpid()), reinterpret_cast<std::uintptr_t>(&word_),
                     word};
    say(offer.pack());
    say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kPosix}.pack());
    side_.wire(offer_->lanes[0]);
    say(side_, UcxMessage::kHello);
    EXPECT_TRUE(pump({&engine_}, [&] {
      side_.progress();
      return engine_.station.connected.count(connection_) == 1 && side_.messages.size() == 1;
    }));
    return side_.messages[0].bytes[UcxHeader::kTagBytes] == std::byte{1};
  }
  /// Asks for a write of these runs, where the engine let us write.
  void ask(const std::vector<Segment>& runs, std::size_t less_bytes = 0) {
    const auto token = engine_.driver->expose(connection_, {target_.data(), target_.size()});
    ASSERT_TRUE(token.ok());
    const Segment list{const_cast<Segment*>(runs.data()),
                       runs.size() * sizeof(Segment) - less_bytes};
    ASSERT_EQ(side_.lane->send(side_.endpoint.get(), UcxMessage::kPull,
                               {offer_->tag, token->key, 0}, {&list, 1}, list.size, nullptr),
              UCS_OK);
  }

  std::uint64_t word_ = 4711;
  Side side_{UcxTransport::kPosix};
  Bytes source_ = pattern(1000), target_ = Bytes(1 << 20);
};

TEST_F(UcxReadStrangers, WithTheirWordAreRead) {
  ASSERT_TRUE(connect_with(word_));
  ask({{source_.data(), 400}, {source_.data(), 0}, {source_.data() + 400, 600}});
  ASSERT_TRUE(pump({&engine_}, [&] {
    side_.progress();
    return side_.messages.size() == 2;
  }));
  EXPECT_EQ(side_.messages[1].kind, UcxMessage::kPulled);
  std::uint64_t count = 0;
  ASSERT_EQ(side_.messages[1].bytes.size(), UcxHeader::kTagBytes + sizeof(count));
  std::memcpy(&count, &side_.messages[1].bytes[UcxHeader::kTagBytes], sizeof(count));
  EXPECT_EQ(count, 1u);
  EXPECT_TRUE(std::equal(source_.begin(), source_.end(), target_.begin()));
}

// As of a process that is another one by that number here, or may not be read.
TEST_F(UcxReadStrangers, WithoutTheirWordAreNot) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(connect_with(word_ + 1));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("no cma with"), std::string::npos) << said;
  ask({{source_.data(), source_.size()}});
  expect_end(StatusCode::kProtocol);
  EXPECT_EQ(target_, Bytes(target_.size()));
}

TEST_F(UcxReadStrangers, WhoseWordGoesAreReadNoMore) {
  ASSERT_TRUE(connect_with(word_));
  word_ = 0;
  ask({{source_.data(), source_.size()}});
  expect_end(StatusCode::kPeerFailed);
}

TEST_F(UcxReadStrangers, OfNoRun) {
  ASSERT_TRUE(connect_with(word_));
  ask({});
  expect_end(StatusCode::kProtocol);
}

TEST_F(UcxReadStrangers, OfHalfARun) {
  ASSERT_TRUE(connect_with(word_));
  ask({{source_.data(), source_.size()}}, 8);
  expect_end(StatusCode::kProtocol);
}

TEST_F(UcxReadStrangers, OfTooManyRuns) {
  ASSERT_TRUE(connect_with(word_));
  ask(std::vector<Segment>(ProcessReader::kMostRuns + 1, Segment{source_.data(), 1}));
  expect_end(StatusCode::kProtocol);
}

TEST_F(UcxReadStrangers, OfTooManyBytes) {
  ASSERT_TRUE(connect_with(word_));
  const std::size_t most = engine_.driver->max_write_bytes(connection_);
  ask({{source_.data(), 1}, {source_.data(), most}});
  expect_end(StatusCode::kProtocol);
}

TEST_F(UcxReadStrangers, OfMoreThanThereIs) {
  ASSERT_TRUE(connect_with(word_));
  ask({{source_.data(), 1}, {source_.data(), ~std::size_t{0}}});
  expect_end(StatusCode::kProtocol);
}

TEST_F(UcxReadStrangers, WhoAnswerWhatNobodyAsked) {
  ASSERT_TRUE(connect_with(word_));
  say(side_, UcxMessage::kPulled);
  expect_end(StatusCode::kProtocol);
}

UcxOptions impatient() {
  UcxOptions options = on_lo();
  options.connect_timeout = options.stranger_timeout = options.close_timeout = milliseconds(10);
  options.silence_timeout = milliseconds(1000);
  return options;
}

class UcxSilence : public UcxStrangers {
 protected:
  UcxSilence() : UcxStrangers(impatient()) {}
};

// A process that computes for long.
TEST_F(UcxSilence, InTheAgreementIsWaitedFor) {
  const auto later = Clock::now() + milliseconds(100);
  ASSERT_TRUE(pump({&engine_}, [&] { return Clock::now() > later; }));
  say(offer_->pack());
  const auto much_later = Clock::now() + milliseconds(100);
  ASSERT_TRUE(pump({&engine_}, [&] { return Clock::now() > much_later; }));
  EXPECT_TRUE(engine_.station.disconnected.empty());
  socket_.close();
  expect_end(StatusCode::kAgain);
}

// What the engine says then is not acknowledged.
TEST_F(UcxSilence, OfTheHostIsAnEnd) {
  fall_silent(socket_.fd());
  say(offer_->pack());
  expect_end(StatusCode::kPeerFailed);
}

TEST_F(UcxStrangers, WhoLeavesMeanwhileMayComeAgain) {
  socket_.close();
  expect_end(StatusCode::kAgain);
}

// The engine's own address in our offer: its hello comes back to it, by another's name.
TEST_F(UcxStrangers, MessagesWithoutAConnectionsTagAreNobodys) {
  UcxOffer mirror = *offer_;
  mirror.tag ^= 2;
  say(mirror.pack());
  say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kPosix}.pack());
  const auto later = Clock::now() + milliseconds(200);
  ASSERT_TRUE(pump({&engine_}, [&] { return Clock::now() > later; }));
  EXPECT_TRUE(engine_.station.connected.empty());
  EXPECT_TRUE(engine_.station.disconnected.empty());
  // Others are served.
  UcxEngine other;
  Bytes bytes = pattern(64, 1);
  ASSERT_FALSE(send(other, other.connect(engine_), bytes, {&engine_, &other}).error());
  EXPECT_TRUE(pump({&engine_, &other}, [&] { return engine_.station.received.size() == 1; }));
}

}  // namespace
}  // namespace mad
