#include "datatype_path/signature/signature.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"

namespace mad {
namespace {

using test::RandomTypes;
using test::seed_from_environment;
using Sequence = std::vector<BasicType>;

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

// The definition, element after element.
Signature literal(const Sequence& sequence) {
  Signature out;
  for (const BasicType type : sequence) out = compose(out, signature_of(type));
  return out;
}

Sequence random_sequence(RandomTypes& random, std::int64_t longest) {
  Sequence out(static_cast<std::size_t>(random.between(0, longest)));
  for (BasicType& type : out) {
    do {
      type = static_cast<BasicType>(random.between(0, kBasicTypes - 1));
    } while (type == BasicType::kPacked);
  }
  return out;
}

Sequence joined(Sequence a, const Sequence& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Signature, has_the_documented_values) {
  // Computed from the definition by another program.
  EXPECT_EQ(literal({BasicType::kInt}).hash, 0x1ee5789041c98ac6u);
  EXPECT_EQ(literal({BasicType::kInt, BasicType::kDouble, BasicType::kDouble}).hash,
            0xcafba29522beec0u);
  EXPECT_EQ(power(signature_of(BasicType::kByte), 1000).hash, 0x219f1c6817ae99u);
  Sequence all;
  for (std::size_t i = 2; i < 54; ++i) all.push_back(static_cast<BasicType>(i));
  EXPECT_EQ(literal(all).hash, 0x69af2147a452d2bu);
  EXPECT_EQ(literal({}), Signature());
}

TEST(Signature, composes) {
  RandomTypes random(seed_from_environment(91));
  for (int n = 0; n < 3000; ++n) {
    const Sequence a = random_sequence(random, 40), b = random_sequence(random, 40),
                   c = random_sequence(random, 40);
    const Signature ha = literal(a), hb = literal(b), hc = literal(c);
    ASSERT_LT(ha.hash, kPrime);
    ASSERT_EQ(ha.elements, a.size());
    ASSERT_EQ(compose(ha, hb), literal(joined(a, b)));
    ASSERT_EQ(compose(compose(ha, hb), hc), compose(ha, compose(hb, hc)));
    ASSERT_EQ(compose(ha, Signature()), ha);
    ASSERT_EQ(compose(Signature(), ha), ha);
  }
}

TEST(Signature, has_powers) {
  RandomTypes random(seed_from_environment(92));
  for (int n = 0; n < 1000; ++n) {
    const Sequence a = random_sequence(random, 8);
    const Signature ha = literal(a);
    Signature product;
    for (std::uint64_t times = 0; times < 20; ++times) {
      ASSERT_EQ(power(ha, times), product);
      product = compose(product, ha);
    }
    // Of numbers too large to write out: the laws of powers.
    const auto i = static_cast<std::uint64_t>(random.between(0, INT64_MAX / 16));
    const auto j = static_cast<std::uint64_t>(random.between(0, INT64_MAX / 16));
    const auto k = static_cast<std::uint64_t>(random.between(0, 1000000));
    ASSERT_EQ(compose(power(ha, i), power(ha, j)), power(ha, i + j));
    ASSERT_EQ(power(power(ha, k), k), power(ha, k * k));
  }
}

TEST(Signature, tells_small_sequences_apart) {
  // All of up to three elements, and powers and mixtures with long stretches.
  std::unordered_map<std::uint64_t, Sequence> seen;
  const auto add = [&seen](const Sequence& sequence) {
    const auto [it, fresh] = seen.emplace(literal(sequence).hash, sequence);
    ASSERT_TRUE(fresh || it->second == sequence);
  };
  std::vector<BasicType> kinds;
  for (std::size_t i = 0; i < kBasicTypes; ++i) {
    if (static_cast<BasicType>(i) != BasicType::kPacked) kinds.push_back(static_cast<BasicType>(i));
  }
  add({});
  for (const BasicType a : kinds) {
    add({a});
    for (std::size_t n = 2; n < 60; ++n) {
      Sequence many(n, a);
      if (n > 3) add(many);
      many.push_back(BasicType::kInt);
      add(many);
    }
    for (const BasicType b : kinds) {
      add({a, b});
      for (const BasicType c : kinds) add({a, b, c});
    }
  }
  RandomTypes random(seed_from_environment(93));
  for (int n = 0; n < 20000; ++n) add(random_sequence(random, 6));
  EXPECT_GT(seen.size(), 160000u);
}

TEST(Signature, packed_matches_everything_and_bytes_only_bytes) {
  const Signature packed = power(signature_of(BasicType::kPacked), 12);
  const Signature ints = power(signature_of(BasicType::kInt), 3);
  const Signature bytes = power(signature_of(BasicType::kByte), 12);
  EXPECT_TRUE(matches(packed, ints));
  EXPECT_TRUE(matches(ints, packed));
  EXPECT_TRUE(matches(bytes, packed));
  EXPECT_FALSE(matches(bytes, ints));
  EXPECT_TRUE(matches(ints, power(signature_of(BasicType::kInt), 3)));
  EXPECT_FALSE(matches(ints, power(signature_of(BasicType::kInt), 4)));
  EXPECT_FALSE(matches(ints, power(signature_of(BasicType::kInt32), 3)));
  EXPECT_EQ(compose(ints, packed).hash, Signature::kMatchesAll);
  EXPECT_EQ(compose(packed, ints).elements, 15u);
  EXPECT_EQ(power(packed, 2).hash, Signature::kMatchesAll);
  EXPECT_EQ(power(packed, 0), Signature());
}

}  // namespace
}  // namespace mad
