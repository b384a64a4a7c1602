#include "datatype_path/serial/program_bytes.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "datatype_path/serial/varint.h"
#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/support/random_type.h"

namespace mad {
namespace {

using Bytes = std::vector<std::byte>;
using ProgramPtr = std::shared_ptr<const BlockProgram>;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TypeDescPtr bytes(std::uint64_t size) { return TypeDesc::bytes(size).value(); }
ProgramPtr compile(const TypeDescPtr& type) { return BlockProgram::compile(*type).value(); }
ProgramPtr compile(Result<TypeDescPtr> type) { return compile(type.value()); }

Bytes form_of(const BlockProgram& program) {
  Bytes out(serialized_size(program) + 1, std::byte{0xee});
  const Result<std::size_t> written = serialize(program, out.data(), out.size() - 1);
  EXPECT_TRUE(written.ok());
  EXPECT_EQ(written.value(), out.size() - 1);
  EXPECT_EQ(out.back(), std::byte{0xee});
  out.pop_back();
  return out;
}

void expect_same_node(const LoopNode& a, const LoopNode& b) {
  ASSERT_EQ(a.count, b.count);
  ASSERT_EQ(a.stride, b.stride);
  ASSERT_EQ(a.body_bytes, b.body_bytes);
  ASSERT_EQ(a.parts, b.parts);
  ASSERT_EQ(a.uniform, b.uniform);
  ASSERT_EQ(a.min_run, b.min_run);
  ASSERT_EQ(a.max_run, b.max_run);
  ASSERT_EQ(a.height, b.height);
  ASSERT_EQ(a.leaf(), b.leaf());
  for (std::uint64_t p = 0; p < a.parts; ++p) {
    ASSERT_EQ(a.offset(p), b.offset(p));
    ASSERT_EQ(a.part_end(p), b.part_end(p));
    ASSERT_EQ(a.child(p), b.child(p));
  }
}

void expect_same(const BlockProgram& a, const BlockProgram& b) {
  ASSERT_TRUE(a.same_loops(b)) << a.to_string() << b.to_string();
  ASSERT_EQ(a.loops(), b.loops());
  for (std::uint32_t i = 0; i < a.loops(); ++i) expect_same_node(a.node(i), b.node(i));
  ASSERT_EQ(a.lb(), b.lb());
  ASSERT_EQ(a.true_lb(), b.true_lb());
  ASSERT_EQ(a.true_extent(), b.true_extent());
  ASSERT_EQ(a.shape().bytes, b.shape().bytes);
  ASSERT_EQ(a.shape().runs, b.shape().runs);
  ASSERT_EQ(a.shape().min_run, b.shape().min_run);
  ASSERT_EQ(a.shape().max_run, b.shape().max_run);
  ASSERT_EQ(a.shape().histogram, b.shape().histogram);
  ASSERT_EQ(a.shape().extent, b.shape().extent);
  ASSERT_EQ(a.shape().contiguous, b.shape().contiguous);
}

void expect_round_trip(const BlockProgram& program) {
  const Bytes form = form_of(program);
  const Result<ProgramPtr> back = deserialize(form.data(), form.size());
  ASSERT_TRUE(back.ok()) << back.status().message() << "\n" << program.to_string();
  expect_same(program, *back.value());
  ASSERT_EQ(form_of(*back.value()), form);
}

TEST(ProgramBytes, of_the_documents_example) {
  const ProgramPtr program = compile(
      TypeDesc::resized(0, 24, TypeDesc::structure({1, 1}, {0, 16}, {bytes(8), bytes(4)}).value()));
  Bytes expected;
  for (const int b : {0x4d, 0x42, 0x50, 0x01, 0x00, 0x30, 0x01, 0x02, 0x02, 0x00, 0x01, 0x30, 0x01,
                      0x02, 0x00, 0x00, 0x20, 0x08, 0x04}) {
    expected.push_back(static_cast<std::byte>(b));
  }
  EXPECT_EQ(form_of(*program), expected) << program->to_string();
}

TEST(ProgramBytes, come_back_as_the_same_program) {
  test::RandomTypes random(test::seed_from_environment(21));
  for (int n = 0; n < 2000; ++n) {
    const test::RandomType made = random.next();
    ASSERT_NO_FATAL_FAILURE(expect_round_trip(*compile(made.type))) << made.text;
  }
}

TEST(ProgramBytes, of_extreme_programs) {
  const std::uint64_t many = std::uint64_t{1} << 40;
  expect_round_trip(*compile(bytes(0)));
  expect_round_trip(*compile(TypeDesc::resized(-8, 100, bytes(0))));
  expect_round_trip(*compile(TypeDesc::resized(kMax, -kMax, bytes(1))));
  expect_round_trip(*compile(bytes(kMax)));
  expect_round_trip(*compile(TypeDesc::vector(many, 3, 4096, bytes(8))));
  expect_round_trip(*compile(TypeDesc::vector(many, 1, -4096, bytes(8))));
  expect_round_trip(*compile(TypeDesc::vector(many, 1, 0, bytes(8))));
  expect_round_trip(*compile(TypeDesc::indexed({1, 2, 1}, {kMax - 9, 5, kMax - 1}, bytes(1))));
  expect_round_trip(*compile(TypeDesc::indexed({1, 2}, {-kMax - 1, -9}, bytes(1))));
}

TEST(ProgramBytes, of_deep_and_shared_programs) {
  TypeDescPtr deep = bytes(4), doubling = bytes(4);
  for (int level = 0; level < 20'000; ++level) {
    deep = TypeDesc::structure({1, 1}, {0, 8}, {bytes(4), deep}).value();
  }
  for (int level = 0; level < 40; ++level) {
    const std::int64_t apart = doubling->true_extent() + 4 + level % 3;
    doubling = TypeDesc::structure({1, 1}, {0, apart}, {doubling, doubling}).value();
  }
  expect_round_trip(*compile(deep));
  expect_round_trip(*compile(doubling));
  EXPECT_LT(serialized_size(*compile(doubling)), 2000u);
}

TEST(ProgramBytes, are_few) {
  EXPECT_LE(serialized_size(*compile(bytes(8))), 20u);
  EXPECT_LE(serialized_size(*compile(TypeDesc::vector(1'000'000, 1, 64, bytes(8)))), 40u);
  test::RandomTypes random(5);
  constexpr std::size_t kBlocks = 100'000;
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    lengths.push_back(static_cast<std::uint64_t>(random.between(1, 9)));
    places.push_back(static_cast<std::int64_t>(i) * 100 + random.between(0, 20));
  }
  const ProgramPtr list = compile(TypeDesc::indexed(lengths, places, bytes(8)));
  const Bytes form = form_of(*list);
  EXPECT_LE(form.size(), 3 * kBlocks + 100);
  const Result<ProgramPtr> back = deserialize(form.data(), form.size());
  ASSERT_TRUE(back.ok());
  EXPECT_LE(back.value()->memory_bytes(), list->memory_bytes());
}

TEST(ProgramBytes, need_their_room) {
  const ProgramPtr program = compile(TypeDesc::vector(10, 1, 24, bytes(8)));
  const std::size_t size = serialized_size(*program);
  Bytes out(size, std::byte{0xee});
  for (std::size_t capacity = 0; capacity < size; ++capacity) {
    const Result<std::size_t> written = serialize(*program, out.data(), capacity);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(written.status().message(), "the program takes " + std::to_string(size) +
                                              " bytes, there is room for " +
                                              std::to_string(capacity));
  }
  EXPECT_EQ(out, Bytes(size, std::byte{0xee}));
}

TEST(ProgramBytes, cut_anywhere_or_longer_are_refused) {
  test::RandomTypes random(test::seed_from_environment(22));
  for (int n = 0; n < 100; ++n) {
    const test::RandomType made = random.next();
    Bytes form = form_of(*compile(made.type));
    for (std::size_t size = 0; size < form.size(); ++size) {
      const Bytes cut(form.begin(), form.begin() + static_cast<std::ptrdiff_t>(size));
      const Result<ProgramPtr> back = deserialize(cut.data(), cut.size());
      ASSERT_FALSE(back.ok()) << size << " of " << form.size() << ": " << made.text;
      ASSERT_EQ(back.status().code(), StatusCode::kProtocol);
    }
    form.push_back(std::byte{0});
    const Result<ProgramPtr> longer = deserialize(form.data(), form.size());
    ASSERT_FALSE(longer.ok());
    ASSERT_NE(longer.status().message().find("bytes follow the last loop: 1"),
              std::string_view::npos)
        << longer.status().message();
  }
}

TEST(ProgramBytes, changed_anywhere_are_refused_or_another_program) {
  test::RandomTypes random(test::seed_from_environment(23));
  int refused = 0, taken = 0;
  for (int n = 0; n < 300; ++n) {
    const Bytes form = form_of(*compile(random.next().type));
    for (int change = 0; change < 50; ++change) {
      Bytes changed = form;
      const auto at =
          static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(form.size()) - 1));
      changed[at] ^= static_cast<std::byte>(random.between(1, 255));
      const Result<ProgramPtr> back = deserialize(changed.data(), changed.size());
      ++(back.ok() ? taken : refused);
      if (back.ok()) {
        ASSERT_EQ(form_of(*back.value()), changed);
      }
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(taken, 100);
}

// A form written by hand, number after number.
class Form {
 public:
  Form() {
    for (const int b : {0x4d, 0x42, 0x50, 1}) bytes.push_back(static_cast<std::byte>(b));
  }
  Form& numbers(std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values) {
      std::byte digits[10];
      bytes.insert(bytes.end(), digits, put_varint(digits, value));
    }
    return *this;
  }
  Form& raw(std::initializer_list<int> values) {
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return *this;
  }
  /// Of `extent` and these totals.
  static Form of(std::int64_t extent, std::uint64_t loops, std::uint64_t parts, std::uint64_t sizes,
                 std::uint64_t children) {
    return Form().numbers({0, zigzag(extent), loops, parts, sizes, children});
  }

