// Copies between layouts that are made together.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "datatype_path/cursor/cursor.h"
#include "datatype_path/cursor/joined_copies.h"
#include "datatype_path/kernels/cache_lines.h"
#include "datatype_path/program/shape.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/types.h"

using mad::fail;
using mad::guarded;

struct mad_copies {
  mad::JoinedCopies joined;
};

namespace {

// Whether it may be loops of runs that are alike and shorter than a line: else nothing is to be
// looked for.
bool is_short(const mad_type* type) {
  if (type == nullptr || type->compiled() == nullptr) return false;
  const mad::Shape& shape = type->program->shape();
  return shape.min_run == shape.max_run && shape.max_run < mad::kLineBytes;
}

// The loops of all bytes; `*total` is how many.
int find_loops(const void* base, std::uint64_t count, const mad_type* type, mad::RunLoops* loops,
               std::uint64_t* total) {
  const char* const function = "mad_copies_add";
  if (type == nullptr) {
    loops->address = reinterpret_cast<std::uintptr_t>(base);
    loops->run = *total = count;
    return MAD_SUCCESS;
  }
  if (const int bad = mad::check_committed(type, function)) return bad;
  if (const int bad = mad::total_bytes(type->program->size(), count, function, total)) return bad;
  if (*total == 0) return MAD_SUCCESS;
  *loops = mad::Cursor(*type->program, const_cast<void*>(base), count).next_loops();
  return MAD_SUCCESS;
}

}  // namespace

extern "C" int mad_copies_create(mad_copies** out) {
  return guarded([&]() -> int {
    if (out == nullptr) return fail(MAD_ERR_ARGUMENT, "mad_copies_create: out is NULL");
    *out = std::make_unique<mad_copies>().release();
    return MAD_SUCCESS;
  });
}

extern "C" void mad_copies_destroy(mad_copies* copies) { delete copies; }

extern "C" int mad_copies_add(mad_copies* copies, const void* from, uint64_t from_count,
                              const mad_type* from_type, void* to, uint64_t to_count,
                              const mad_type* to_type, int* taken) {
  return guarded([&]() -> int {
    mad::RunLoops read, written;
    std::uint64_t from_bytes = 0, to_bytes = 0;
    if (copies == nullptr || taken == nullptr) {
      return fail(MAD_ERR_ARGUMENT, "mad_copies_add: copies or taken is NULL");
    }
    *taken = 0;
    if (!is_short(from_type) && !is_short(to_type)) {
      copies->joined.finish();
      return MAD_SUCCESS;
    }
    if (const int bad = find_loops(from, from_count, from_type, &read, &from_bytes)) return bad;
    if (const int bad = find_loops(to, to_count, to_type, &written, &to_bytes)) return bad;
    if (from_bytes != to_bytes) {
      return fail(MAD_ERR_ARGUMENT, "mad_copies_add: the layouts have different numbers of bytes");
    }
    *taken = copies->joined.add(read, written, from_bytes);
    return MAD_SUCCESS;
  });
}

extern "C" void mad_copies_finish(mad_copies* copies) {
  if (copies != nullptr) copies->joined.finish();
}
