#include "datatype_path/typed/byte_index.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"
#include "tests/support/typed_map.h"

namespace mad {
namespace {

using test::RandomTypeOptions;
using test::RandomTypes;
using test::seed_from_environment;

BasicSizes random_sizes(RandomTypes& random) {
  BasicSizes sizes{};
  for (std::uint8_t& size : sizes) size = static_cast<std::uint8_t>(random.between(1, 32));
  return sizes;
}

TEST(ByteIndex, finds_every_byte_of_random_types_for_random_sizes) {
  RandomTypes random(seed_from_environment(82));
  RandomTypeOptions options;
  options.typed = true;
  options.max_bytes = 512;
  for (int n = 0; n < 2000; ++n) {
    const test::RandomType made = random.next(options);
    SCOPED_TRACE(made.text);
    const BasicSizes sizes = random_sizes(random);
    const ByteIndex index = ByteIndex::build(TypedProgram::build(made.type).value(), sizes).value();
    const test::TypedMap map = test::expand_typed(*made.type, 2);
    std::uint64_t offset = 0;
    for (std::size_t element = 0; element < map.size(); ++element) {
      const std::uint64_t size = index.size_of(map[element].type);
      ASSERT_EQ(index.start(element), offset);
      for (std::uint64_t byte = 0; byte < size; ++byte, ++offset) {
        const ByteIndex::Place place = index.find(offset);
        ASSERT_EQ(place.element, element);
        ASSERT_EQ(place.byte, byte);
      }
    }
    ASSERT_EQ(offset, 2 * index.bytes());
    if (!map.empty()) {
      ASSERT_EQ(index.start(map.size()), offset);
    }
  }
}

TEST(ByteIndex, refuses_what_does_not_fit) {
  BasicSizes sizes{};
  sizes.fill(16);
  const TypeDescPtr type =
      TypeDesc::contiguous(std::uint64_t{1} << 60, TypeDesc::basic(BasicType::kInt).value())
          .value();
  const auto program = TypedProgram::build(type).value();
  const auto index = ByteIndex::build(program, sizes);
  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.status().code(), StatusCode::kInvalidArgument);
  sizes.fill(1);
  EXPECT_EQ(ByteIndex::build(program, sizes).value().bytes(), std::uint64_t{1} << 60);
}

}  // namespace
}  // namespace mad