  Bytes bytes;
};

std::string refusal(const Bytes& form, StatusCode code = StatusCode::kProtocol) {
  const Result<ProgramPtr> read = deserialize(form.data(), form.size());
  if (read.ok()) return "accepted: " + read.value()->to_string();
  EXPECT_EQ(read.status().code(), code);
  const std::string prefix = "program form, byte ";
  const std::string message(read.status().message());
  EXPECT_EQ(message.compare(0, prefix.size(), prefix), 0) << message;
  return message.substr(prefix.size());
}
std::string refusal(const Form& form) { return refusal(form.bytes); }

TEST(Refusals, of_what_is_no_program_of_this_version) {
  EXPECT_EQ(refusal(Bytes{}), "0: the bytes end in the magic");
  EXPECT_EQ(refusal(Bytes{std::byte{'M'}, std::byte{'B'}, std::byte{'Q'}}),
            "2: no magic, this is not a program");
  EXPECT_EQ(refusal(Bytes{std::byte{'M'}, std::byte{'B'}, std::byte{'P'}}),
            "3: the bytes end before the version");
  Bytes next = form_of(*compile(bytes(8)));
  next[3] = std::byte{2};
  EXPECT_EQ(refusal(next, StatusCode::kVersion), "3: version 2, this side reads version 1");
}

