// One layout copied in every way there is, and one into another, against the type map.
#ifndef TESTS_SUPPORT_COPIES_H_
#define TESTS_SUPPORT_COPIES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "datatype_path/cursor/copy.h"
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

/// Some elements of a type.
struct Elements {
  TypeDescPtr type;
  std::uint64_t count;
};

/// Copies what the packed streams of two layouts have in common: whole, and in parts in any order,
/// with every instruction set that this processor has.  No byte may be in `to` twice.
inline void expect_copied(const Elements& from, const Elements& to, RandomTypes& random) {
  const TypeMap from_map = expand(*from.type, from.count), to_map = expand(*to.type, to.count);
  Arena memory(from_map), expected(to_map, std::byte{0xee});
  fill_randomly(memory.bytes(), random);
  std::vector<std::byte> packed = pack(from_map, memory);
  packed.resize(std::min(packed.size(), byte_places(to_map).size()));
  unpack(to_map, packed, expected);
  for (const KernelTable* kernels : runnable_kernels()) {
    const auto reads = BlockProgram::compile(*from.type, *kernels).value();
    const auto writes = BlockProgram::compile(*to.type, *kernels).value();
    const std::vector<std::pair<std::size_t, std::size_t>> whole{{0, packed.size()}};
    for (const auto& parts :
         {whole, fragments(packed.size(), 5000, random), fragments(packed.size(), 300, random)}) {
      Arena copied(to_map, std::byte{0xee});
      Cursor reader(*reads, memory.base(), from.count), writer(*writes, copied.base(), to.count);
      for (const auto& [at, size] : parts) {
        reader.seek(at);
        writer.seek(at);
        // All that there is left, where a part is the last.
        const bool last = at + size == packed.size();
        ASSERT_EQ(copy(reader, writer, last ? SIZE_MAX : size), size);
        ASSERT_EQ(reader.position(), at + size);
        ASSERT_EQ(writer.position(), at + size);
      }
      ASSERT_EQ(copied.bytes(), expected.bytes()) << kernels->name << "\n"
                                                  << reads->to_string() << writes->to_string();
    }
  }
}

}  // namespace mad::test

#endif  // TESTS_SUPPORT_COPIES_H_
