// Types as bytes for another process, and back.
#include <cstddef>
#include <utility>

#include "datatype_path/serial/program_bytes.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/types.h"

using mad::fail;
using mad::guarded;
using mad::TypeDesc;

namespace {

// As many bytes, with the same bounds.
mad::Result<mad::TypeDescPtr> stand_in_for(const mad::BlockProgram& program) {
  auto bytes = TypeDesc::bytes(program.size());
  if (!bytes.ok()) return bytes;
  return TypeDesc::resized(program.lb(), program.extent(), std::move(bytes.value()));
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