TEST(Refusals, of_numbers) {
  EXPECT_EQ(refusal(Form().raw({0x80, 0x00})), "4: more bytes than needed for lb");
  EXPECT_EQ(refusal(Form().numbers({0}).raw(
                {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02})),
            "5: more than 64 bits for extent");
  EXPECT_EQ(refusal(Form().numbers({0, 0}).raw({0x81})), "6: the bytes end in the number of loops");
}

TEST(Refusals, of_totals) {
  EXPECT_EQ(refusal(Form::of(8, 1, 1, 0, 0)),
            "10: the loops announced need more than the 0 bytes that follow");
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 32) - 2, kWraps = UINT64_MAX / 5 + 1;
  EXPECT_EQ(refusal(Form::of(8, kMost, 1, 0, 0).numbers({1, 16, 1, 1, 8, 0})),
            "14: the loops announced need more than the 6 bytes that follow");
  EXPECT_EQ(refusal(Form::of(8, kMost + 1, 1, 0, 0)), "14: more than 2^32 - 2 loops");
  EXPECT_EQ(refusal(Form::of(8, kWraps, 1, 0, 0)), "18: more than 2^32 - 2 loops");
  EXPECT_EQ(refusal(Form::of(8, UINT64_MAX, 1, 0, 0)), "19: more than 2^32 - 2 loops");
  // Of one loop: with its five numbers the sum is 0.
  const std::uint64_t rest = UINT64_MAX - 4;
  for (const Form& form :
       {Form::of(8, 1, rest, 0, 0), Form::of(8, 1, 0, rest, 0), Form::of(8, 1, 0, 0, rest)}) {
    EXPECT_EQ(refusal(Form(form).numbers({1, 16, 1, 1, 8, 0})),
              "19: the loops announced need more than the 6 bytes that follow");
  }
  EXPECT_EQ(refusal(Form::of(8, 1, 2, 0, 0).numbers({1, 16, 1, 1, 8, 0}).raw({0})),
            "16: more parts were announced than the loops have");
  EXPECT_EQ(refusal(Form::of(8, 1, 1, 1, 0).numbers({1, 16, 1, 1, 8, 0}).raw({0})),
            "16: more sizes were announced than the loops list");
  EXPECT_EQ(refusal(Form::of(8, 1, 1, 0, 1).numbers({1, 16, 1, 1, 8, 0}).raw({0})),
            "16: more children were announced than the loops list");
  EXPECT_EQ(refusal(Form::of(8, 1, 1, 0, 0).numbers({1, 16, 1, 2, 4, 0, 8})),
            "15: loop 0 has more parts than were announced");
  EXPECT_EQ(refusal(Form::of(8, 1, 2, 1, 0).numbers({1, 16, 1, 2, 0, 0, 8, 1, 3})),
            "17: loop 0 lists more sizes than were announced");
  EXPECT_EQ(
      refusal(
          Form::of(8, 2, 3, 0, 1).numbers({1, 16, 2, 2, 4, 0, 8, 0, 1}).raw({0, 0, 0, 0, 0, 0})),
      "17: loop 0 lists more children than were announced");
  EXPECT_EQ(refusal(Form::of(8, 0, 0, 0, 0).raw({0, 0})), "10: bytes follow the last loop: 2");
}

