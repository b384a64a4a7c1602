// The longest packets that two engines may agree on.
#include "madlike/driver/ofi_shm/endpoint.h"
#include "tests/conformance/ip/engine.h"

namespace mad {
namespace {

Result<std::unique_ptr<Driver>> open_for(std::size_t max_packet_bytes) {
  OfiShmOptions options;
  options.interface = "lo";
  options.max_packet_bytes = max_packet_bytes;
  options.receive_buffers = 2;
  return open_ofi_shm(options);
}

TEST(OfiShmBounds, TheLongestPacketArrives) {
  auto a = open_for(OfiShmEndpoint::kMostBytes), b = open_for(OfiShmEndpoint::kMostBytes);
  ASSERT_TRUE(a.ok() && b.ok());
  Station from(**a), to(**b);
  const auto id = (*a)->connect((*b)->address().data(), (*b)->address().size());
  ASSERT_TRUE(id.ok());
  Bytes bytes = pattern(OfiShmEndpoint::kMostBytes, 1);
  const Segment segment{bytes.data(), bytes.size()};
  Status status = StatusCode::kAgain;
  const auto deadline = Clock::now() + milliseconds(20000);
  while (to.received.empty() && Clock::now() < deadline) {
    if (status.again()) status = (*a)->post_send(*id, {&segment, 1}, nullptr);
    from.poll();
    to.poll();
  }
  ASSERT_EQ(to.received.size(), 1u) << status.message();
  EXPECT_EQ(to.received[0].bytes, bytes);
}

TEST(OfiShmBounds, LongerOnesAreRefused) {
  EXPECT_EQ(open_for(OfiShmEndpoint::kMostBytes + 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(open_for(100).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mad
