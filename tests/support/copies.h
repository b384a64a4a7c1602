// One layout copied in every way there is, against the type map.
#ifndef TESTS_SUPPORT_COPIES_H_
#define TESTS_SUPPORT_COPIES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "datatype_path/cursor/cursor.h"
#include "datatype_path/kernels/kernel_tables.h"
#include "datatype_path/program/block_program.h"
#include "gtest/gtest.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"
#include "tests/support/type_map.h"

namespace mad::test {

/// Packs and unpacks `count` elements of `program`, which `type` was compiled to: whole, and in
/// fragments in any order.  No byte may be in the elements twice.
inline void expect_copied(const BlockProgram& program, const TypeDesc& type, std::uint64_t count,
                          RandomTypes& random) {
  const TypeMap map = expand(type, count);
  Arena memory(map), expected(map, std::byte{0xee});
  fill_randomly(memory.bytes(), random);
  const std::vector<std::byte> packed = pack(map, memory);
  unpack(map, packed, expected);
  const std::vector<std::pair<std::size_t, std::size_t>> whole{{0, packed.size()}};
  for (const auto& pieces :
       {whole, fragments(packed.size(), 3000, random), fragments(packed.size(), 700, random)}) {
    std::vector<std::byte> out(packed.size());
    Arena scattered(map, std::byte{0xee});
    Cursor packer(program, memory.base(), count), unpacker(program, scattered.base(), count);
    for (const auto& [at, size] : pieces) {
      packer.seek(at);
      ASSERT_EQ(packer.pack(out.data() + at, size), size);
      unpacker.seek(at);
      ASSERT_EQ(unpacker.unpack(packed.data() + at, size), size);
    }
    ASSERT_EQ(out, packed) << program.to_string();
    ASSERT_EQ(scattered.bytes(), expected.bytes()) << program.to_string();
  }
}

/// The same with every instruction set that this processor has.
inline void expect_copied(const TypeDesc& type, std::uint64_t count, RandomTypes& random) {
  for (const KernelTable* kernels : runnable_kernels()) {
    const auto program = BlockProgram::compile(type, *kernels).value();
    ASSERT_NO_FATAL_FAILURE(expect_copied(*program, type, count, random)) << kernels->name;
  }
}

}  // namespace mad::test

#endif  // TESTS_SUPPORT_COPIES_H_
