#include "datatype_path/convert/packing_converter.h"

#include <cstdint>
#include <string>
#include <vector>

#include "datatype_path/convert/unpacking_converter.h"
#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/support/foreign_sample.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

using test::ForeignSample;
using test::RandomTypes;
using test::seed_from_environment;

constexpr auto kPack = ForeignSample::Direction::kPack;

TEST(PackingConverter, random_data_for_all_machines_in_random_pieces) {
  RandomTypes random(seed_from_environment(106));
  for (int n = 0; n < 250; ++n) {
    for (const test::Machine& machine : test::machines()) {
      ForeignSample sample(kPack, machine, false, random);
      SCOPED_TRACE(sample.text());
      PackingConverter converter(sample.plan, sample.memory.base(), sample.count);
      ASSERT_EQ(converter.total(), sample.stream.size());
      test::Digits stream(sample.stream.size(), std::byte{0x5a});
      const auto longest = static_cast<std::size_t>(
          random.between(0, 2) == 0 ? random.between(1, 8) : random.between(16, 2000));
      for (const auto& [at, size] : test::fragments(stream.size(), longest, random)) {
        const std::size_t before = test::allocations().count;
        const Status status = converter.pack(at, stream.data() + at, size);
        ASSERT_EQ(test::allocations().count, before);
        ASSERT_TRUE(status.ok()) << status.message();
      }
      ASSERT_EQ(stream, sample.stream);
    }
  }
}

TEST(PackingConverter, there_and_back) {
  // Where the other side is as wide, data come back as they were.
  const Architecture here = Architecture::local();
  const test::Machine wide{"wide, big endian", here.with(ByteOrder::kBig)
                                                   .with_size(BasicType::kShort, 8)
                                                   .with_size(BasicType::kInt, 8)
                                                   .with_size(BasicType::kReal, 16)
                                                   .with_long_double(RealFormat::kBinary128, 16)};
  RandomTypes random(seed_from_environment(107));
  for (int n = 0; n < 1000; ++n) {
    ForeignSample sample(kPack, wide, false, random);
    SCOPED_TRACE(sample.text());
    PackingConverter there(sample.plan, sample.memory.base(), sample.count);
    test::Digits stream(there.total());
    ASSERT_TRUE(there.pack(0, stream.data(), stream.size()).ok());
    test::Arena memory(test::expand(*sample.made.type, sample.count), std::byte{0xa5});
    UnpackingConverter back(sample.plan, memory.base(), sample.count);
    ASSERT_TRUE(back.unpack(0, stream.data(), stream.size()).ok());
    ASSERT_EQ(memory.bytes(), sample.memory.bytes());
  }
}

TEST(PackingConverter, what_does_not_fit_is_named_and_zero) {
  RandomTypes random(seed_from_environment(108));
  int with_misfits = 0;
  for (int n = 0; n < 2000; ++n) {
    ForeignSample sample(kPack, {"external32", Architecture::external32()}, true, random);
    SCOPED_TRACE(sample.text());
    PackingConverter converter(sample.plan, sample.memory.base(), sample.count);
    test::Digits stream(sample.stream.size(), std::byte{0x5a});
    const Status status = converter.pack(0, stream.data(), stream.size());
    ASSERT_EQ(status.ok(), sample.unfit.empty()) << status.message();
    ASSERT_EQ(stream, sample.stream);
    if (status.ok()) continue;
    ++with_misfits;
    const std::uint64_t first = sample.unfit.front();
    EXPECT_EQ(status.code(), StatusCode::kUnrepresentable);
    EXPECT_NE(std::string(status.message()).find("element " + std::to_string(first) + " "),
              std::string::npos)
        << status.message();
    // A piece says it of its own elements only, a part of one too.
    std::byte piece{};
    EXPECT_FALSE(converter.pack(sample.starts[first] + 1, &piece, 1).ok());
    if (first > 0) {
      EXPECT_TRUE(converter.pack(sample.starts[first] - 1, &piece, 1).ok());
    }
  }
  EXPECT_GT(with_misfits, 30);
}

TEST(PackingConverter, bytes_beyond_the_data_are_refused) {
  const std::vector<std::int32_t> memory{1, 2};
  const auto plan =
      ConversionPlan::make(TypedProgram::build(TypeDesc::basic(BasicType::kInt).value()).value(),
                           Architecture::external32())
          .value();
  PackingConverter converter(plan, memory.data(), 2);
  std::vector<std::byte> out(16, std::byte{9});
  EXPECT_EQ(converter.pack(0, out.data(), 9).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(converter.pack(9, out.data(), 0).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(out, std::vector<std::byte>(16, std::byte{9}));
  EXPECT_TRUE(converter.pack(8, out.data(), 0).ok());
  EXPECT_TRUE(converter.pack(4, out.data(), 4).ok());
  EXPECT_EQ(out[3], std::byte{2});
}

}  // namespace
}  // namespace mad
