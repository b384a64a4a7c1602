#include "madlike/driver/ucx/lane.h"

#include <stdlib.h>
#include <ucp/api/ucp.h>

#include <cstring>
#include <vector>

#include "madlike/driver/ucx/side.h"
#include "madlike/driver/ucx/uct_double.h"
#include "tests/support/lack.h"

namespace mad {
namespace {

class UcxLaneTest : public ::testing::TestWithParam<UcxTransport> {};

TEST_P(UcxLaneTest, EveryKindAndSizeArrivesGathered) {
  Side a(GetParam()), b(GetParam());
  EXPECT_EQ(a.offer.geometry, b.offer.geometry);
  a.wire(b);
  b.wire(a);
  const std::size_t most = a.lane->limits().max_message_bytes - sizeof(UcxHeader);
  std::size_t count = 0;
  for (const std::size_t size : {std::size_t{1}, std::size_t{76}, std::size_t{92}, std::size_t{93},
                                 std::size_t{2048}, std::size_t{2049}, std::size_t{9000}, most}) {
    for (const UcxMessage kind : {UcxMessage::kPacket, UcxMessage::kWrite}) {
      std::vector<std::byte> sent(size);
      for (std::size_t i = 0; i < size; ++i) sent[i] = static_cast<std::byte>(i * 7 + size);
      const std::size_t half = size / 2;
      const Segment segments[] = {
          {sent.data(), half}, {nullptr, 0}, {sent.data() + half, size - half}};
      const UcxHeader header{0x1234567890ABCDEFu, 5, 6};
      int told = 0;
      struct Done : uct_completion_t {
        int* told = nullptr;
      } done;
      done.func = [](uct_completion_t* self) { ++*static_cast<Done*>(self)->told; };
      done.count = 1;
      done.status = UCS_OK;
      done.told = &told;
      ucs_status_t status = UCS_ERR_NO_RESOURCE;
      ASSERT_TRUE(pump(a, b, [&] {
        status = a.lane->send(a.endpoint.get(), kind, header, {segments, 3}, size, &done);
        return status != UCS_ERR_NO_RESOURCE;
      }));
      ASSERT_TRUE(status == UCS_OK || status == UCS_INPROGRESS) << ucs_status_string(status);
      ++count;
      ASSERT_TRUE(pump(a, b, [&] {
        return b.messages.size() == count && (status == UCS_OK || told == 1);
      })) << size;
      const Side::Message& got = b.messages.back();
      const std::size_t before = kind == UcxMessage::kWrite ? sizeof(header) : UcxHeader::kTagBytes;
      EXPECT_EQ(got.kind, kind);
      ASSERT_EQ(got.bytes.size(), before + size);
      EXPECT_EQ(std::memcmp(got.bytes.data(), &header, before), 0);
      EXPECT_EQ(std::memcmp(got.bytes.data() + before, sent.data(), size), 0) << size;
      if (GetParam() == UcxTransport::kPosix && size >= 2048) {
        EXPECT_TRUE(got.aligned) << size;
      }
    }
  }
}

/// Writes a packet, and says how often it was asked to.
struct Writer final : PacketWriter {
  explicit Writer(std::size_t size) : PacketWriter(size), bytes(size) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + size);
  }
  void write_next(Segment room) override {
    ++writes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.data) % 8, 0u);
    std::memcpy(room.data, bytes.data() + written, room.size);
    written += room.size;
  }
  std::vector<std::byte> bytes;
  std::size_t written = 0;
  int writes = 0;
};