// Its trips are one byte each: no loop has more.
TEST(ProgramBytes, of_the_most_trips_are_read) {
  const Form most =
      Form::of(kMax, 1, 1, 0, 0).numbers({static_cast<std::uint64_t>(kMax), zigzag(1), 1, 1, 1, 0});
  const Result<ProgramPtr> read = deserialize(most.bytes.data(), most.bytes.size());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(form_of(**read), most.bytes);
}

TEST(Refusals, of_loops) {
  const auto one = [](std::uint64_t count, std::uint64_t height, std::uint64_t parts,
                      std::uint64_t uniform) {
    return refusal(Form::of(8, 1, 1, 0, 0).numbers({count, 16, height, parts, uniform, 0}));
  };
  EXPECT_EQ(one(0, 1, 1, 8), "15: loop 0 has no count in 1 .. 2^63 - 1");
  EXPECT_EQ(one(std::uint64_t{1} << 63, 1, 1, 8), "24: loop 0 has no count in 1 .. 2^63 - 1");
  EXPECT_EQ(one(1, 0, 1, 8), "15: loop 0 has no height in 1 .. number of loops");
  EXPECT_EQ(one(1, 2, 1, 8), "15: loop 0 has no height in 1 .. number of loops");
  EXPECT_EQ(one(1, (std::uint64_t{1} << 32) + 1, 1, 8),
            "19: loop 0 has no height in 1 .. number of loops");
  EXPECT_EQ(one(1, 1, 0, 8), "15: loop 0 has no parts");
  EXPECT_EQ(one(2, 1, 1, std::uint64_t{1} << 62), "24: loop 0 packs more than 2^63 - 1 bytes");
  EXPECT_EQ(one(1, 1, 1, std::uint64_t{1} << 63),
            "25: loop 0 has a body of more than 2^63 - 1 bytes");

  const auto sizes = [](std::uint64_t first, std::uint64_t second) {
    return refusal(Form::of(8, 1, 2, 2, 0).numbers({1, 16, 1, 2, 0, 0, 8, first, second}));
  };
  EXPECT_EQ(sizes(0, 3), "18: loop 0 has a part of no bytes");
  EXPECT_EQ(sizes(3, 3), "19: loop 0 lists sizes that are all equal");
  EXPECT_EQ(sizes(static_cast<std::uint64_t>(kMax), 1),
            "27: loop 0 has a body of more than 2^63 - 1 bytes");

  const auto inner = [](std::uint64_t child, std::uint64_t count, std::uint64_t stride,
                        std::uint64_t offset) {
    return refusal(Form::of(8, 2, 2, 0, 1)
                       .numbers({1, 16, 2, 1, 8, 0, child})
                       .numbers({count, stride, 1, 1, 8 / count, offset}));
  };
  EXPECT_EQ(inner(2, 1, 0, 0), "17: loop 0 has a child that is no loop's number");
  EXPECT_EQ(inner(1, 2, 8, 2), "23: loop 1 does not start with its first part");
  EXPECT_EQ(inner(1, 1, 8, 0), "23: loop 1 has a stride but one trip");
  // The rest is for complete_tables_test.cc.
  const Bytes unused = Form::of(8, 2, 2, 0, 0).numbers({1, 16, 1, 1, 8, 0, 1, 0, 1, 1, 8, 0}).bytes;
  const Result<ProgramPtr> read = deserialize(unused.data(), unused.size());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().message(), "program form: loop 1 is no part of the element");
}

