#include "netmod/abi/types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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

TEST(Types, CopyFromAnyByteOfOneLayoutIntoAnother) {
  mad_type* const type = gapped();
  mad_type *byte = nullptr, *by_fours = nullptr;
  ASSERT_EQ(mad_type_bytes(1, &byte), MAD_SUCCESS);
  ASSERT_EQ(mad_type_vector(3, 4, 6, byte, &by_fours), MAD_SUCCESS);
  ASSERT_EQ(mad_type_commit(by_fours), MAD_SUCCESS);
  const char memory[] =
      "abc..def"
      "ghi..jkl";
  const std::string packed = "abcdefghijkl";
  const auto place = [](std::size_t n) { return n + n / 4 * 2; };
  for (std::size_t offset = 0; offset <= packed.size(); ++offset) {
    for (std::size_t size = 0; size <= packed.size() + 1; ++size) {
      const std::size_t bytes = std::min(size, packed.size() - offset);
      std::string expected(16, '-'), run(12, '-'), back(16, '-'), copied(16, '-');
      for (std::size_t n = offset; n < offset + bytes; ++n) expected[place(n)] = packed[n];
      std::string part(12, '-');
      part.replace(offset, bytes, packed, offset, bytes);

      std::size_t moved = 99;
      ASSERT_EQ(mad_type_copy(memory, 2, type, copied.data(), 1, by_fours, offset, size, &moved),
                MAD_SUCCESS);
      EXPECT_EQ(moved, bytes);
      EXPECT_EQ(copied, expected);
      ASSERT_EQ(mad_type_copy(memory, 2, type, run.data(), 12, nullptr, offset, size, &moved),
                MAD_SUCCESS);
      EXPECT_EQ(moved, bytes);
      EXPECT_EQ(run, part);
      ASSERT_EQ(
          mad_type_copy(packed.data(), 12, nullptr, back.data(), 1, by_fours, offset, size, &moved),
          MAD_SUCCESS);
      EXPECT_EQ(moved, bytes);
      EXPECT_EQ(back, expected);
      run.assign(12, '-');
      ASSERT_EQ(
          mad_type_copy(packed.data(), 12, nullptr, run.data(), 12, nullptr, offset, size, &moved),
          MAD_SUCCESS);
      EXPECT_EQ(moved, bytes);
      EXPECT_EQ(run, part);
    }
  }
  mad_type_release(by_fours);
  mad_type_release(byte);
  mad_type_release(type);
}

TEST(Types, CopyEndsWhereTheShorterOneDoesAndChecksItsArguments) {
  mad_type* const type = gapped();
  const char memory[] =
      "abc..def"
      "ghi..jkl";
  std::string copied(16, '-');
  std::size_t moved = 99;
  ASSERT_EQ(mad_type_copy(memory, 2, type, copied.data(), 1, type, 4, SIZE_MAX, &moved),
            MAD_SUCCESS);
  EXPECT_EQ(moved, 2u);
  EXPECT_EQ(copied, "------ef--------");
  ASSERT_EQ(mad_type_copy(memory, 1, type, copied.data(), 2, type, 0, SIZE_MAX, &moved),
            MAD_SUCCESS);
  EXPECT_EQ(moved, 6u);
  EXPECT_EQ(copied, "abc--def--------");

  EXPECT_EQ(mad_type_copy(memory, 2, type, copied.data(), 1, type, 7, 1, &moved), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("beyond the 6 bytes"), std::string::npos) << error();
  EXPECT_EQ(mad_type_copy(memory, 6, nullptr, copied.data(), 2, type, 7, 1, &moved),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_copy(memory, UINT64_MAX, nullptr, copied.data(), 2, type, 0, 1, &moved),
            MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_copy(memory, 2, type, copied.data(), 2, type, 0, 1, nullptr),
            MAD_ERR_ARGUMENT);
  mad_type* const loose = gapped(false);
  EXPECT_EQ(mad_type_copy(memory, 2, type, copied.data(), 2, loose, 0, 1, &moved),
            MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("mad_type_commit()"), std::string::npos);
  EXPECT_EQ(moved, 6u);
  EXPECT_EQ(mad_type_copy(memory, 0, type, copied.data(), 2, type, 0, 1, &moved), MAD_SUCCESS);
  EXPECT_EQ(moved, 0u);
  mad_type_release(loose);
  mad_type_release(type);
}

TEST(Types, RunsAreWhereTheBytesAre) {
  mad_type* const type = gapped();  // "abc..def" an element
  std::string memory(16, '-');
  std::array<mad_run, 8> runs{};
  std::size_t found = 0;
  const auto at = [&](std::size_t i) { return static_cast<char*>(runs[i].base) - memory.data(); };
  ASSERT_EQ(mad_type_runs(memory.data(), 2, type, 1, 100, runs.data(), runs.size(), &found),
            MAD_SUCCESS);
  ASSERT_EQ(found, 4u) << "also where those of two elements touch";
  EXPECT_EQ(at(0), 1);
  EXPECT_EQ(runs[0].bytes, 2u);
  EXPECT_EQ(at(1), 5);
  EXPECT_EQ(runs[1].bytes, 3u);
  EXPECT_EQ(at(2), 8);
  EXPECT_EQ(runs[2].bytes, 3u);
  EXPECT_EQ(at(3), 13);
  EXPECT_EQ(runs[3].bytes, 3u);
  ASSERT_EQ(mad_type_runs(memory.data(), 2, type, 1, 4, runs.data(), runs.size(), &found),
            MAD_SUCCESS);
  ASSERT_EQ(found, 2u) << "no more bytes than asked for";
  EXPECT_EQ(runs[1].bytes, 2u);
  ASSERT_EQ(mad_type_runs(memory.data(), 2, type, 0, 100, runs.data(), 1, &found), MAD_SUCCESS);
  EXPECT_EQ(found, 1u) << "nor more runs";
  ASSERT_EQ(mad_type_runs(memory.data(), 2, type, 12, 100, runs.data(), 1, &found), MAD_SUCCESS);
  EXPECT_EQ(found, 0u) << "at the end";
  EXPECT_EQ(mad_type_runs(memory.data(), 2, type, 13, 1, runs.data(), 1, &found), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_runs(memory.data(), 2, type, 0, 1, nullptr, 1, &found), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_runs(memory.data(), 2, nullptr, 0, 1, runs.data(), 1, &found),
            MAD_ERR_ARGUMENT);
  mad_type_release(type);
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
