// A cell finds every kind of wrong byte.
#include "perf/micro/cell.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace micro {
namespace {

constexpr std::int64_t kPayload = 256;

const LayoutKind& kind(const std::string& name) {
  for (const LayoutKind& kind : layout_kinds()) {
    if (kind.name == name) return kind;
  }
  throw std::runtime_error("no layout " + name);
}

// What verifying complains of; empty: nothing.
template <typename Verify>
std::string complaint(Verify verify) {
  try {
    verify();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

class CellTest : public testing::Test {
 protected:
  void pack() const {
    cell_.layout().loop.pack(cell_.packed(), cell_.user(), cell_.layout().arguments);
  }
  void unpack() const {
    cell_.layout().loop.unpack(cell_.packed(), cell_.user(), cell_.layout().arguments);
  }
  std::byte* user() const { return static_cast<std::byte*>(cell_.user()); }

  Cell cell_{kind("rows-16"), kPayload};
};

TEST_F(CellTest, RightBytesPass) {
  EXPECT_EQ(complaint([&] { cell_.verify_pack("loop", [&] { pack(); }); }), "");
  EXPECT_EQ(complaint([&] { cell_.verify_unpack("loop", [&] { unpack(); }); }), "");
}

TEST_F(CellTest, NothingDoneIsWrong) {
  EXPECT_NE(complaint([&] { cell_.verify_pack("idler", [] {}); }), "");
  EXPECT_NE(complaint([&] { cell_.verify_unpack("idler", [] {}); }), "");
}

TEST_F(CellTest, OneWrongByteIsNamed) {
  const auto spoil = [&] {
    pack();
    cell_.packed()[100] ^= std::byte{1};
  };
  EXPECT_EQ(complaint([&] { cell_.verify_pack("spoiler", spoil); }),
            "rows-16/256: spoiler pack: byte 100 is wrong");
}

TEST_F(CellTest, ABytePastTheEndIsWrong) {
  const auto spill = [&] {
    pack();
    cell_.packed()[kPayload] ^= std::byte{1};
  };
  EXPECT_EQ(complaint([&] { cell_.verify_pack("spiller", spill); }),
            "rows-16/256: spiller pack: byte 256 is wrong");
}

TEST_F(CellTest, AByteBeforeTheFirstIsWrong) {
  const auto spill = [&] {
    pack();
    cell_.packed()[-1] ^= std::byte{1};
  };
  EXPECT_EQ(complaint([&] { cell_.verify_pack("spiller", spill); }),
            "rows-16/256: spiller pack: byte -1 is wrong");
}

TEST_F(CellTest, AGapThatWasTouchedIsWrong) {
  const auto touch = [&] {
    unpack();
    user()[20] ^= std::byte{1};
  };
  EXPECT_EQ(complaint([&] { cell_.verify_unpack("toucher", touch); }),
            "rows-16/256: toucher unpack: byte 20 is wrong");
}

TEST(CellWithNegativePlaces, BufferIsItsFirstElement) {
  const Cell cell(kind("backwards"), kPayload);
  const auto& layout = cell.layout();
  const auto pack = [&] { layout.loop.pack(cell.packed(), cell.user(), layout.arguments); };
  EXPECT_EQ(complaint([&] { cell.verify_pack("loop", pack); }), "");
  EXPECT_EQ(std::memcmp(cell.packed(), cell.user(), 16), 0);
}

TEST(MemoryTest, IsZeroAndAligned) {
  const Memory memory(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % (2 << 20), 0u);
  for (int i = 0; i < memory.size(); ++i) EXPECT_EQ(memory.data()[i], std::byte{0});
}

}  // namespace
}  // namespace micro
