// Who came in by the door and then says on the control socket what no engine says, or says nothing.
#include <poll.h>

#include "tests/conformance/ucx/stranger.h"
#include "tests/support/lack.h"
#include "tests/support/silent_host.h"

namespace mad {
namespace {

TEST_F(UcxStrangers, NoOffer) {
  std::array<std::byte, UcxOffer::kBytes> foreign{};
  foreign.fill(std::byte{'G'});
  stranger_.say(foreign);
  stranger_.expect_end(StatusCode::kProtocol);
}

TEST_F(UcxStrangers, NoNote) {
  stranger_.say(stranger_.offer.pack());  // the engine's own memory, which it does reach
  std::array<std::byte, UcxNote::kBytes> foreign{};
  foreign.fill(std::byte{'G'});
  stranger_.say(foreign);
  stranger_.expect_end(StatusCode::kProtocol);
}

TEST_F(UcxStrangers, ANoteOfATransportThatIsNotTried) {
  stranger_.say(stranger_.offer.pack());
  stranger_.say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kTcp}.pack());
  stranger_.expect_end(StatusCode::kProtocol);
}

TEST_F(UcxStrangers, WhoReachesNothingIsUnreachable) {
  for (UcxLaneOffer& lane : stranger_.offer.lanes)
    lane.device.assign(lane.device.size(), std::byte{7});
  stranger_.say(stranger_.offer.pack());
  stranger_.say(UcxNote{UcxNote::Kind::kNo, UcxTransport::kPosix}.pack());
  stranger_.say(UcxNote{UcxNote::Kind::kNo, UcxTransport::kTcp}.pack());
  stranger_.expect_end(StatusCode::kUnreachable);
}

struct NoEvents : UcxEvents {
  bool on_message(UcxLane&, UcxMessage, Segment, bool) override { return false; }
  void on_failed(uct_ep_h) override {}
};

// As of one that may not open our shared memory, though we may open its, and is slow to say so.
TEST_F(UcxStrangers, WhatWorksForUsAloneIsLeftForTheNext) {
  NoEvents none;
  auto fabric = UcxFabric::open(on_lo(false, true), "lo", none);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  UcxOffer offer = stranger_.offer;  // its own shared memory, which it does reach
  auto endpoint = (*fabric)->shared().front()->prepare(&offer.lanes[3]);
  ASSERT_TRUE(endpoint.ok());
  stranger_.say(offer.pack());
  for (const UcxTransport transport : {UcxTransport::kPosix, UcxTransport::kTcp}) {
    const UcxNote note = stranger_.hear_note();
    EXPECT_EQ(note.transport, transport);
    EXPECT_EQ(note.kind, UcxNote::Kind::kYes);
    for (int i = 0; i < 10; ++i) engine_.station.poll();
    stranger_.say(UcxNote{UcxNote::Kind::kNo, transport}.pack());
  }
  stranger_.expect_end(StatusCode::kUnreachable);
}

TEST_F(UcxStrangers, ANoteOfATransportThatWasTriedBefore) {
  Side side(UcxTransport::kTcp);
  stranger_.offer_tcp(side);
  stranger_.say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kPosix}.pack());
  stranger_.expect_end(StatusCode::kProtocol);
}

// The two go different ways.
TEST_F(UcxStrangers, TheirHelloMayComeBeforeTheirYes) {
  Side side(UcxTransport::kPosix);
  UcxOffer offer = stranger_.offer;
  offer.lanes[0] = side.offer;
  stranger_.say(offer.pack());
  EXPECT_EQ(stranger_.hear_note().kind, UcxNote::Kind::kYes);
  side.wire(stranger_.offer.lanes[0]);
  stranger_.send(side, UcxMessage::kHello);
  engine_.station.poll();  // its lane
  stranger_.say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kPosix}.pack());
  EXPECT_TRUE(
      pump({&engine_}, [&] { return engine_.station.connected.count(stranger_.connection) == 1; }));
  EXPECT_TRUE(engine_.station.disconnected.empty());
}

// Not for tcp's sake: both may come again, when there are files.
TEST_F(UcxStrangers, WhoLacksFilesForSharedMemoryEndsIt) {
  stranger_.say(stranger_.offer.pack());
  const NoFiles none;
  stranger_.expect_end(StatusCode::kNoMemory);
}

// So that shared memory is attached while it can be left for tcp.
TEST_F(UcxStrangers, AHelloDoesNotStandInTheQueueItself) {
  Side side(UcxTransport::kPosix);
  stranger_.agree_on_posix(side);
  ASSERT_FALSE(side.messages.empty());
  EXPECT_EQ(side.messages[0].kind, UcxMessage::kHello);
  EXPECT_GT(side.messages[0].bytes.size(), UcxLane::kMostShort);
}

// The engine has sent its hello, and given up what it had prepared for other transports.
TEST_F(UcxStrangers, WhoSaidYesMayNotSayNo) {
  Side side(UcxTransport::kPosix);
  stranger_.agree_on_posix(side);
  ASSERT_FALSE(side.messages.empty());
  stranger_.say(UcxNote{UcxNote::Kind::kNo, UcxTransport::kPosix}.pack());
  stranger_.expect_end(StatusCode::kProtocol);
}

// Nothing wakes an engine that somebody connects to by UCX's tcp, so it looks now and then.
TEST_F(UcxStrangers, WhoAgreesOnTcpMaySleep) {
  Side side(UcxTransport::kTcp);
  stranger_.offer_tcp(side);
  EXPECT_EQ(stranger_.hear_note().kind, UcxNote::Kind::kYes);
  std::vector<pollfd> sources;
  for (int i = 0; i < 100 && sources.empty(); ++i) {
    engine_.station.poll();
    (void)engine_.driver->watch(&sources);
  }
  ASSERT_FALSE(sources.empty()) << "it never sleeps";
  EXPECT_GT(poll(sources.data(), sources.size(), 10000), 0) << "it sleeps for ever";
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
  stranger_.say(stranger_.offer.pack());
  const auto much_later = Clock::now() + milliseconds(100);
  ASSERT_TRUE(pump({&engine_}, [&] { return Clock::now() > much_later; }));
  EXPECT_TRUE(engine_.station.disconnected.empty());
  stranger_.socket.close();
  stranger_.expect_end(StatusCode::kAgain);
}

// What the engine says then is not acknowledged.
TEST_F(UcxSilence, OfAHostEndsItsConnection) {
  fall_silent(stranger_.socket.fd());
  stranger_.say(stranger_.offer.pack());
  stranger_.expect_end(StatusCode::kPeerFailed);
  EXPECT_NE(engine_.station.disconnected[stranger_.connection].message().find("silence"),
            std::string_view::npos);
}

TEST_F(UcxStrangers, WhoLeavesMeanwhileMayComeAgain) {
  stranger_.socket.close();
  stranger_.expect_end(StatusCode::kAgain);
}

}  // namespace
}  // namespace mad
