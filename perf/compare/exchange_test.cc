#include "perf/compare/exchange.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "gtest/gtest.h"

namespace compare {
namespace {

const micro::LayoutKind& kind(const std::string& name) {
  for (const micro::LayoutKind& one : micro::layout_kinds()) {
    if (name == one.name) return one;
  }
  throw std::runtime_error("no layout " + name);
}

// What a right transfer does: every byte of the type map, nothing else.
void transfer(const micro::LayoutKind& what, std::int64_t bytes, const Exchange& from,
              const Exchange& to) {
  micro::expand(what.make(bytes))
      .for_each_run([&](std::int64_t place, std::int64_t, std::int64_t size) {
        std::memcpy(static_cast<std::byte*>(to.in()) + place,
                    static_cast<std::byte*>(from.out()) + place, static_cast<std::size_t>(size));
      });
}

TEST(Exchange, ARightTransferIsRight) {
  for (const char* name : {"contiguous", "padded", "backwards", "face3d-x", "seismic-12"}) {
    const Exchange a(kind(name), 1024), b(kind(name), 1024);
    for (std::uint64_t stamp = 1; stamp < 4; ++stamp) {
      a.prepare(stamp, 0);
      b.prepare(stamp, 1);
      EXPECT_NE(b.verify(stamp, 1), "") << "nothing came yet";
      transfer(kind(name), 1024, a, b);
      EXPECT_EQ(b.verify(stamp, 1), "") << name;
      EXPECT_NE(b.verify(stamp + 1, 1), "") << "bytes of another command";
    }
  }
}

TEST(Exchange, AWrongByteIsFoundInTheTypeMapAndOutside) {
  const Exchange a(kind("padded"), 1024), b(kind("padded"), 1024);
  // Of each 32 bytes of this structure bytes 1 to 3 do not travel.
  for (const std::ptrdiff_t place : {0, 2}) {
    a.prepare(1, 0);
    b.prepare(1, 1);
    transfer(kind("padded"), 1024, a, b);
    static_cast<std::byte*>(b.in())[place] ^= std::byte{1};
    EXPECT_EQ(b.verify(1, 1),
              "byte " + std::to_string(place) + " of what rank 1 received is wrong");
  }
}

}  // namespace
}  // namespace compare
