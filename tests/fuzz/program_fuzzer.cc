// Random datatypes: the bytes drive TypeDesc's constructors, and every form of the program must
// move what the literal type map says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datatype_path/describe/array_types.h"
#include "datatype_path/explain/explain.h"
#include "datatype_path/kernels/kernel_tables.h"
#include "datatype_path/serial/program_bytes.h"
#include "tests/fuzz/fuzzed_bytes.h"
#include "tests/fuzz/program_check.h"

namespace mad::test {
namespace {

using ProgramPtr = std::shared_ptr<const BlockProgram>;

// Kept small, so that a type map is soon written out.
constexpr std::uint64_t kMostPacked = 4096;
constexpr std::int64_t kMostSpan = 1 << 17;
constexpr int kMostNodes = 32;

// Makes types from types made before.
class Constructor {
 public:
  explicit Constructor(FuzzedBytes& bytes) : bytes_(bytes) {}

  TypeDescPtr make() {
    keep(TypeDesc::bytes(1 + bytes_.below(16)));
    for (int n = 0; n < kMostNodes && !bytes_.empty(); ++n) {
      keep(construct());
      if (bytes_.below(8) == 0) break;
    }
    return made_.back();
  }

 private:
  void keep(const Result<TypeDescPtr>& type) {
    if (!type.ok()) return;
    const TypeDesc& t = **&type.value();
    const auto near = [](std::int64_t at) { return std::abs(at) <= kMostSpan; };
    if (t.size() <= kMostPacked && near(t.lb()) && near(t.extent()) && near(t.true_lb()) &&
        near(t.true_extent())) {
      made_.push_back(type.value());
    }
  }

  // The newest more often than the others.
  TypeDescPtr child() {
    const std::uint64_t back = bytes_.below(2) == 0 ? 0 : bytes_.below(made_.size());
    return made_[made_.size() - 1 - back];
  }

  std::int64_t place(const TypeDesc& type) {
    const auto way = bytes_.below(4);
    const auto steps = static_cast<std::int64_t>(bytes_.below(256)) - 64;
    if (way == 0) return steps * 97;
    if (way == 1) return steps;
    return steps * (way == 2 ? type.extent() : type.true_extent());
  }

  Result<TypeDescPtr> construct() {
    const auto how = bytes_.below(9);
    const TypeDescPtr type = child();
    switch (how) {
      case 0:
        return TypeDesc::bytes(bytes_.below(80));
      case 1:
        return TypeDesc::contiguous(bytes_.below(64), type);
      case 2: {
        const std::uint64_t count = bytes_.below(64), length = bytes_.below(8);
        return TypeDesc::vector(count, length, place(*type), type);
      }
      case 3:
      case 4:
        return list(type, how == 3);
      case 5: {
        const std::int64_t lb = place(*type), extent = place(*type);
        return TypeDesc::resized(lb, extent, type);
      }
      case 6:
        return array(type);
      default:
        return structure();
    }
  }

  // Blocks at their own places, or most of them as far from one another as the first two.
  Result<TypeDescPtr> list(const TypeDescPtr& type, bool same_length) {
    const std::uint64_t blocks = bytes_.below(40), length = bytes_.below(6);
    const bool regular = bytes_.below(2) == 0;
    const std::int64_t step = place(*type);
    std::vector<std::uint64_t> lengths(blocks, length);
    std::vector<std::int64_t> places;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      const bool as_before = regular && bytes_.below(16) != 0 && i > 0;
      places.push_back(as_before ? places.back() + step : place(*type));
      if (!regular) lengths[i] = bytes_.below(6);
    }
    if (same_length) return TypeDesc::indexed_block(length, std::move(places), type);
    return TypeDesc::indexed(std::move(lengths), std::move(places), type);
  }

  Result<TypeDescPtr> array(const TypeDescPtr& type) {
    std::vector<std::uint64_t> sizes, subsizes, starts;
    for (std::uint64_t d = 1 + bytes_.below(3); d > 0; --d) {
      sizes.push_back(1 + bytes_.below(12));
      subsizes.push_back(bytes_.below(sizes.back() + 1));
      starts.push_back(bytes_.below(sizes.back() - subsizes.back() + 1));
    }
    return subarray(sizes, subsizes, starts,
                    bytes_.below(2) == 0 ? ArrayOrder::kC : ArrayOrder::kFortran, type);
  }

  Result<TypeDescPtr> structure() {
    std::vector<std::uint64_t> lengths;
    std::vector<std::int64_t> places;
    std::vector<TypeDescPtr> fields;
    for (std::uint64_t n = bytes_.below(20); n > 0; --n) {
      const TypeDescPtr field = child();
      const bool next = !fields.empty() && bytes_.below(2) == 0;
      places.push_back(next ? places.back() + fields.back()->extent() +
                                  static_cast<std::int64_t>(bytes_.below(8))
                            : place(*field));
      lengths.push_back(bytes_.below(4));
      fields.push_back(field);
    }
    return TypeDesc::structure(std::move(lengths), std::move(places), std::move(fields));
  }

  FuzzedBytes& bytes_;
  std::vector<TypeDescPtr> made_;
};

ProgramPtr carried_over(const BlockProgram& program) {
  std::vector<std::byte> form(serialized_size(program));
  if (!serialize(program, form.data(), form.size()).ok()) return nullptr;
  const Result<ProgramPtr> back = deserialize(form.data(), form.size());
  return back.ok() ? back.value() : nullptr;
}

void run(const std::uint8_t* input, std::size_t size) {
  FuzzedBytes bytes(input, size);
  const TypeDescPtr type = Constructor(bytes).make();
  const std::uint64_t count = bytes.below(4);
  std::uint64_t more = 88172645463325252u;
  const Choose choose = [&](std::uint64_t below) {
    more = more * 6364136223846793005u + 1442695040888963407u;
    return ((more >> 33) + (bytes.empty() ? 0 : bytes.below(below))) % below;
  };
  const ProgramPtr native = BlockProgram::compile(*type).value();
  const std::string text = explain(*type, *native);
  const ProgramPtr carried = carried_over(*native);
  expect_nothing_wrong(carried == nullptr ? "cannot be carried over" : "", text);
  expect_nothing_wrong(carried->same_loops(*native) && carried->true_lb() == native->true_lb() &&
                               carried->true_extent() == native->true_extent() &&
                               native->true_lb() == type->true_lb() &&
                               native->true_extent() == type->true_extent()
                           ? ""
                           : "carried over to another program",
                       text);
  std::vector<ProgramPtr> programs = {carried};
  for (const KernelTable* table : runnable_kernels()) {
    programs.push_back(BlockProgram::compile(*type, *table).value());
  }
  for (const ProgramPtr& program : programs) {
    expect_nothing_wrong(compare_with_type_map(*program, *type, count, choose), text);
  }
}

}  // namespace
}  // namespace mad::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  mad::test::run(bytes, size);
  return 0;
}
