#include "datatype_path/convert/element_conversion.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/foreign_data.h"

namespace mad {
namespace {

using B = BasicType;
using test::Digits;

ElementRow row(const Digits& bytes, std::int64_t stride) {
  return {reinterpret_cast<std::uintptr_t>(bytes.data()), stride};
}

TEST(ElementConversion, every_kind_between_all_machines) {
  test::RandomTypes random(test::seed_from_environment(103));
  for (const test::Machine& from : test::machines()) {
    for (const test::Machine& to : test::machines()) {
      for (std::size_t i = 0; i < kBasicTypes; ++i) {
        const auto type = static_cast<BasicType>(i);
        const ElementConversion conversion(from.architecture, to.architecture, type);
        ASSERT_TRUE(conversion.possible());
        // Dense rows, and rows with gaps, the second of them backwards.
        for (const std::int64_t gap : {0, 3}) {
          const std::size_t each = from.architecture.size_of(type);
          const std::size_t result = to.architecture.size_of(type);
          const auto in_stride = static_cast<std::int64_t>(each) + gap;
          const auto out_stride = static_cast<std::int64_t>(result) + gap;
          constexpr std::uint64_t kCount = 20;
          Digits in(kCount * static_cast<std::size_t>(in_stride), std::byte{0x11});
          Digits wanted(kCount * static_cast<std::size_t>(out_stride), std::byte{0x22});
          Digits out = wanted;
          std::uint64_t misfit = kCount;
          for (std::uint64_t n = 0; n < kCount; ++n) {
            const auto value = test::random_value(type, from.architecture, 0, random);
            bool fits = true;
            const auto result_value =
                test::converted(value, type, from.architecture, to.architecture, &fits);
            if (!fits && misfit == kCount) misfit = n;
            const Digits a = test::bytes_of(value, type, from.architecture);
            const Digits b = test::bytes_of(result_value, type, to.architecture);
            const std::uint64_t place = gap == 0 ? n : kCount - 1 - n;
            std::copy(a.begin(), a.end(), in.begin() + static_cast<std::int64_t>(n) * in_stride);
            std::copy(b.begin(), b.end(),
                      wanted.begin() + static_cast<std::int64_t>(place) * out_stride);
          }
          ElementRow to_row = row(out, out_stride);
          if (gap != 0) {
            to_row.address += (kCount - 1) * static_cast<std::uint64_t>(out_stride);
            to_row.stride = -out_stride;
          }
          ASSERT_EQ(conversion.apply(row(in, in_stride), to_row, kCount), misfit)
              << info(type).name << " from " << from.name << " to " << to.name;
          ASSERT_EQ(out, wanted) << info(type).name << " from " << from.name << " to " << to.name;
        }
      }
    }
  }
}

TEST(ElementConversion, integers_at_the_borders_of_what_fits) {
  const Architecture here = Architecture::local(), there = Architecture::external32();
  const auto narrowed = [&](B type, std::int64_t value, std::uint64_t* misfit) {
    const Digits in = test::integer_bytes(value, 8, ByteOrder::kLittle);
    Digits out(4, std::byte{0xff});
    *misfit = ElementConversion(here, there, type).apply(row(in, 8), row(out, 4), 1);
    return out;
  };
  std::uint64_t misfit = 0;
  const auto big = [](std::int64_t value) {
    return test::integer_bytes(value, 4, ByteOrder::kBig);
  };
  for (const std::int64_t fits :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{INT32_MAX}, std::int64_t{INT32_MIN}}) {
    EXPECT_EQ(narrowed(B::kLong, fits, &misfit), big(fits));
    EXPECT_EQ(misfit, 1u);
  }
  for (const std::int64_t large :
       {std::int64_t{INT32_MAX} + 1, std::int64_t{INT32_MIN} - 1, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(narrowed(B::kLong, large, &misfit), big(0));
    EXPECT_EQ(misfit, 0u);
  }
  EXPECT_EQ(narrowed(B::kUnsignedLong, UINT32_MAX, &misfit), big(-1));
  EXPECT_EQ(misfit, 1u);
  EXPECT_EQ(narrowed(B::kUnsignedLong, std::int64_t{UINT32_MAX} + 1, &misfit), big(0));
  EXPECT_EQ(misfit, 0u);
  EXPECT_EQ(narrowed(B::kUnsignedLong, -1, &misfit), big(0));
  EXPECT_EQ(misfit, 0u);
}

TEST(ElementConversion, double_doubles_only_between_machines_alike) {
  const Architecture here = Architecture::local();
  const Architecture power = here.with_long_double(RealFormat::kDoubleDouble, 16);
  EXPECT_FALSE(ElementConversion(power, here, B::kLongDouble).possible());
  EXPECT_FALSE(ElementConversion(here, power, B::kLongDoubleComplex).possible());
  EXPECT_FALSE(ElementConversion(power, power.with(ByteOrder::kBig), B::kLongDouble).possible());
  EXPECT_TRUE(ElementConversion(power, power, B::kLongDouble).possible());
  EXPECT_TRUE(ElementConversion(power, here, B::kDouble).possible());
}

}  // namespace
}  // namespace mad
