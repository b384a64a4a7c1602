// Types as bytes for another process, and back.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "datatype_path/cursor/cursor.h"
#include "datatype_path/serial/program_bytes.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/types.h"

using mad::fail;
using mad::guarded;
using mad::TypeDesc;
using mad::TypeDescPtr;

namespace {

// Of a list that describes a part: few enough for the stack.
constexpr std::size_t kMostRuns = 256;

// As many bytes, with the same bounds.
mad::Result<mad::TypeDescPtr> stand_in_for(const mad::BlockProgram& program) {
  auto bytes = TypeDesc::bytes(program.size());
  if (!bytes.ok()) return bytes;
  return TypeDesc::resized(program.lb(), program.extent(), std::move(bytes.value()));
}

// A list of at most `runs` runs, of whole units, that are the packed bytes from `offset` on.
mad::Result<TypeDescPtr> part_of(const mad::BlockProgram& program, std::uint64_t count,
                                 std::uint64_t offset, std::size_t bytes, std::size_t unit,
                                 std::size_t runs) {
  std::array<mad::Segment, kMostRuns> segments{};
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> displacements;
  std::size_t listed = 0;
  mad::Cursor cursor(program, nullptr, count);
  cursor.seek(offset);
  const std::size_t found = cursor.segments(segments.data(), runs, bytes, &listed);
  std::size_t left = listed / unit * unit;
  for (std::size_t i = 0; i < found && left > 0; ++i) {
    lengths.push_back(std::min(segments[i].size, left));
    displacements.push_back(reinterpret_cast<std::intptr_t>(segments[i].data));
    left -= lengths.back();
  }
  auto byte = TypeDesc::bytes(1);
  if (!byte.ok()) return byte;
  return TypeDesc::indexed(std::move(lengths), std::move(displacements), std::move(byte.value()));
}

}  // namespace

extern "C" int mad_type_serialize(const mad_type* type, void* out, size_t capacity, size_t* size) {
  return guarded([&]() -> int {
    if (const int bad = mad::check_committed(type, "mad_type_serialize")) return bad;
    if (size == nullptr || (out == nullptr && capacity > 0)) {
      return fail(MAD_ERR_ARGUMENT, "mad_type_serialize: out or size is NULL");
    }
    *size = mad::serialized_size(*type->program);
    if (*size > capacity) return MAD_SUCCESS;
    return mad::to_abi(mad::serialize(*type->program, out, capacity).status());
  });
}

extern "C" int mad_type_serialize_part(const mad_type* type, uint64_t count, uint64_t offset,
                                       size_t bytes, size_t unit, void* out, size_t capacity,
                                       size_t* size, size_t* covered) {
  return guarded([&]() -> int {
    const char* const function = "mad_type_serialize_part";
    std::uint64_t total = 0;
    if (const int bad = mad::check_committed(type, function)) return bad;
    if (const int bad = mad::total_bytes(*type->program, count, function, &total)) return bad;
    if (out == nullptr || size == nullptr || covered == nullptr || unit == 0 || bytes < unit ||
        offset > total || total - offset < unit) {
      return fail(MAD_ERR_ARGUMENT,
                  "mad_type_serialize_part: out, size or covered is NULL, or there is no unit");
    }
    // A list of half as many runs takes about half the room.
    for (std::size_t runs = kMostRuns; runs > 0; runs /= 2) {
      auto desc = part_of(*type->program, count, offset, bytes, unit, runs);
      if (!desc.ok()) return mad::to_abi(desc.status());
      if (desc.value()->size() == 0) break;
      auto program = mad::BlockProgram::compile(*desc.value());
      if (!program.ok()) return mad::to_abi(program.status());
      *size = mad::serialized_size(*program.value());
      if (*size > capacity) continue;
      *covered = desc.value()->size();
      return mad::to_abi(mad::serialize(*program.value(), out, capacity).status());
    }
    return fail(MAD_ERR_ARGUMENT, "mad_type_serialize_part: " + std::to_string(capacity) +
                                      " bytes have no room for one unit of " +
                                      std::to_string(unit) + " bytes");
  });
}

extern "C" int mad_type_deserialize(const void* bytes, size_t size, mad_type** out) {
  return guarded([&]() -> int {
    if (out == nullptr || (bytes == nullptr && size > 0)) {
      return fail(MAD_ERR_ARGUMENT, "mad_type_deserialize: bytes or out is NULL");
    }
    auto program = mad::deserialize(bytes, size);
    if (!program.ok()) return mad::to_abi(program.status());
    auto desc = stand_in_for(*program.value());
    if (!desc.ok()) return mad::to_abi(desc.status());
    *out = new mad_type(std::move(desc.value()), std::move(program.value()));
    return MAD_SUCCESS;
  });
}
