// The constructors against the describe room's own factories: what a C caller says is what the
// engine compiles.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "netmod/abi/mad.h"
#include "netmod/abi/types.h"
#include "tests/support/type_map.h"

namespace {

class TypeConstructors : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(mad_type_bytes(4, &word), MAD_SUCCESS); }
  void TearDown() override {
    mad_type_release(word);
    mad_type_release(type);
  }

  /// "offset:bytes" of every run, in packed order.
  std::string runs() const {
    std::string out;
    for (const auto& run : mad::test::joined(mad::test::expand(*type->desc, 1))) {
      out += std::to_string(run.offset) + ":" + std::to_string(run.length) + " ";
    }
    return out;
  }
  static std::string error() { return mad_last_error(); }

  mad_type* word = nullptr;
  mad_type* type = nullptr;
};

TEST_F(TypeConstructors, Contiguous) {
  ASSERT_EQ(mad_type_contiguous(3, word, &type), MAD_SUCCESS);
  EXPECT_EQ(runs(), "0:12 ");
}

TEST_F(TypeConstructors, Vector) {
  ASSERT_EQ(mad_type_vector(3, 2, -16, word, &type), MAD_SUCCESS);
  EXPECT_EQ(runs(), "0:8 -16:8 -32:8 ");
}

TEST_F(TypeConstructors, Indexed) {
  const std::vector<std::uint64_t> lengths{1, 0, 2};
  const std::vector<std::int64_t> places{8, 100, -20};
  ASSERT_EQ(mad_type_indexed(3, lengths.data(), places.data(), word, &type), MAD_SUCCESS);
  EXPECT_EQ(runs(), "8:4 -20:8 ");
}

TEST_F(TypeConstructors, IndexedBlock) {
  const std::vector<std::int64_t> places{0, 24};
  ASSERT_EQ(mad_type_indexed_block(2, 3, places.data(), word, &type), MAD_SUCCESS);
  EXPECT_EQ(runs(), "0:12 24:12 ");
}

TEST_F(TypeConstructors, Struct) {
  mad_type* byte = nullptr;
  ASSERT_EQ(mad_type_bytes(1, &byte), MAD_SUCCESS);
  const std::vector<std::uint64_t> lengths{1, 2};
  const std::vector<std::int64_t> places{0, 8};
  const std::vector<mad_type*> children{byte, word};
  ASSERT_EQ(mad_type_struct(2, lengths.data(), places.data(), children.data(), &type), MAD_SUCCESS);
  mad_type_release(byte);  // the struct has its own reference
  EXPECT_EQ(runs(), "0:1 8:8 ");
}

TEST_F(TypeConstructors, SubarrayInBothOrders) {
  const std::vector<std::uint64_t> sizes{3, 4}, subsizes{2, 2}, starts{1, 1};
  ASSERT_EQ(
      mad_type_subarray(2, sizes.data(), subsizes.data(), starts.data(), MAD_ORDER_C, word, &type),
      MAD_SUCCESS);
  EXPECT_EQ(runs(), "20:8 36:8 ");
  mad_type_release(type);
  ASSERT_EQ(mad_type_subarray(2, sizes.data(), subsizes.data(), starts.data(), MAD_ORDER_FORTRAN,
                              word, &type),
            MAD_SUCCESS);
  EXPECT_EQ(runs(), "16:8 28:8 ");
}

TEST_F(TypeConstructors, Darray) {
  const std::vector<std::uint64_t> sizes{8};
  const std::vector<mad_distribution> distributions{MAD_DIST_CYCLIC};
  const std::vector<std::int64_t> arguments{2};
  const std::vector<int> processes{2};
  ASSERT_EQ(mad_type_darray(2, 1, 1, sizes.data(), distributions.data(), arguments.data(),
                            processes.data(), MAD_ORDER_C, word, &type),
            MAD_SUCCESS);
  EXPECT_EQ(runs(), "8:8 24:8 ");
}

