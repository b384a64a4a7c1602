#include "madlike/message/session/bytes_payload.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"

namespace mad {
namespace {

constexpr std::size_t kLongEnough = BytesSource::kReferenceFrom;

TEST(BytesSource, ReferencesLongStretchesAndCopiesShortOnes) {
  Bytes bytes = pattern(4 * kLongEnough, 1), memory(kLongEnough);
  for (const std::size_t size : {kLongEnough - 1, kLongEnough, 4 * kLongEnough - 1}) {
    Packet packet({memory.data(), memory.size()}, 4, bytes.size());
    BytesSource source({bytes.data(), size});
    source.fill(packet, bytes.size());
    EXPECT_EQ(packet.bytes(), size);
    EXPECT_EQ(packet.referenced_bytes(), size < kLongEnough ? 0 : size);
  }
}

TEST(BytesSource, ReferencesWhatThereIsNoRoomToCopy) {
  Bytes bytes = pattern(100, 1), memory(60);
  Packet packet({memory.data(), memory.size()}, 4, bytes.size());
  BytesSource source({bytes.data(), bytes.size()});
  source.fill(packet, bytes.size());
  EXPECT_EQ(packet.staged_bytes(), 60u);
  EXPECT_EQ(packet.referenced_bytes(), 40u);
}

}  // namespace
}  // namespace mad