TEST(UcxLane, PacketsAreWrittenInAsFewPiecesAsCanBe) {
  Side a(UcxTransport::kPosix), b(UcxTransport::kPosix);
  a.wire(b);
  b.wire(a);
  const std::size_t most = a.lane->limits().max_message_bytes - sizeof(UcxPieceHeader);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{1000}, most, most + 1, 2 * most, 2 * most + 1, 5 * most - 3}) {
    const std::size_t pieces = (size + most - 1) / most;
    b.messages.clear();
    Writer writer(size);
    ASSERT_TRUE(pump(a, b, [&] {
      const ucs_status_t status = a.lane->send_piece(a.endpoint.get(), 77, writer);
      EXPECT_TRUE(status == UCS_OK || status == UCS_ERR_NO_RESOURCE);
      return writer.left() == 0;
    }));
    EXPECT_EQ(static_cast<std::size_t>(writer.writes), pieces);
    ASSERT_TRUE(pump(a, b, [&] { return b.messages.size() == pieces; })) << size;
    std::vector<std::byte> got;
    for (const Side::Message& message : b.messages) {
      EXPECT_EQ(message.kind, UcxMessage::kPiece);
      ASSERT_GT(message.bytes.size(), sizeof(UcxPieceHeader));
      UcxPieceHeader header;
      std::memcpy(&header, message.bytes.data(), sizeof(header));
      got.insert(got.end(), message.bytes.begin() + sizeof(header), message.bytes.end());
      EXPECT_EQ(header.tag, 77u);
      EXPECT_EQ(header.left, size - got.size());
      EXPECT_TRUE(pieces == 1 || message.bytes.size() - sizeof(header) >= most / 2);
    }
    EXPECT_TRUE(got == writer.bytes) << size;
  }
}

TEST(UcxLane, WithoutRoomNoPieceIsWritten) {
  Side a(UcxTransport::kPosix), b(UcxTransport::kPosix);
  a.wire(b);
  b.wire(a);
  ucs_status_t status = UCS_OK;
  std::size_t sent = 0;
  while (status == UCS_OK && sent < 10 * UcxLane::kPlaces) {
    Writer writer(2000);
    status = a.lane->send_piece(a.endpoint.get(), 77, writer);
    EXPECT_EQ(writer.writes, status == UCS_OK ? 1 : 0);
    if (status == UCS_OK) ++sent;
  }
  EXPECT_EQ(status, UCS_ERR_NO_RESOURCE);
  ASSERT_TRUE(pump(a, b, [&] { return b.messages.size() == sent; }));
  Writer writer(2000);
  EXPECT_TRUE(pump(a, b, [&] {
    return a.lane->send_piece(a.endpoint.get(), 77, writer) == UCS_OK && writer.left() == 0;
  }));
}

// UCX would lose messages without a word.
TEST(UcxLane, TheEnvironmentDoesNotTakeItsBuffers) {
  setenv("UCX_MM_RX_MAX_BUFS", "17", 1);
  Side a(UcxTransport::kPosix), b(UcxTransport::kPosix);
  unsetenv("UCX_MM_RX_MAX_BUFS");
  a.wire(b);
  b.wire(a);
  b.keep = true;
  std::vector<std::byte> packet(2048, std::byte{1});
  const Segment segment{packet.data(), packet.size()};
  for (std::size_t sent = 1; sent <= UcxLane::kMostKept; ++sent) {
    ASSERT_EQ(a.lane->send(a.endpoint.get(), UcxMessage::kPacket, {}, {&segment, 1}, packet.size(),
                           nullptr),
              UCS_OK);
    EXPECT_TRUE(pump(a, b, [&] { return b.messages.size() == sent; })) << sent << " is lost";
    EXPECT_EQ(b.lane->has_room(), sent + UcxLane::kMessagesAtOnce <= UcxLane::kMostKept) << sent;
  }
  for (UcxKept* const each : b.kept) b.lane->release(each);
  EXPECT_TRUE(b.lane->has_room());
}

TEST_P(UcxLaneTest, WrongAddressesAreUnreachable) {
  Side a(GetParam()), b(GetParam());
  UcxLaneOffer cut = b.offer;
  cut.device.pop_back();
  UctEndpoint none;
  EXPECT_EQ(a.lane->wire(&none, cut).code(), StatusCode::kUnreachable);
  UcxLaneOffer elsewhere = b.offer;
  for (std::byte& each : elsewhere.device) each ^= std::byte{0x55};
  const Status why = a.lane->wire(&none, elsewhere);
  EXPECT_EQ(why.code(), StatusCode::kUnreachable);
  EXPECT_EQ(why.message().find("same user") != std::string_view::npos,
            GetParam() == UcxTransport::kPosix)
      << why.message();
  EXPECT_FALSE(none);
}

