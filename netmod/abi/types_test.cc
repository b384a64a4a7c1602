#include "netmod/abi/types.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "netmod/abi/mad.h"

namespace {

// Two blocks of 3 bytes, 5 apart.
mad_type* gapped(bool commit = true) {
  mad_type* byte = nullptr;
  mad_type* vector = nullptr;
  EXPECT_EQ(mad_type_bytes(1, &byte), MAD_SUCCESS);
  EXPECT_EQ(mad_type_vector(2, 3, 5, byte, &vector), MAD_SUCCESS);
  mad_type_release(byte);
  if (commit) {
    EXPECT_EQ(mad_type_commit(vector), MAD_SUCCESS);
  }
  return vector;
}

std::string error() { return mad_last_error(); }

TEST(Types, QueryTellsWhatWasCompiled) {
  mad_type* const type = gapped();
  mad_type_info info;
  ASSERT_EQ(mad_type_query(type, &info), MAD_SUCCESS);
  EXPECT_EQ(info.size, 6u);
  EXPECT_EQ(info.runs, 2u);
  EXPECT_EQ(info.lb, 0);
  EXPECT_EQ(info.extent, 8);
  EXPECT_EQ(info.true_extent, 8);
  EXPECT_EQ(info.contiguous, 0);
  mad_type_release(type);
}

TEST(Types, NothingWorksBeforeCommitAndTheErrorSaysSo) {
  mad_type* const type = gapped(false);
  mad_type_info info;
  std::array<char, 16> buffer{};
  std::size_t moved = 99;
  EXPECT_EQ(mad_type_query(type, &info), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("mad_type_commit()"), std::string::npos);
  EXPECT_EQ(mad_type_pack(buffer.data(), 1, type, 0, buffer.data(), 6, &moved), MAD_ERR_ARGUMENT);
  EXPECT_EQ(moved, 99u);
  mad_type_release(type);
}

TEST(Types, CommitIsIdempotent) {
  mad_type* const type = gapped();
  const auto* const program = type->program.get();
  EXPECT_EQ(mad_type_commit(type), MAD_SUCCESS);
  EXPECT_EQ(type->program.get(), program);
  mad_type_release(type);
}

TEST(Types, CommitByManyThreadsCompilesOnce) {
  mad_type* const type = gapped(false);
  std::array<const mad::BlockProgram*, 4> seen{};
  std::vector<std::thread> threads;
  for (auto& program : seen) {
    threads.emplace_back([type, &program] {
      if (mad_type_commit(type) == MAD_SUCCESS) program = type->program.get();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto* program : seen) EXPECT_EQ(program, seen[0]);
  EXPECT_NE(seen[0], nullptr);
  mad_type_release(type);
}

TEST(Types, PackAndUnpackFromAnyByte) {
  mad_type* const type = gapped();
  const char memory[] =
      "abc..def"
      "ghi..jkl";
  std::array<char, 16> out{};
  std::size_t moved = 0;
  ASSERT_EQ(mad_type_pack(memory, 2, type, 0, out.data(), out.size(), &moved), MAD_SUCCESS);
  EXPECT_EQ(std::string(out.data(), moved), "abcdefghijkl");
  ASSERT_EQ(mad_type_pack(memory, 2, type, 4, out.data(), 4, &moved), MAD_SUCCESS);
  EXPECT_EQ(std::string(out.data(), moved), "efgh");

  std::string back(16, '-');
  ASSERT_EQ(mad_type_unpack(back.data(), 2, type, 5, "FGHI", 4, &moved), MAD_SUCCESS);
  EXPECT_EQ(moved, 4u);
  EXPECT_EQ(back, "-------FGHI-----");
  mad_type_release(type);
}

TEST(Types, PackChecksItsArguments) {
  mad_type* const type = gapped();
  std::array<char, 16> memory{};
  std::size_t moved = 7;
  EXPECT_EQ(mad_type_pack(memory.data(), 1, type, 7, memory.data(), 1, &moved), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("beyond the 6 bytes"), std::string::npos) << error();
  EXPECT_EQ(mad_type_pack(memory.data(), 1, type, 0, nullptr, 1, &moved), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_pack(memory.data(), 1, type, 0, memory.data(), 1, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_pack(memory.data(), UINT64_MAX / 2, type, 0, memory.data(), 1, &moved),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_pack(memory.data(), 1, nullptr, 0, memory.data(), 1, &moved),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(moved, 7u);
  EXPECT_EQ(mad_type_pack(memory.data(), 1, type, 6, memory.data(), 1, &moved), MAD_SUCCESS);
  EXPECT_EQ(moved, 0u);
  mad_type_release(type);
}

TEST(Types, CopyGoesFromLayoutToLayout) {
  mad_type* const type = gapped();
  const char memory[] =
      "abc..def"
      "ghi..jkl";
  std::size_t moved = 0;
  std::string run(12, '-');
  ASSERT_EQ(mad_type_copy(memory, 2, type, run.data(), 12, nullptr, &moved), MAD_SUCCESS);
  EXPECT_EQ(moved, 12u);
  EXPECT_EQ(run, "abcdefghijkl");

  std::string back(16, '-');
  ASSERT_EQ(mad_type_copy(run.data(), 12, nullptr, back.data(), 2, type, &moved), MAD_SUCCESS);
  EXPECT_EQ(back, "abc--defghi--jkl");

  mad_type* byte = nullptr;
  mad_type* apart = nullptr;
  ASSERT_EQ(mad_type_bytes(2, &byte), MAD_SUCCESS);
  ASSERT_EQ(mad_type_vector(6, 1, 4, byte, &apart), MAD_SUCCESS);
  ASSERT_EQ(mad_type_commit(apart), MAD_SUCCESS);
  std::string pairs(24, '-');
  ASSERT_EQ(mad_type_copy(memory, 2, type, pairs.data(), 1, apart, &moved), MAD_SUCCESS);
  EXPECT_EQ(moved, 12u);
  EXPECT_EQ(pairs, "ab--cd--ef--gh--ij--kl--");
  mad_type_release(byte);
  mad_type_release(apart);
  mad_type_release(type);
}

TEST(Types, CopyStopsWhereTheShorterEnds) {
  mad_type* const type = gapped();
  const std::string memory = "abc..def";
  std::string run(9, '-');
  std::size_t moved = 0;
  ASSERT_EQ(mad_type_copy(memory.data(), 1, type, run.data(), 4, nullptr, &moved), MAD_SUCCESS);
  EXPECT_EQ(moved, 4u);
  EXPECT_EQ(run, "abcd-----");
  ASSERT_EQ(mad_type_copy(memory.data(), 1, type, run.data(), 9, nullptr, &moved), MAD_SUCCESS);
  EXPECT_EQ(moved, 6u);
  EXPECT_EQ(run, "abcdef---");
  ASSERT_EQ(mad_type_copy("xy", 2, nullptr, run.data(), 9, nullptr, &moved), MAD_SUCCESS);
  EXPECT_EQ(run, "xycdef---");
  ASSERT_EQ(mad_type_copy(nullptr, 0, nullptr, run.data(), 9, nullptr, &moved), MAD_SUCCESS);
  EXPECT_EQ(moved, 0u);
  mad_type_release(type);
}

TEST(Types, CopyChecksItsArguments) {
  mad_type* const type = gapped();
  mad_type* const unready = gapped(false);
  std::array<char, 16> from{};
  std::array<char, 16> to{};
  std::size_t moved = 7;
  EXPECT_EQ(mad_type_copy(from.data(), 1, unready, to.data(), 16, nullptr, &moved),
            MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("mad_type_commit()"), std::string::npos);
  EXPECT_EQ(mad_type_copy(from.data(), 16, nullptr, to.data(), 1, unready, &moved),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_copy(from.data(), UINT64_MAX / 2, type, to.data(), 16, nullptr, &moved),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(moved, 7u);
  EXPECT_EQ(mad_type_copy(from.data(), 1, type, to.data(), 16, nullptr, nullptr), MAD_ERR_ARGUMENT);
  mad_type_release(type);
  mad_type_release(unready);
}

TEST(Types, NullHandlesAreRefusedOrIgnored) {
  mad_type_info info;
  EXPECT_EQ(mad_type_commit(nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_query(nullptr, &info), MAD_ERR_ARGUMENT);
  mad_type_retain(nullptr);
  mad_type_release(nullptr);
  mad_type* const type = gapped();
  EXPECT_EQ(mad_type_query(type, nullptr), MAD_ERR_ARGUMENT);
  mad_type_release(type);
}

TEST(Types, RetainKeepsTheHandle) {
  mad_type* const type = gapped();
  mad_type_retain(type);
  mad_type_release(type);
  mad_type_info info;
  EXPECT_EQ(mad_type_query(type, &info), MAD_SUCCESS);
  mad_type_release(type);
}

}  // namespace
