#include "madlike/checksum/crc32c.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/bytes.h"
#include "tests/support/random_type.h"

namespace mad {
namespace {

// Bit by bit, from the definition: initial and final inversion, least bit first.
std::uint32_t by_definition(const std::byte* bytes, std::size_t size) {
  std::uint32_t crc = 0xffffffff;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= static_cast<std::uint32_t>(bytes[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

TEST(Crc32c, of_known_bytes) {
  EXPECT_EQ(crc32c(0, nullptr, 0), 0u);
  EXPECT_EQ(crc32c(0, "123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c(0, "a", 1), 0xc1d04330u);
  // RFC 3720, B.4.
  std::vector<std::uint8_t> bytes(32, 0);
  EXPECT_EQ(crc32c(0, bytes.data(), 32), 0x8a9136aau);
  bytes.assign(32, 0xff);
  EXPECT_EQ(crc32c(0, bytes.data(), 32), 0x62a8ab43u);
  for (std::uint8_t i = 0; i < 32; ++i) bytes[i] = i;
  EXPECT_EQ(crc32c(0, bytes.data(), 32), 0x46dd794eu);
  for (std::uint8_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::uint8_t>(31 - i);
  EXPECT_EQ(crc32c(0, bytes.data(), 32), 0x113fdb5cu);
}

TEST(Crc32c, of_any_length_and_alignment) {
  const Bytes bytes = pattern(9000);
  for (std::size_t start = 0; start < 17; ++start) {
    for (std::size_t size = 0; size < 300; ++size) {
      ASSERT_EQ(crc32c(0, bytes.data() + start, size), by_definition(bytes.data() + start, size))
          << start << " " << size;
    }
    for (const std::size_t size : {1023u, 1024u, 1025u, 3071u, 3072u, 3073u, 8192u, 8193u}) {
      ASSERT_EQ(crc32c(0, bytes.data() + start, size), by_definition(bytes.data() + start, size))
          << start << " " << size;
    }
  }
}

TEST(Crc32c, goes_on) {
  test::RandomTypes random(test::seed_from_environment(31));
  const Bytes bytes = pattern(5000);
  for (int n = 0; n < 200; ++n) {
    std::uint32_t crc = 0;
    std::size_t at = 0;
    while (at < bytes.size()) {
      const auto size = static_cast<std::size_t>(random.between(
          0, static_cast<std::int64_t>(std::min<std::size_t>(999, bytes.size() - at))));
      crc = crc32c(crc, bytes.data() + at, size);
      at += size;
    }
    ASSERT_EQ(crc, by_definition(bytes.data(), bytes.size()));
  }
}

TEST(Crc32c, sees_every_flipped_bit) {
  Bytes bytes = pattern(100);
  const std::uint32_t right = crc32c(0, bytes.data(), bytes.size());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto mask = static_cast<std::byte>(1 << bit % 8);
    bytes[bit / 8] ^= mask;
    ASSERT_NE(crc32c(0, bytes.data(), bytes.size()), right);
    bytes[bit / 8] ^= mask;
  }
}

TEST(CombineCrc32c, is_the_crc_of_both) {
  const Bytes bytes = pattern(3000);
  for (std::size_t split = 0; split <= bytes.size(); split += 7) {
    const std::uint32_t a = crc32c(0, bytes.data(), split);
    const std::uint32_t b = crc32c(0, bytes.data() + split, bytes.size() - split);
    ASSERT_EQ(combine_crc32c(a, b, bytes.size() - split), crc32c(0, bytes.data(), bytes.size()));
  }
}

TEST(CombineCrc32c, joins_fragments_in_any_order) {
  test::RandomTypes random(test::seed_from_environment(32));
  const Bytes bytes = pattern(10'000, 5);
  struct Fragment {
    std::uint32_t crc;
    std::uint64_t size;
  };
  std::vector<Fragment> fragments;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto size = static_cast<std::size_t>(random.between(
        0, static_cast<std::int64_t>(std::min<std::size_t>(400, bytes.size() - at))));
    fragments.push_back({crc32c(0, bytes.data() + at, size), size});
    at += size;
  }
  // Neighbours joined in a random order, until one is left.
  while (fragments.size() > 1) {
    const auto i = static_cast<std::size_t>(
        random.between(0, static_cast<std::int64_t>(fragments.size()) - 2));
    const Fragment& next = fragments[i + 1];
    fragments[i].crc = combine_crc32c(fragments[i].crc, next.crc, next.size);
    fragments[i].size += next.size;
    fragments.erase(fragments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  EXPECT_EQ(fragments[0].crc, crc32c(0, bytes.data(), bytes.size()));
}

TEST(CombineCrc32c, of_lengths_beyond_memory) {
  // Both ways to put three pieces together agree, with lengths that nobody holds.
  const std::uint64_t lengths[] = {1, 255, std::uint64_t{1} << 31, (std::uint64_t{1} << 40) + 12345,
                                   std::uint64_t{1} << 62};
  const std::uint32_t a = 0x12345678, b = 0x9abcdef0, c = 0x0fedcba9;
  for (const std::uint64_t bytes_of_b : lengths) {
    for (const std::uint64_t bytes_of_c : lengths) {
      const std::uint32_t left = combine_crc32c(combine_crc32c(a, b, bytes_of_b), c, bytes_of_c);
      const std::uint32_t right =
          combine_crc32c(a, combine_crc32c(b, c, bytes_of_c), bytes_of_b + bytes_of_c);
      ASSERT_EQ(left, right);
    }
  }
  // Zeros, doubled 33 times: 2^33 of them.
  const std::byte zero{0};
  std::uint32_t zeros = crc32c(0, &zero, 1), all = zeros;
  for (int k = 0; k < 33; ++k) {
    all = combine_crc32c(all, all, std::uint64_t{1} << k);
  }
  EXPECT_EQ(combine_crc32c(all, zeros, 1), combine_crc32c(zeros, all, std::uint64_t{1} << 33));
}

}  // namespace
}  // namespace mad
