// Who came in by the door and then sends over UCX what no engine sends.
#include <array>
#include <thread>

#include "tests/conformance/ucx/stranger.h"
#include "tests/support/lack.h"

namespace mad {
namespace {

// A stranger whose connection stands, over shared memory.
class UcxConnectedStrangers : public UcxStrangers {
 protected:
  void SetUp() override { stranger_.connect_by_posix(side_); }
  /// What was sent before was taken, and disturbed nobody: the next packet arrives.
  void expect_undisturbed(std::size_t packets_before = 0) {
    stranger_.send(side_, UcxMessage::kPacket);
    ASSERT_TRUE(
        pump({&engine_}, [&] { return engine_.station.received.size() == packets_before + 1; }));
    EXPECT_TRUE(engine_.station.disconnected.empty());
  }
  /// Every place of the queue of shared memory has held so many bytes of a message.
  void fill_all_places(std::size_t size) {
    for (std::size_t i = 0; i < UcxLane::kPlaces; ++i) {
      stranger_.send_bare(side_, UcxMessage::kHello, size);
    }
  }
  Side side_{UcxTransport::kPosix};
};

TEST_F(UcxConnectedStrangers, AnotherTagIsNobodys) {
  stranger_.send(side_, UcxMessage::kLast, stranger_.offer.tag + 1);
  stranger_.send(side_, UcxMessage::kLast, stranger_.offer.tag - 1);
  expect_undisturbed();
}

// The rest of it would be what stood in that memory before.
TEST_F(UcxConnectedStrangers, HalfATagIsNobodys) {
  fill_all_places(UcxHeader::kTagBytes);
  stranger_.send_bare(side_, UcxMessage::kLast, UcxHeader::kTagBytes / 2);
  expect_undisturbed();
}

TEST_F(UcxConnectedStrangers, APieceThatDoesNotSayWhatFollowsIsNone) {
  stranger_.send_bare(side_, UcxMessage::kPiece, UcxHeader::kTagBytes);
  expect_undisturbed();
}

TEST_F(UcxConnectedStrangers, APacketOfNothingIsHandedOn) {
  stranger_.send_bare(side_, UcxMessage::kPacket, UcxHeader::kTagBytes);
  expect_undisturbed(1);
  EXPECT_TRUE(engine_.station.received[0].bytes.empty());
}

// They cannot speak for others, though they knew their tag.
TEST_F(UcxConnectedStrangers, AreHeardOnTheirOwnLaneOnly) {
  Stranger other(engine_);
  Side others(UcxTransport::kPosix);
  other.connect_by_posix(others);
  stranger_.send(side_, UcxMessage::kLast, other.offer.tag);
  expect_undisturbed();
  other.send(others, UcxMessage::kPacket);
  EXPECT_TRUE(pump({&engine_}, [&] { return engine_.station.received.size() == 2; }));
  EXPECT_TRUE(engine_.station.disconnected.empty());
}

TEST_F(UcxConnectedStrangers, MaySayNothingElseOnTheControlSocket) {
  std::array<std::byte, UcxNote::kBytes> foreign{};
  foreign.fill(std::byte{'G'});
  stranger_.say(foreign);
  stranger_.expect_end(StatusCode::kProtocol);
}

TEST_F(UcxConnectedStrangers, WhoHangUpAndGoOnSendingAreGone) {
  stranger_.socket.close();
  ASSERT_TRUE(pump({&engine_}, [&] {
    std::uint64_t word = 1;
    const Segment segment{&word, sizeof(word)};
    side_.progress();
    while (side_.lane->send(side_.endpoint.get(), UcxMessage::kPacket, {stranger_.offer.tag, 0, 0},
                            {&segment, 1}, sizeof(word), nullptr) == UCS_OK) {
    }
    return !engine_.station.disconnected.empty();
  }));
  stranger_.expect_end(StatusCode::kPeerFailed);
}

// The two sockets are not of one stream: what was sent on tcp before may come after.
TEST_F(UcxStrangers, OverTcpPacketsComeBehindTheControlSocketsEnd) {
  Side side(UcxTransport::kTcp);
  stranger_.connect_by_tcp(side);
  stranger_.socket.close();
  const auto later = Clock::now() + milliseconds(200);
  ASSERT_TRUE(pump({&engine_}, [&] { return Clock::now() > later; }));
  stranger_.send(side, UcxMessage::kPacket);
  ASSERT_TRUE(pump({&engine_}, [&] {
    side.progress();
    return engine_.station.received.size() == 1;
  }));
  side.endpoint.reset();
  stranger_.expect_end(StatusCode::kPeerFailed);
}

TEST_F(UcxStrangers, WhoEndsTheControlSocketAloneIsGoneInTheEnd) {
  Side side(UcxTransport::kTcp);
  stranger_.connect_by_tcp(side);
  stranger_.socket.close();
  stranger_.expect_end(StatusCode::kPeerFailed);
}

class UcxTcpStrangers : public UcxStrangers {
 protected:
  UcxTcpStrangers() : UcxStrangers(on_lo("ucx:tcp")) {}
};

// The engine has taken its leave: it waits for nothing that they might have sent.
TEST_F(UcxTcpStrangers, WhoEndTheControlSocketAfterALeaveAreGoneAtOnce) {
  Side side(UcxTransport::kTcp);
  stranger_.connect_by_tcp(side);
  engine_.driver->disconnect(stranger_.connection);
  ASSERT_TRUE(pump({&engine_}, [&] {
    side.progress();
    return !side.messages.empty() && side.messages.back().kind == UcxMessage::kLast;
  }));
  const std::size_t files = open_files();
  stranger_.socket.close();
  const std::size_t of_engine = 2;  // its control socket, and UCX's
  for (int i = 0; i < 1000 && open_files() >= files - of_engine; ++i) {
    engine_.station.poll();
    std::this_thread::yield();
  }
  EXPECT_LT(open_files(), files - of_engine);
}

// The engine's own address in our offer: its hello comes back to it, by another's name.
TEST_F(UcxStrangers, MessagesWithoutAConnectionsTagAreNobodys) {
  UcxOffer mirror = stranger_.offer;
  mirror.tag ^= 2;
  stranger_.say(mirror.pack());
  stranger_.say(UcxNote{UcxNote::Kind::kYes, UcxTransport::kPosix}.pack());
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
