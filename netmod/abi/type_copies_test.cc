// Copies that are made together, through the C interface.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "netmod/abi/mad.h"

namespace {

std::string error() { return mad_last_error(); }

constexpr std::uint64_t kRows = 40, kColumns = 8;

// A column of ints of a matrix.
mad_type* column() {
  mad_type *number = nullptr, *type = nullptr;
  EXPECT_EQ(mad_type_basic(MAD_BASIC_INT32, &number), MAD_SUCCESS);
  EXPECT_EQ(mad_type_vector(kRows, 1, kColumns * sizeof(int), number, &type), MAD_SUCCESS);
  EXPECT_EQ(mad_type_commit(type), MAD_SUCCESS);
  mad_type_release(number);
  return type;
}

struct Copies {
  Copies() { EXPECT_EQ(mad_copies_create(&copies), MAD_SUCCESS); }
  ~Copies() { mad_copies_destroy(copies); }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  mad_copies* copies = nullptr;
};

std::vector<int> numbers(int first) {
  std::vector<int> all(kRows * kColumns);
  for (int& one : all) one = first++;
  return all;
}

TEST(TypeCopies, AreMadeWhenTheyAreFinishedAndTheirTypesAreNoMore) {
  const std::vector<int> from = numbers(1000);
  std::vector<int> to = numbers(0);
  Copies all;
  for (std::uint64_t c = 0; c < kColumns; ++c) {
    mad_type* const type = column();
    int taken = -1;
    ASSERT_EQ(mad_copies_add(all.copies, &from[c], 1, type, &to[c], 1, type, &taken), MAD_SUCCESS);
    EXPECT_EQ(taken, 1);
    mad_type_release(type);
  }
  EXPECT_EQ(to, numbers(0));
  mad_copies_finish(all.copies);
  EXPECT_EQ(to, from);
  to = numbers(0);
  mad_copies_finish(all.copies);
  EXPECT_EQ(to, numbers(0)) << "once";
}

TEST(TypeCopies, OfBytesToColumns) {
  const std::vector<int> from = numbers(1000);
  std::vector<int> to = numbers(0);
  mad_type* const type = column();
  Copies all;
  for (std::uint64_t c = 0; c < kColumns; ++c) {
    int taken = -1;
    ASSERT_EQ(mad_copies_add(all.copies, &from[c * kRows], kRows * sizeof(int), nullptr, &to[c], 1,
                             type, &taken),
              MAD_SUCCESS);
    EXPECT_EQ(taken, 1);
  }
  mad_copies_finish(all.copies);
  for (std::uint64_t c = 0; c < kColumns; ++c) {
    for (std::uint64_t r = 0; r < kRows; ++r) {
      ASSERT_EQ(to[r * kColumns + c], from[c * kRows + r]) << r << ", " << c;
    }
  }
  mad_type_release(type);
}

TEST(TypeCopies, OfOtherKindsAreTheCallers) {
  const std::vector<int> from = numbers(1000);
  std::vector<int> to = numbers(0);
  Copies all;
  int taken = -1;
  ASSERT_EQ(mad_copies_add(all.copies, from.data(), 100, nullptr, to.data(), 100, nullptr, &taken),
            MAD_SUCCESS);
  EXPECT_EQ(taken, 0);
  ASSERT_EQ(mad_copies_add(all.copies, nullptr, 0, nullptr, nullptr, 0, nullptr, &taken),
            MAD_SUCCESS);
  EXPECT_EQ(taken, 0);
  mad_copies_finish(all.copies);
  EXPECT_EQ(to, numbers(0));
}

TEST(TypeCopies, OfDifferentLengthsAreRefused) {
  const std::vector<int> from = numbers(1000);
  std::vector<int> to = numbers(0);
  mad_type* const type = column();
  Copies all;
  int taken = -1;
  EXPECT_EQ(mad_copies_add(all.copies, from.data(), 8, nullptr, to.data(), 1, type, &taken),
            MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("different numbers of bytes"), std::string::npos) << error();
  EXPECT_EQ(mad_copies_add(nullptr, from.data(), 1, type, to.data(), 1, type, &taken),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_copies_add(all.copies, from.data(), 1, type, to.data(), 1, type, nullptr),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_copies_create(nullptr), MAD_ERR_ARGUMENT);
  mad_type_release(type);
}

TEST(TypeCopies, ThatAreNotFinishedAreNotMade) {
  const std::vector<int> from = numbers(1000);
  std::vector<int> to = numbers(0);
  mad_type* const type = column();
  {
    Copies all;
    int taken = 0;
    ASSERT_EQ(mad_copies_add(all.copies, from.data(), 1, type, to.data(), 1, type, &taken),
              MAD_SUCCESS);
    ASSERT_EQ(taken, 1);
  }
  EXPECT_EQ(to, numbers(0));
  mad_copies_destroy(nullptr);
  mad_type_release(type);
}

}  // namespace
