#include "madlike/driver/ofi/segments_writer.h"

#include <array>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(SegmentsWriter, WritesAllOfItAtOnce) {
  std::string first = "one, ", second = "two";
  const std::array<Segment, 3> segments{
      Segment{first.data(), first.size()}, {nullptr, 0}, {second.data(), second.size()}};
  SegmentsWriter writer({segments.data(), segments.size()});
  EXPECT_EQ(writer.left(), 8u);
  std::string room(10, '.');
  writer.write({room.data(), room.size()});
  EXPECT_EQ(room, "one, two..");
  EXPECT_EQ(writer.left(), 0u);
}

}  // namespace
}  // namespace mad
