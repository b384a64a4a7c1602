#include "datatype_path/signature/type_signature.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"
#include "tests/support/typed_map.h"

namespace mad {
namespace {

using test::expand_typed;
using test::RandomType;
using test::RandomTypeOptions;
using test::RandomTypes;
using test::seed_from_environment;
using test::TypedMap;

std::shared_ptr<const TypeSignature> build(const TypeDescPtr& type) {
  return TypeSignature::build(TypedProgram::build(type).value()).value();
}

TypeDescPtr basic(BasicType type) { return TypeDesc::basic(type).value(); }

RandomTypeOptions typed() {
  RandomTypeOptions options;
  options.typed = true;
  options.max_bytes = 512;
  return options;
}

TEST(TypeSignature, of_random_types_and_all_their_prefixes_is_the_sequences) {
  RandomTypes random(seed_from_environment(94));
  for (int n = 0; n < 2000; ++n) {
    const RandomType made = random.next(typed());
    SCOPED_TRACE(made.text);
    const auto count = static_cast<std::uint64_t>(random.between(0, 3));
    const auto signature = build(made.type);
    Signature literal;
    for (const test::TypedEntry& entry : expand_typed(*made.type, count)) {
      ASSERT_EQ(signature->prefix(literal.elements), literal) << literal.elements;
      literal = compose(literal, signature_of(entry.type));
    }
    ASSERT_EQ(signature->prefix(literal.elements), literal);
    ASSERT_EQ(signature->of(count), literal);
    const TypedMap one = expand_typed(*made.type, 1);
    if (!one.empty()) {
      ASSERT_EQ(signature->first(), one.front().type);
    }
  }
}

// One of many descriptions of map[first, last).
TypeDescPtr describe(const TypedMap& map, std::size_t first, std::size_t last,
                     RandomTypes& random) {
  if (last - first == 1) return basic(map[first].type);
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  std::vector<TypeDescPtr> children;
  while (first < last) {
    std::size_t alike = first + 1;
    while (alike < last && map[alike].type == map[first].type) ++alike;
    std::size_t end = alike;
    if (alike - first > 1 && random.between(0, 1) == 0) {
      lengths.push_back(alike - first);
      children.push_back(basic(map[first].type));
    } else if (alike - first > 1 && random.between(0, 1) == 0) {
      lengths.push_back(1);
      children.push_back(
          TypeDesc::vector(alike - first, 1, random.between(-40, 40), basic(map[first].type))
              .value());
    } else {
      const auto most = static_cast<std::int64_t>(last - first);
      end = first + static_cast<std::size_t>(random.between(1, most));
      if (end == last && children.empty()) --end;
      lengths.push_back(1);
      children.push_back(describe(map, first, end, random));
    }
    places.push_back(random.between(-1000, 1000));
    first = end;
  }
  return TypeDesc::structure(lengths, places, children).value();
}

TEST(TypeSignature, does_not_depend_on_layout_or_factoring) {
  RandomTypes random(seed_from_environment(95));
  for (int n = 0; n < 1000; ++n) {
    const RandomType made = random.next(typed());
    const auto count = static_cast<std::uint64_t>(random.between(1, 3));
    const TypedMap map = expand_typed(*made.type, count);
    if (map.empty()) continue;
    const Signature signature = build(made.type)->of(count);
    const TypeDescPtr other = describe(map, 0, map.size(), random);
    ASSERT_EQ(build(other)->one(), signature) << made.text;
    ASSERT_EQ(build(TypeDesc::contiguous(count, made.type).value())->one(), signature);
    // The same elements in another order are another sequence, if they differ at all.
    TypedMap swapped = map;
    std::swap(swapped.front(), swapped.back());
    if (swapped.front().type == swapped.back().type) continue;
    if (signature.hash == Signature::kMatchesAll) continue;
    ASSERT_NE(build(describe(swapped, 0, swapped.size(), random))->one(), signature);
  }
}

TEST(TypeSignature, of_more_elements_than_can_be_written_out) {
  const TypeDescPtr pair =
      TypeDesc::structure({1, 1}, {0, 8}, {basic(BasicType::kInt), basic(BasicType::kDouble)})
          .value();
  const auto small = build(pair);
  constexpr std::uint64_t kMany = std::uint64_t{1} << 29;
  const auto large =
      build(TypeDesc::contiguous(kMany, TypeDesc::contiguous(kMany, pair).value()).value());
  EXPECT_EQ(large->one(), small->of(kMany * kMany));
  EXPECT_EQ(large->prefix(kMany * kMany + 1), small->prefix(kMany * kMany + 1));
  EXPECT_NE(large->prefix(kMany * kMany + 1).hash, large->prefix(kMany * kMany).hash);
}

TEST(TypeSignature, of_many_levels) {
  TypeDescPtr type = basic(BasicType::kInt);
  Signature literal = signature_of(BasicType::kInt);
  constexpr std::uint64_t kLevels = 50000;
  for (std::uint64_t level = 0; level < kLevels; ++level) {
    type = TypeDesc::structure({1, 1}, {0, 8}, {basic(BasicType::kChar), type}).value();
    literal = compose(signature_of(BasicType::kChar), literal);
  }
  const auto signature = build(type);
  EXPECT_EQ(signature->one(), literal);
  EXPECT_EQ(signature->prefix(kLevels), power(signature_of(BasicType::kChar), kLevels));
}

TEST(TypeSignature, a_prefix_before_packed_bytes_is_compared) {
  const auto signature =
      build(TypeDesc::structure({2, 3}, {0, 8}, {basic(BasicType::kInt), basic(BasicType::kPacked)})
                .value());
  EXPECT_EQ(signature->prefix(2), power(signature_of(BasicType::kInt), 2));
  EXPECT_EQ(signature->prefix(3).hash, Signature::kMatchesAll);
  EXPECT_EQ(signature->of(4), (Signature{Signature::kMatchesAll, 20}));
}

}  // namespace
}  // namespace mad
