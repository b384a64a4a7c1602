// Hostile bytes as serialised programs: refused with a reason, or run within their bounds.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datatype_path/serial/program_bytes.h"
#include "tests/fuzz/fuzzed_bytes.h"
#include "tests/fuzz/program_check.h"

namespace mad::test {
namespace {

std::string refusal(const Status& status) {
  const bool as_documented =
      (status.code() == StatusCode::kProtocol || status.code() == StatusCode::kVersion) &&
      status.message().rfind("program form", 0) == 0;
  return as_documented ? "" : "refused with " + std::string(status.message());
}

// A program has one form.
std::string form(const BlockProgram& program, const std::uint8_t* bytes, std::size_t size) {
  std::vector<std::uint8_t> out(size);
  const Result<std::size_t> written = serialize(program, out.data(), out.size());
  if (!written.ok()) return std::string(written.status().message());
  return out == std::vector<std::uint8_t>(bytes, bytes + size) ? "" : "serialised otherwise";
}

void run(const std::uint8_t* bytes, std::size_t size) {
  const Result<std::shared_ptr<const BlockProgram>> read = deserialize(bytes, size);
  if (!read.ok()) return expect_nothing_wrong(refusal(read.status()), "");
  const BlockProgram& program = *read.value();
  expect_nothing_wrong(form(program, bytes, size), program.to_string());
  // Cuts and orders are chosen by the same bytes.
  FuzzedBytes choices(bytes, size);
  std::uint64_t more = 88172645463325252u;
  const Choose choose = [&](std::uint64_t below) {
    more ^= more << 13;
    more ^= more >> 7;
    more ^= more << 17;
    return (choices.below(below) + more) % below;
  };
  for (const std::uint64_t count : {1u, 2u, 5u}) {
    expect_nothing_wrong(run_within_bounds(program, count, choose), program.to_string());
  }
}

}  // namespace
}  // namespace mad::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  mad::test::run(bytes, size);
  return 0;
}
