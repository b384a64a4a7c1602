#include "madlike/message/payload_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "madlike/checksum/crc32c.h"
#include "tests/support/bytes.h"

namespace mad {
namespace {

// A packet of a frame, a message's header, and payload staged and referenced in turns.
TEST(PayloadSum, OfWhatAPacketCarries) {
  for (const std::size_t header_bytes : {0u, 1u, 24u}) {
    Bytes payload = pattern(5000), memory(10000);
    Packet packet({memory.data(), memory.size()}, 16, 1 << 20);
    std::memset(memory.data(), 0x5a, kFrameBytes + padded_bytes(header_bytes));
    packet.stage(kFrameBytes + padded_bytes(header_bytes));
    bool reference = header_bytes == 1;
    for (std::size_t at = 0; at < payload.size(); reference = !reference) {
      const std::size_t size = std::min<std::size_t>(700, payload.size() - at);
      if (reference) {
        packet.reference({payload.data() + at, size});
      } else {
        std::memcpy(packet.staging_room().data, payload.data() + at, size);
        packet.stage(size);
      }
      at += size;
    }
    Frame frame;
    frame.kind = FrameKind::kMessage;
    frame.header_bytes = static_cast<std::uint16_t>(header_bytes);
    add_checksum(packet, frame);
    EXPECT_TRUE(frame.checked);
    EXPECT_EQ(frame.sum, crc32c(0, payload.data(), payload.size())) << header_bytes;
  }
}

TEST(PayloadSum, OfPiecesAsTheyCome) {
  Bytes payload = pattern(1000);
  Frame frame;
  frame.kind = FrameKind::kData;
  frame.offset = 5000;
  PayloadSum sum;
  sum.begin(frame);
  EXPECT_FALSE(sum.checked());
  frame.checked = true;
  frame.sum = crc32c(0, payload.data(), payload.size());
  for (const bool right : {true, false, true}) {
    if (!right) payload[999] ^= std::byte{1};
    sum.begin(frame);
    EXPECT_TRUE(sum.checked());
    sum.add({payload.data(), 300});
    sum.add({payload.data(), 0});
    EXPECT_EQ(sum.result(9000).code(), StatusCode::kCorrupt);  // not all is here
    sum.add({payload.data() + 300, 700});
    const Status status = sum.result(9000);
    if (!right) payload[999] ^= std::byte{1};
    EXPECT_EQ(status.ok(), right);
    if (right) continue;
    EXPECT_EQ(status.code(), StatusCode::kCorrupt);
    char expected[16];
    std::snprintf(expected, sizeof(expected), "%08x", frame.sum);
    for (const std::string& part :
         {std::string("bytes 5000 to 5999 of a payload of 9000"), std::string(expected)}) {
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    }
  }
}

}  // namespace
}  // namespace mad