TEST(Memory, is_bounded_by_the_bytes_given) {
  constexpr std::size_t kSize = 100'000;
  const std::uint64_t room = kSize - 40;
  const std::vector<Form> hostile = {
      Form::of(8, room / 5, 0, 0, 0),
      Form::of(8, 1, room - 5, 0, 0),
      Form::of(8, 1, 0, room - 5, 0),
      Form::of(8, 1, 0, 0, room - 5),
      Form::of(8, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX),
      Form::of(8, std::uint64_t{1} << 40, 1, 1, 1),
  };
  for (Form form : hostile) {
    form.bytes.resize(kSize, std::byte{1});
    const std::size_t before = test::allocations().bytes;
    EXPECT_FALSE(deserialize(form.bytes.data(), form.bytes.size()).ok());
    EXPECT_LE(test::allocations().bytes - before, 512 * kSize);
  }
  // Many small loops, all of them right.
  TypeDescPtr deep = bytes(4);
  for (int level = 0; level < 5000; ++level) {
    deep = TypeDesc::structure({1, 1}, {0, 8}, {bytes(4), deep}).value();
  }
  const Bytes form = form_of(*compile(deep));
  const std::size_t before = test::allocations().bytes;
  EXPECT_TRUE(deserialize(form.data(), form.size()).ok());
  EXPECT_LE(test::allocations().bytes - before, 512 * form.size());
}

// Bodies that take the most steps for the fewest bytes: runs of two moves each, which overlap.
TEST(Memory, of_bodies_with_many_steps_is_bounded_too) {
  std::vector<TypeDescPtr> bodies;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < 2000; ++i) {
    std::vector<std::int64_t> runs{0};
    for (std::int64_t r = 1; r < 16; ++r) runs.push_back(runs.back() + 1 + (i + r * r) % 31);
    const TypeDescPtr body = TypeDesc::indexed_block(1, runs, bytes(63)).value();
    bodies.push_back(TypeDesc::vector(9, 1, 2000 + i, body).value());
    places.push_back(i << 15);
  }
  const std::vector<std::uint64_t> ones(bodies.size(), 1);
  const Bytes form = form_of(*compile(TypeDesc::structure(ones, places, bodies)));
  const std::size_t before = test::allocations().bytes;
  const Result<ProgramPtr> read = deserialize(form.data(), form.size());
  ASSERT_TRUE(read.ok());
  EXPECT_LE(test::allocations().bytes - before, 512 * form.size());
  EXPECT_GT((*read)->memory_bytes(), 40 * form.size()) << "not what this test is for";
}

TEST(Memory, that_cannot_be_had_is_a_status) {
  const Bytes form = form_of(*compile(TypeDesc::indexed({1, 2, 1}, {0, 8, 90}, bytes(8))));
  test::fail_allocations_from(60);
  const Result<ProgramPtr> read = deserialize(form.data(), form.size());
  test::fail_allocations_from(0);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kNoMemory);
}

}  // namespace
}  // namespace mad
