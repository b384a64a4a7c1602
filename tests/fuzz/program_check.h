// What a program must do, checked with whatever choices a fuzzer or a seed makes.
#ifndef TESTS_FUZZ_PROGRAM_CHECK_H_
#define TESTS_FUZZ_PROGRAM_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "datatype_path/describe/type_desc.h"
#include "datatype_path/program/block_program.h"

namespace mad::test {

/// A number in [0, below); `below` is at least 1.
using Choose = std::function<std::uint64_t(std::uint64_t below)>;

/// Packs, lists and unpacks `count` elements of `type` with a cursor over `program`, in pieces and
/// orders as chosen, and compares with the literal type map.  Returns what differs, or "".
std::string compare_with_type_map(const BlockProgram& program, const TypeDesc& type,
                                  std::uint64_t count, const Choose& choose);

/// The same for a program of unknown origin: every way to move `count` elements must agree with the
/// runs that it lists, and those must lie within its true bounds.  Bytes are moved if they and
/// their bounds take at most `kMostBytes`, in memory that ends where the bounds do.
std::string run_within_bounds(const BlockProgram& program, std::uint64_t count,
                              const Choose& choose);
constexpr std::int64_t kMostBytes = 1 << 20;

}  // namespace mad::test

#endif  // TESTS_FUZZ_PROGRAM_CHECK_H_
