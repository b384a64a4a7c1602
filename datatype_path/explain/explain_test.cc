#include "datatype_path/explain/explain.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"

namespace mad {
namespace {

constexpr std::size_t kMostText = 64 * 1024;

TypeDescPtr basic(BasicType type) { return TypeDesc::basic(type).value(); }

// The same on every machine.
std::shared_ptr<const BlockProgram> compile(const TypeDescPtr& type) {
  return BlockProgram::compile(*type, portable_kernels()).value();
}

// struct { double a; int b[2]; char c; }, padded to 32 bytes.
TypeDescPtr particle() {
  return TypeDesc::resized(0, 32,
                           TypeDesc::structure({1, 2, 1}, {0, 8, 24},
                                               {basic(BasicType::kDouble), basic(BasicType::kInt),
                                                basic(BasicType::kChar)})
                               .value())
      .value();
}

std::string without_memory(std::string text) {
  const std::size_t until = text.find(" bytes of memory"), from = text.rfind(' ', until - 1) + 1;
  return text.erase(from, until - from);
}

TEST(Explain, tells_tree_program_and_shape) {
  const TypeDescPtr rows = TypeDesc::vector(1000, 1, 4096, particle()).value();
  EXPECT_EQ(without_memory(explain(*rows, *compile(rows))),
            R"(description
  #1 vector, 1000 blocks of 1, 4096 bytes apart: 17000 bytes, extent [0, 4091936), true [0, 4091929)
    #2 resized: 17 bytes, extent [0, 32), true [0, 25)
      #3 struct of 3 blocks: 17 bytes, extent [0, 25)
        at 0: double
        at 8: 2 x int
        at 24: char
program: 2 loops, 2 deep, bounds [0, 4091936), true [0, 4091929),  bytes of memory, portable kernels
  element: 1 x 17000 B, of [0: loop 1], part by part
  loop 1: 1000 x 17 B, 4096 apart, of [0: 16 B, 24: 1 B], in 1 step
shape
  17000 bytes in 2000 runs of 1 to 16 bytes, 8 on average, extent 4091936
  of 1 byte: 1000 runs
  of 16 .. 31 bytes: 1000 runs
)");
}

TEST(Explain, tells_how_loops_are_copied) {
  const TypeDescPtr column = TypeDesc::vector(100, 1, 1024, particle()).value();
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  for (int i = 0; i < 200; ++i) {
    lengths.push_back(static_cast<std::uint64_t>(1 + i * i % 7));
    places.push_back(std::int64_t{1000} * i);
  }
  const TypeDescPtr list = TypeDesc::indexed(lengths, places, basic(BasicType::kDouble)).value();
  const TypeDescPtr matrix =
      TypeDesc::contiguous(20, TypeDesc::resized(0, 32, column).value()).value();
  const TypeDescPtr all = TypeDesc::structure({1, 1}, {0, 1 << 20}, {matrix, list}).value();
  const std::string text = compile(all)->to_string();
  for (const char* part :
       {"element: 1 x 38792 B, of [0: loop", "], part by part\n",
        "20 x 1700 B, 32 apart, of [0: loop", "], in tiles of 2 trips by 64 rows, unpacked by 32\n",
        "], in 3 chunks of 64 runs\n",
        "100 x 17 B, 1024 apart, of [0: 16 B, 24: 1 B], in 1 step\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Explain, names_shared_nodes_once) {
  const TypeDescPtr one = particle();
  const TypeDescPtr two = TypeDesc::structure({1, 3}, {0, 100}, {one, one}).value();
  EXPECT_EQ(explain(*two), R"(description
  #1 struct of 2 blocks: 68 bytes, extent [0, 196), true [0, 189)
    at 0: #2 resized: 17 bytes, extent [0, 32), true [0, 25)
      #3 struct of 3 blocks: 17 bytes, extent [0, 25)
        at 0: double
        at 8: 2 x int
        at 24: char
    at 100: 3 x #2 again
)");
}

TEST(Explain, cuts_lists) {
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  for (int i = 0; i < 100'000; ++i) {
    lengths.push_back(static_cast<std::uint64_t>(1 + i % 3 * i % 5));
    places.push_back(std::int64_t{i} * i * 10);
  }
  const TypeDescPtr type = TypeDesc::indexed(lengths, places, basic(BasicType::kChar)).value();
  const std::string text = explain(*type, *compile(type));
  EXPECT_LT(text.size(), 1500u);
  EXPECT_NE(text.find("at [0, 10, 40, 90, 160, 250, 360, 490, ... 100000 in all]"),
            std::string::npos)
      << text;
  const TypeDescPtr fields =
      TypeDesc::structure(std::vector<std::uint64_t>(50, 1), std::vector<std::int64_t>(50, 0),
                          std::vector<TypeDescPtr>(50, basic(BasicType::kChar)))
          .value();
  EXPECT_NE(explain(*fields).find("\n    ... 50 blocks in all\n"), std::string::npos);
}

TEST(Explain, cuts_deep_wide_and_long) {
  TypeDescPtr deep = basic(BasicType::kInt), wide = deep, nest = deep;
  for (int level = 0; level < 20'000; ++level) {
    deep = TypeDesc::structure({1, 1}, {0, 8}, {basic(BasicType::kInt), deep}).value();
  }
  // Eight different children each, far too many to show.
  std::vector<TypeDescPtr> level(4096, basic(BasicType::kInt));
  while (level.size() > 1) {
    std::vector<TypeDescPtr> above;
    for (std::size_t i = 0; i < level.size(); i += 8) {
      std::vector<std::int64_t> places;
      for (std::int64_t k = 0; k < 8; ++k) places.push_back(k * k * 100'000 + INT32_MAX);
      above.push_back(TypeDesc::structure(std::vector<std::uint64_t>(8, 1), places,
                                          {level.begin() + static_cast<std::ptrdiff_t>(i),
                                           level.begin() + static_cast<std::ptrdiff_t>(i) + 8})
                          .value());
    }
    level = std::move(above);
  }
  for (const TypeDescPtr& type : {deep, level[0]}) {
    const std::string text = explain(*type, *compile(type));
    EXPECT_LT(text.size(), kMostText);
    EXPECT_NE(text.find("...\n"), std::string::npos);
  }
  const std::string text = explain(*deep, *compile(deep));
  EXPECT_NE(text.find("loops in all\n"), std::string::npos);
}

TEST(Explain, nothing_and_one_run) {
  const TypeDescPtr none = TypeDesc::contiguous(0, basic(BasicType::kInt)).value();
  EXPECT_EQ(without_memory(explain(*none, *compile(none))), R"(description
  #1 contiguous, 0: 0 bytes, extent [0, 0)
    int
program: 0 loops, 0 deep, bounds [0, 0), true [0, 0),  bytes of memory, portable kernels
shape
  0 bytes in 0 runs, extent 0, contiguous
)");
  const TypeDescPtr run = TypeDesc::bytes(1).value();
  EXPECT_EQ(without_memory(explain(*run, *compile(run))), R"(description
  byte
program: 1 loop, 1 deep, bounds [0, 1), true [0, 1),  bytes of memory, portable kernels
  element: 1 x 1 B, of [0: 1 B], in 1 step
shape
  1 byte in 1 run, extent 1, contiguous
  of 1 byte: 1 run
)");
}

TEST(Explain, any_type_in_bounded_text) {
  test::RandomTypes random(test::seed_from_environment(51));
  for (int n = 0; n < 500; ++n) {
    const test::RandomType made = random.next();
    const std::string text = explain(*made.type, *compile(made.type));
    ASSERT_LT(text.size(), kMostText) << made.text;
    ASSERT_EQ(text.back(), '\n');
    ASSERT_EQ(text.find("\n\n"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace mad
