#include "madlike/driver/ucx/lane.h"

#include <stdlib.h>
#include <ucp/api/ucp.h>

#include <cstring>
#include <vector>

#include "madlike/driver/ucx/side.h"

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
  }
  EXPECT_FALSE(b.lane->has_room());
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