TEST_F(TypeConstructors, Resized) {
  ASSERT_EQ(mad_type_resized(-4, 12, word, &type), MAD_SUCCESS);
  EXPECT_EQ(type->desc->lb(), -4);
  EXPECT_EQ(type->desc->extent(), 12);
}

TEST_F(TypeConstructors, BasicKindsAreTheDescribeRoomsByNumber) {
  struct Case {
    mad_basic kind;
    mad::BasicType type;
    std::size_t size;
  };
  const std::vector<Case> cases{
      {MAD_BASIC_BYTE, mad::BasicType::kByte, 1},
      {MAD_BASIC_WCHAR, mad::BasicType::kWchar, sizeof(wchar_t)},
      {MAD_BASIC_UNSIGNED_LONG, mad::BasicType::kUnsignedLong, sizeof(long)},
      {MAD_BASIC_UINT64, mad::BasicType::kUint64, 8},
      {MAD_BASIC_BOOL, mad::BasicType::kBool, sizeof(bool)},
      {MAD_BASIC_LONG_DOUBLE, mad::BasicType::kLongDouble, sizeof(long double)},
      {MAD_BASIC_COUNT, mad::BasicType::kCount, 8},
      {MAD_BASIC_LOGICAL, mad::BasicType::kLogical, 4},
      {MAD_BASIC_FORTRAN_DOUBLE_COMPLEX, mad::BasicType::kFortranDoubleComplex, 16},
      {MAD_BASIC_INTEGER16, mad::BasicType::kInteger16, 16},
      {MAD_BASIC_CXX_LONG_DOUBLE_COMPLEX, mad::BasicType::kCxxLongDoubleComplex,
       2 * sizeof(long double)},
  };
  for (const Case& c : cases) {
    mad_type* leaf = nullptr;
    ASSERT_EQ(mad_type_basic(c.kind, &leaf), MAD_SUCCESS);
    EXPECT_EQ(leaf->desc->basic_type(), c.type);
    EXPECT_EQ(leaf->desc->size(), c.size);
    mad_type_release(leaf);
  }
  EXPECT_EQ(mad_type_basic(MAD_BASIC_KINDS, &type), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("MAD_BASIC_"), std::string::npos);
  EXPECT_EQ(mad_type_basic(MAD_BASIC_INT, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(type, nullptr);
}

TEST_F(TypeConstructors, ProgramsSeeOnlyTheSizesOfBasicKinds) {
  const auto compiled = [](mad_type* leaf) {
    mad_type *column = nullptr, *record = nullptr;
    const std::vector<std::uint64_t> lengths{1, 2, 1};
    const std::vector<std::int64_t> places{0, 200, 216};
    EXPECT_EQ(mad_type_vector(3, 2, 40, leaf, &column), MAD_SUCCESS);
    const std::vector<mad_type*> children{column, leaf, leaf};
    EXPECT_EQ(mad_type_struct(3, lengths.data(), places.data(), children.data(), &record),
              MAD_SUCCESS);
    EXPECT_EQ(mad_type_commit(record), MAD_SUCCESS);
    auto program = record->program;
    mad_type_release(column);
    mad_type_release(record);
    mad_type_release(leaf);
    return program;
  };
  mad_type *basic = nullptr, *bytes = nullptr;
  ASSERT_EQ(mad_type_basic(MAD_BASIC_DOUBLE, &basic), MAD_SUCCESS);
  ASSERT_EQ(mad_type_bytes(sizeof(double), &bytes), MAD_SUCCESS);
  const auto typed = compiled(basic), untyped = compiled(bytes);
  EXPECT_TRUE(typed->same_loops(*untyped)) << typed->to_string() << untyped->to_string();
  EXPECT_EQ(typed->extent(), untyped->extent());
}

TEST_F(TypeConstructors, SignaturesCompareSequencesOfKinds) {
  struct Value {
    std::uint64_t hash = 1, elements = 1;
  };
  const auto signature = [](const mad_type* of, std::uint64_t count) {
    Value value;
    EXPECT_EQ(mad_type_signature(of, count, &value.hash, &value.elements), MAD_SUCCESS);
    return value;
  };
  mad_type *number = nullptr, *packed = nullptr, *column = nullptr;
  ASSERT_EQ(mad_type_basic(MAD_BASIC_INT, &number), MAD_SUCCESS);
  ASSERT_EQ(mad_type_basic(MAD_BASIC_PACKED, &packed), MAD_SUCCESS);
  ASSERT_EQ(mad_type_vector(3, 2, 40, number, &column), MAD_SUCCESS);  // not committed
  EXPECT_EQ(signature(number, 1).hash, 0x1ee5789041c98ac6u);           // as documented
  EXPECT_EQ(signature(column, 2).hash, signature(number, 12).hash);
  EXPECT_EQ(signature(column, 2).hash, signature(number, 12).hash);  // the second time too
  EXPECT_EQ(signature(column, 2).elements, 12u);
  EXPECT_NE(signature(number, 1).hash, signature(word, 4).hash);
  EXPECT_EQ(signature(word, 3).elements, 12u);
  EXPECT_EQ(signature(column, 0).hash, 0u);
  EXPECT_EQ(signature(column, 0).elements, 0u);
  EXPECT_EQ(signature(packed, 7).hash, MAD_SIGNATURE_ANY);
  EXPECT_EQ(signature(packed, 7).elements, 7u);
  Value value;
  // A receive of 5 columns that gets 20 numbers.
  std::uint64_t first = 0;
  ASSERT_EQ(mad_type_signature_prefix(column, 20, &first), MAD_SUCCESS);
  EXPECT_EQ(first, signature(number, 20).hash);
  ASSERT_EQ(mad_type_signature_prefix(column, 0, &first), MAD_SUCCESS);
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(mad_type_signature_prefix(nullptr, 1, &first), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_signature_prefix(column, 1, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_signature_prefix(column, UINT64_MAX, &first), MAD_ERR_ARGUMENT);

  EXPECT_EQ(mad_type_signature(nullptr, 1, &value.hash, &value.elements), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_signature(number, 1, nullptr, &value.elements), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_signature(number, 1, &value.hash, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_signature(number, UINT64_MAX, &value.hash, &value.elements), MAD_ERR_ARGUMENT);
  EXPECT_EQ(value.hash, 1u);
  mad_type_release(column);
  mad_type_release(packed);
  mad_type_release(number);
}

TEST_F(TypeConstructors, KnowTheKindTheyBeginWith) {
  mad_type *number = nullptr, *real = nullptr, *none = nullptr, *both = nullptr;
  ASSERT_EQ(mad_type_basic(MAD_BASIC_INT, &number), MAD_SUCCESS);
  ASSERT_EQ(mad_type_basic(MAD_BASIC_DOUBLE, &real), MAD_SUCCESS);
  ASSERT_EQ(mad_type_contiguous(0, number, &none), MAD_SUCCESS);
  const std::uint64_t lengths[] = {3, 0, 1, 2};
  const std::int64_t places[] = {0, 0, 40, 0};
  mad_type* const children[] = {none, number, real, number};
  ASSERT_EQ(mad_type_struct(4, lengths, places, children, &both), MAD_SUCCESS);
  ASSERT_EQ(mad_type_vector(2, 2, 100, both, &type), MAD_SUCCESS);
  mad_basic kind = MAD_BASIC_BYTE;
  EXPECT_EQ(mad_type_first_kind(number, &kind), MAD_SUCCESS);
  EXPECT_EQ(kind, MAD_BASIC_INT);
  EXPECT_EQ(mad_type_first_kind(type, &kind), MAD_SUCCESS);
  EXPECT_EQ(kind, MAD_BASIC_DOUBLE);
  EXPECT_EQ(mad_type_first_kind(none, &kind), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_first_kind(nullptr, &kind), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_first_kind(number, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(kind, MAD_BASIC_DOUBLE);
  for (mad_type* made : {number, real, none, both}) mad_type_release(made);
}

TEST_F(TypeConstructors, EmptyListsNeedNoArrays) {
  ASSERT_EQ(mad_type_indexed(0, nullptr, nullptr, word, &type), MAD_SUCCESS);
  EXPECT_EQ(type->desc->size(), 0u);
  mad_type_release(type);
  ASSERT_EQ(mad_type_struct(0, nullptr, nullptr, nullptr, &type), MAD_SUCCESS);
  EXPECT_EQ(type->desc->size(), 0u);
}

TEST_F(TypeConstructors, MissingArgumentsAreNamed) {
  const std::uint64_t one = 1;
  const std::int64_t zero = 0;
  mad_type* const none[] = {nullptr};
  mad_type* const before = type;
  struct Case {
    const char* missing;
    std::function<int()> call;
  };
  const std::vector<Case> cases{
      {"out", [&] { return mad_type_bytes(1, nullptr); }},
      {"child", [&] { return mad_type_contiguous(1, nullptr, &type); }},
      {"out", [&] { return mad_type_contiguous(1, word, nullptr); }},
      {"child", [&] { return mad_type_vector(1, 1, 1, nullptr, &type); }},
      {"blocklengths", [&] { return mad_type_indexed(1, nullptr, &zero, word, &type); }},
      {"displacements", [&] { return mad_type_indexed(1, &one, nullptr, word, &type); }},
      {"displacements", [&] { return mad_type_indexed_block(1, 1, nullptr, word, &type); }},
      {"children", [&] { return mad_type_struct(1, &one, &zero, nullptr, &type); }},
      {"child", [&] { return mad_type_struct(1, &one, &zero, none, &type); }},
      {"subsizes",
       [&] { return mad_type_subarray(1, &one, nullptr, &one, MAD_ORDER_C, word, &type); }},
      {"psizes",
       [&] {
         const mad_distribution block = MAD_DIST_BLOCK;
         return mad_type_darray(1, 0, 1, &one, &block, &zero, nullptr, MAD_ORDER_C, word, &type);
       }},
      {"child", [&] { return mad_type_resized(0, 1, nullptr, &type); }},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.call(), MAD_ERR_ARGUMENT) << c.missing;
    EXPECT_NE(error().find(c.missing), std::string::npos) << error();
    EXPECT_NE(error().find("NULL"), std::string::npos) << error();
    EXPECT_EQ(type, before);
  }
}

TEST_F(TypeConstructors, WrongValuesAreRefused) {
  const std::vector<std::uint64_t> sizes{3}, too_large{4}, starts{0};
  EXPECT_EQ(
      mad_type_subarray(0, sizes.data(), sizes.data(), starts.data(), MAD_ORDER_C, word, &type),
      MAD_ERR_ARGUMENT);
  EXPECT_EQ(
      mad_type_subarray(1, sizes.data(), too_large.data(), starts.data(), MAD_ORDER_C, word, &type),
      MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_subarray(1, sizes.data(), sizes.data(), starts.data(),
                              static_cast<mad_order>(2), word, &type),
            MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("MAD_ORDER_C"), std::string::npos);
  const auto unknown = static_cast<mad_distribution>(3);
  const std::int64_t argument = 1;
  const int process = 1;
  EXPECT_EQ(mad_type_darray(1, 0, 1, sizes.data(), &unknown, &argument, &process, MAD_ORDER_C, word,
                            &type),
            MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("MAD_DIST_CYCLIC"), std::string::npos);
  EXPECT_EQ(mad_type_contiguous(UINT64_MAX, word, &type), MAD_ERR_ARGUMENT);
  EXPECT_EQ(type, nullptr);
}

}  // namespace
