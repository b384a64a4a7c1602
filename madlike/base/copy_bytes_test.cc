#include "madlike/base/copy_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "madlike/base/copy_long.h"

namespace mad {
namespace {

constexpr std::size_t kMost = 5000;
constexpr std::size_t kPast = 8192;
constexpr std::byte kUntouched{0xA5};

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    all[i] = static_cast<std::byte>((i * 0x9E3779B1U) >> 13);
  }
  return all;
}

// Copies `bytes` from and to every kind of address and looks at each byte, and at those around.
template <typename Copy>
void copies(const Copy& copy, std::size_t bytes) {
  const std::vector<std::byte> source = numbered(bytes + 64);
  for (const std::size_t from : {0, 1, 8, 31, 32, 40}) {
    for (std::size_t to = 0; to < 64; to += 7) {
      std::vector<std::byte> place(bytes + 2 * 64, kUntouched);
      copy(place.data() + to, source.data() + from, bytes);
      for (std::size_t i = 0; i < place.size(); ++i) {
        const bool inside = i >= to && i - to < bytes;
        ASSERT_EQ(place[i], inside ? source[from + i - to] : kUntouched)
            << bytes << " bytes from " << from << " to " << to << ", byte " << i;
      }
    }
  }
}

TEST(CopyBytes, CopiesAllLengths) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{31}, kLongCopy - 1,
                                  kLongCopy, kLongCopy + 1, kMost, kPast, kPast + 63}) {
    copies(copy_bytes, bytes);
  }
}

// Beyond some length it is the C library that copies.
TEST(CopyBytes, CopiesWhatIsLongerThanCaches) {
  constexpr std::size_t kCaches = std::size_t{4} << 20;
  for (const std::size_t bytes : {kCaches, kCaches + 1}) {
    const std::vector<std::byte> source = numbered(bytes + 8);
    std::vector<std::byte> place(bytes + 24, kUntouched);
    copy_bytes(place.data() + 9, source.data() + 8, bytes);
    EXPECT_TRUE(std::equal(place.begin() + 9, place.end() - 15, source.begin() + 8));
    EXPECT_EQ(place[8], kUntouched);
    EXPECT_EQ(place[bytes + 9], kUntouched);
  }
}

// Every distance in the page up to a few lines, and others.
TEST(CopyBytes, CopiesToEveryPlaceOfAPage) {
  constexpr std::size_t kPage = 4096, kBytes = 3 * kPage;
  std::vector<std::byte> source = numbered(kBytes + 2 * kPage);
  std::vector<std::byte> place(kBytes + 3 * kPage);
  const auto page = [](std::byte* memory) {
    return memory + (kPage - reinterpret_cast<std::uintptr_t>(memory) % kPage);
  };
  const std::byte* const from = page(source.data()) + 8;
  for (std::size_t ahead = 0; ahead < kPage; ahead += ahead < 300 ? 1 : 61) {
    std::fill(place.begin(), place.end(), kUntouched);
    std::byte* const to = page(place.data()) + 8 + ahead;
    copy_bytes(to, from, kBytes);
    ASSERT_TRUE(std::equal(to, to + kBytes, from)) << ahead;
    ASSERT_EQ(to[-1], kUntouched) << ahead;
    ASSERT_EQ(to[kBytes], kUntouched) << ahead;
  }
}

TEST(CopyBytes, NothingNeedsNoMemory) { copy_bytes(nullptr, nullptr, 0); }

// Not only where it is chosen.
TEST(CopyBytes, VectorsCopyAllLengths) {
  if (copy_avx2() == nullptr) GTEST_SKIP() << "no AVX2 here";
  for (std::size_t bytes = 32; bytes < 300; ++bytes) copies(*copy_avx2(), bytes);
  copies(*copy_avx2(), kMost);
}

}  // namespace
}  // namespace mad
