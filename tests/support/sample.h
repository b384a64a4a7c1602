// Sample: one random layout with its program, memory of random bytes and the packed stream as the
// literal type map has it.
#ifndef TESTS_SUPPORT_SAMPLE_H_
#define TESTS_SUPPORT_SAMPLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datatype_path/program/block_program.h"
#include "tests/support/random_type.h"
#include "tests/support/type_map.h"

namespace mad::test {

inline void fill_randomly(std::vector<std::byte>& bytes, RandomTypes& random) {
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.between(0, 255));
}

struct Sample {
  explicit Sample(RandomTypes& random, const RandomTypeOptions& options = {})
      : made(random.next(options)),
        count(static_cast<std::uint64_t>(random.between(0, 3))),
        program(BlockProgram::compile(*made.type).value()),
        map(expand(*made.type, count)),
        memory(map) {
    fill_randomly(memory.bytes(), random);
    packed = pack(map, memory);
  }
  std::string text() const {
    return std::to_string(count) + " x " + made.text + "\n" + program->to_string();
  }

  RandomType made;
  std::uint64_t count;
  std::shared_ptr<const BlockProgram> program;
  TypeMap map;
  Arena memory;
  std::vector<std::byte> packed;
};

/// [0, size) cut into pieces of at most `longest`, in any order: offset and size of each.
inline std::vector<std::pair<std::size_t, std::size_t>> fragments(std::size_t size,
                                                                  std::size_t longest,
                                                                  RandomTypes& random) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t at = 0; at < size;) {
    const auto most = static_cast<std::int64_t>(std::min(longest, size - at));
    const auto length = static_cast<std::size_t>(random.between(1, most));
    const auto place = random.between(0, static_cast<std::int64_t>(out.size()));
    out.insert(out.begin() + place, {at, length});
    at += length;
  }
  return out;
}

}  // namespace mad::test

#endif  // TESTS_SUPPORT_SAMPLE_H_
