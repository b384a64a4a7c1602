#include "datatype_path/convert/unpacking_converter.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/support/foreign_sample.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

using B = BasicType;
using test::ForeignSample;
using test::RandomTypes;
using test::seed_from_environment;

constexpr auto kUnpack = ForeignSample::Direction::kUnpack;

TypeDescPtr basic(B type) { return TypeDesc::basic(type).value(); }

std::shared_ptr<const ConversionPlan> plan(const TypeDescPtr& type, const Architecture& remote) {
  return ConversionPlan::make(TypedProgram::build(type).value(), remote).value();
}

test::Arena empty_memory(const ForeignSample& sample) {
  return test::Arena(test::expand(*sample.made.type, sample.count), std::byte{0xa5});
}

TEST(UnpackingConverter, random_data_of_all_machines_in_random_fragments) {
  RandomTypes random(seed_from_environment(104));
  for (int n = 0; n < 250; ++n) {
    for (const test::Machine& machine : test::machines()) {
      const ForeignSample sample(kUnpack, machine, false, random);
      SCOPED_TRACE(sample.text());
      test::Arena memory = empty_memory(sample);
      UnpackingConverter converter(sample.plan, memory.base(), sample.count);
      ASSERT_EQ(converter.total(), sample.stream.size());
      const auto longest = static_cast<std::size_t>(
          random.between(0, 2) == 0 ? random.between(1, 8) : random.between(16, 2000));
      for (const auto& [at, size] : test::fragments(sample.stream.size(), longest, random)) {
        const Status status = converter.unpack(at, sample.stream.data() + at, size);
        ASSERT_TRUE(status.ok()) << status.message();
      }
      ASSERT_EQ(converter.parted(), 0u);
      ASSERT_EQ(memory.bytes(), const_cast<ForeignSample&>(sample).memory.bytes());
    }
  }
}

TEST(UnpackingConverter, what_does_not_fit_is_named_and_zero) {
  RandomTypes random(seed_from_environment(105));
  int with_misfits = 0;
  for (int n = 0; n < 2000; ++n) {
    ForeignSample sample(kUnpack, test::machines().back(), true, random);
    SCOPED_TRACE(sample.text());
    test::Arena whole = empty_memory(sample), pieces = empty_memory(sample);
    UnpackingConverter converter(sample.plan, whole.base(), sample.count);
    const Status status = converter.unpack(0, sample.stream.data(), sample.stream.size());
    ASSERT_EQ(status.ok(), sample.unfit.empty()) << status.message();
    if (!status.ok()) {
      ++with_misfits;
      const std::string first = "element " + std::to_string(sample.unfit.front()) + " ";
      EXPECT_EQ(status.code(), StatusCode::kUnrepresentable);
      EXPECT_NE(std::string(status.message()).find(first), std::string::npos) << status.message();
    }
    ASSERT_EQ(whole.bytes(), sample.memory.bytes());
    std::size_t errors = 0;
    UnpackingConverter cut(sample.plan, pieces.base(), sample.count);
    for (const auto& [at, size] : test::fragments(sample.stream.size(), 5, random)) {
      errors += cut.unpack(at, sample.stream.data() + at, size).ok() ? 0 : 1;
    }
    ASSERT_LE(errors, sample.unfit.size());
    ASSERT_EQ(errors == 0, sample.unfit.empty());
    ASSERT_EQ(pieces.bytes(), sample.memory.bytes());
  }
  EXPECT_GT(with_misfits, 60);
}

TEST(UnpackingConverter, keeps_two_elements_a_gap) {
  const Architecture remote = Architecture::external32();
  std::vector<double> memory(1000);
  UnpackingConverter converter(plan(basic(B::kDouble), remote), memory.data(), memory.size());
  const std::vector<std::byte> bytes(8000, std::byte{0});
  // In order: never more than the one at the end.
  for (std::size_t at = 0; at < 4000; at += 50) {
    ASSERT_TRUE(converter.unpack(at, bytes.data() + at, 50).ok());
    ASSERT_LE(converter.parted(), 1u);
  }
  // Every second fragment: its two borders.
  std::size_t gaps = 0;
  for (std::size_t at = 4001; at + 50 < 8000; at += 100, ++gaps) {
    ASSERT_TRUE(converter.unpack(at, bytes.data() + at, 50).ok());
    ASSERT_LE(converter.parted(), 2 * (gaps + 1));
  }
}

TEST(UnpackingConverter, in_order_allocates_nothing) {
  std::vector<double> memory(1000);
  const auto reals = plan(basic(B::kDouble), Architecture::external32());
  const std::vector<std::byte> bytes(8000, std::byte{0});
  for (const std::size_t size : {1, 3, 8, 50, 8000}) {
    UnpackingConverter converter(reals, memory.data(), memory.size());
    const std::size_t before = test::allocations().count;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      ASSERT_TRUE(converter.unpack(at, bytes.data(), std::min(size, bytes.size() - at)).ok());
    }
    EXPECT_EQ(test::allocations().count, before) << size;
    EXPECT_EQ(converter.parted(), 0u);
  }
}