// It may have them later.
TEST(UcxLane, WhoLacksFilesIsNotUnreachable) {
  Side a(UcxTransport::kPosix), b(UcxTransport::kPosix);
  const NoFiles none;
  const Status why = a.lane->wire(&a.endpoint, b.offer);
  EXPECT_EQ(why.code(), StatusCode::kNoMemory) << why.message();
  EXPECT_NE(why.message().find("ulimit -n"), std::string_view::npos) << why.message();
}

struct NoEvents : UcxEvents {
  bool on_message(UcxLane&, UcxMessage, Segment, bool) override { return false; }
  void on_failed(uct_ep_h) override {}
};

/// Of a fabric of tcp alone.
Status opened() {
  NoEvents events;
  UcxOptions options;
  options.posix = false;
  return UcxFabric::open(options, "lo", events).status();
}

TEST(UcxLane, WhatUcxRefusesIsSaid) {
  Side a(UcxTransport::kTcp);
  UctDouble ucx;
  for (const char* function :
       {"uct_iface_query", "uct_iface_get_device_address", "uct_iface_get_address"}) {
    ucx.refused = function;
    const Status why = opened();
    EXPECT_EQ(why.code(), StatusCode::kInternal) << function;
    EXPECT_NE(why.message().find(ucs_status_string(ucx.status)), std::string_view::npos)
        << function;
  }
  UcxLaneOffer offer;
  ucx.refused = "uct_ep_create";
  EXPECT_EQ(a.lane->prepare(&offer).status().code(), StatusCode::kNoMemory);
  ucx.refused = "uct_ep_get_address";
  EXPECT_EQ(a.lane->prepare(&offer).status().code(), StatusCode::kInternal);
}

// As of a later UCX.
TEST(UcxLane, AddressesFillTheRoomOfAnOfferAtMost) {
  UctDouble ucx;
  const auto with = [&ucx](std::size_t device, std::size_t interface, std::size_t endpoint) {
    ucx.change_attributes = [=](uct_iface_attr_t* attributes) {
      attributes->device_addr_len = device;
      attributes->iface_addr_len = interface;
      attributes->ep_addr_len = endpoint;
    };
    return opened().code();
  };
  constexpr std::size_t kDevice = UcxLaneOffer::kMostDevice,
                        kInterface = UcxLaneOffer::kMostInterface,
                        kEndpoint = UcxLaneOffer::kMostEndpoint;
  EXPECT_EQ(with(kDevice, kInterface, kEndpoint), StatusCode::kOk);
  EXPECT_EQ(with(kDevice + 1, kInterface, kEndpoint), StatusCode::kVersion);
  EXPECT_EQ(with(kDevice, kInterface + 1, kEndpoint), StatusCode::kVersion);
  EXPECT_EQ(with(kDevice, kInterface, kEndpoint + 1), StatusCode::kVersion);
}

// For ever, else.
TEST_P(UcxLaneTest, NobodySleepsWhereNothingWakesHim) {
  const Side a(GetParam());
  int file = -1;
  UctDouble ucx;
  for (const char* function : {"uct_iface_event_arm", "uct_iface_event_fd_get"}) {
    ucx.refused = function;
    EXPECT_EQ(a.lane->arm(&file).code(), StatusCode::kAgain) << function;
  }
  ucx.refused.clear();
  EXPECT_TRUE(a.lane->arm(&file).ok());
  EXPECT_GE(file, 0);
}

// Of the library, not of its headers: the sides share memory that it lays out.
TEST_P(UcxLaneTest, ItsGeometryNamesTheVersion) {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  const Side a(GetParam());
  EXPECT_EQ(a.offer.geometry[0], major << 24 | minor << 16 | release);
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxLaneTest,
                         ::testing::Values(UcxTransport::kPosix, UcxTransport::kTcp),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace mad