TEST(UnpackingConverter, allocates_for_elements_kept_at_once_and_not_for_the_data) {
  const auto reals = plan(basic(B::kDouble), Architecture::external32());
  for (const std::size_t fragments : {10, 100, 1000}) {
    std::vector<double> memory(fragments * 13);
    const std::vector<std::byte> bytes(memory.size() * 8, std::byte{0});
    const std::size_t size = 104;  // 13 elements
    const std::size_t before = test::allocations().bytes;
    UnpackingConverter converter(reals, memory.data(), memory.size());
    std::size_t most = 0;
    const auto every_second = [&](std::size_t first) {
      for (std::size_t i = first; i < fragments; i += 2) {
        const std::size_t at = i * size + 4;  // from the middle of an element
        const std::size_t left = std::min(size, bytes.size() - at);
        ASSERT_TRUE(converter.unpack(at, bytes.data(), left).ok());
        most = std::max(most, converter.parted());
      }
    };
    every_second(0);
    every_second(1);
    ASSERT_TRUE(converter.unpack(0, bytes.data(), 4).ok());
    EXPECT_EQ(converter.parted(), 0u);
    EXPECT_GE(most, fragments - 1);
    EXPECT_LE(most, fragments + 1);
    // Its share of all the tables there were until the last included, and what the converter has.
    EXPECT_LE(test::allocations().bytes - before, 64 * most + 40 * most + 1000);
    EXPECT_GE(test::allocations().bytes - before, 56 * most);
  }
}

TEST(UnpackingConverter, needs_memory_from_the_second_element_kept_on) {
  std::vector<double> memory(10);
  const std::vector<std::byte> bytes(80, std::byte{0});
  UnpackingConverter converter(plan(basic(B::kDouble), Architecture::external32()), memory.data(),
                               memory.size());
  test::fail_allocations_from(1);
  const Status first = converter.unpack(0, bytes.data(), 20);
  const Status second = converter.unpack(20, bytes.data(), 20);
  const Status gap = converter.unpack(60, bytes.data(), 4);
  const Status third = converter.unpack(52, bytes.data(), 2);
  test::fail_allocations_from(0);
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(second.ok());
  EXPECT_TRUE(gap.ok());
  EXPECT_EQ(third.code(), StatusCode::kNoMemory);
}

TEST(UnpackingConverter, a_single_element_byte_by_byte_from_its_end) {
  const Architecture remote =
      Architecture::local().with(ByteOrder::kBig).with_long_double(RealFormat::kBinary128, 16);
  long double memory[2] = {1, 1};
  UnpackingConverter converter(plan(basic(B::kLongDoubleComplex), remote), memory, 1);
  const auto real = test::real_bytes(-2.5, RealFormat::kBinary128, 16, ByteOrder::kBig);
  const auto imaginary = test::real_bytes(0.75, RealFormat::kBinary128, 16, ByteOrder::kBig);
  std::vector<std::byte> bytes = real;
  bytes.insert(bytes.end(), imaginary.begin(), imaginary.end());
  for (std::size_t at = bytes.size(); at-- > 0;) {
    EXPECT_EQ(memory[0], 1);
    ASSERT_TRUE(converter.unpack(at, &bytes[at], 1).ok());
  }
  EXPECT_EQ(memory[0], -2.5L);
  EXPECT_EQ(memory[1], 0.75L);
}

TEST(UnpackingConverter, bytes_beyond_the_data_are_refused) {
  std::vector<std::int32_t> memory(4, 7);
  UnpackingConverter converter(plan(basic(B::kInt), Architecture::external32()), memory.data(), 4);
  const std::vector<std::byte> bytes(32);
  EXPECT_EQ(converter.unpack(0, bytes.data(), 17).code(), StatusCode::kProtocol);
  EXPECT_EQ(converter.unpack(17, bytes.data(), 0).code(), StatusCode::kProtocol);
  EXPECT_EQ(converter.unpack(UINT64_MAX, bytes.data(), 2).code(), StatusCode::kProtocol);
  EXPECT_EQ(memory, std::vector<std::int32_t>(4, 7));
  EXPECT_TRUE(converter.unpack(16, bytes.data(), 0).ok());
  EXPECT_TRUE(converter.unpack(0, bytes.data(), 16).ok());
  EXPECT_EQ(memory, std::vector<std::int32_t>(4, 0));
}

TEST(UnpackingConverter, of_nothing) {
  UnpackingConverter none(plan(basic(B::kInt), Architecture::external32()), nullptr, 0);
  EXPECT_EQ(none.total(), 0u);
  EXPECT_TRUE(none.unpack(0, nullptr, 0).ok());
  UnpackingConverter empty(plan(TypeDesc::bytes(0).value(), Architecture::external32()), nullptr,
                           1000);
  EXPECT_EQ(empty.total(), 0u);
  EXPECT_TRUE(empty.unpack(0, nullptr, 0).ok());
}

}  // namespace
}  // namespace mad
