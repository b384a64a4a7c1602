#include "netmod/abi/types.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "datatype_path/cursor/copy.h"
#include "datatype_path/cursor/cursor.h"
#include "madlike/base/copy_bytes.h"

mad::Result<const mad::TypeSignature*> mad_type::signature() const {
  using Made = mad::Result<std::shared_ptr<const mad::TypeSignature>>;
  const auto made = signature_.get([&]() -> Made {
    auto typed = mad::TypedProgram::build(desc);
    if (!typed.ok()) return typed.status();
    return mad::TypeSignature::build(std::move(typed.value()));
  });
  if (!made.ok()) return made.status();
  return made.value()->get();
}

namespace mad {

int check_committed(const mad_type* type, const char* function) {
  if (type == nullptr) return fail(MAD_ERR_ARGUMENT, std::string(function) + ": type is NULL");
  if (type->compiled() == nullptr) {
    return fail(MAD_ERR_ARGUMENT, std::string(function) +
                                      ": the type is not committed; call mad_type_commit() first");
  }
  return MAD_SUCCESS;
}

int total_bytes(std::uint64_t size, std::uint64_t count, const char* function,
                std::uint64_t* bytes) {
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(size, count, &total) ||
      total > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return fail(MAD_ERR_ARGUMENT, std::string(function) + ": " + std::to_string(count) +
                                      " elements of " + std::to_string(size) +
                                      " bytes are more than memory can have");
  }
  *bytes = total;
  return MAD_SUCCESS;
}

}  // namespace mad

using mad::fail;
using mad::guarded;

extern "C" void mad_type_retain(mad_type* type) {
  if (type != nullptr) type->retain();
}

extern "C" void mad_type_release(mad_type* type) {
  if (type != nullptr) type->release();
}

extern "C" int mad_type_commit(mad_type* type) {
  return guarded([&]() -> int {
    if (type == nullptr) return fail(MAD_ERR_ARGUMENT, "mad_type_commit: type is NULL");
    const std::lock_guard<std::mutex> lock(type->commit_mutex);
    if (type->compiled() != nullptr) return MAD_SUCCESS;
    auto program = mad::BlockProgram::compile(*type->desc);
    if (!program.ok()) return mad::to_abi(program.status());
    type->program = std::move(program.value());
    type->committed.store(true, std::memory_order_release);
    return MAD_SUCCESS;
  });
}

extern "C" int mad_type_query(const mad_type* type, mad_type_info* info) {
  return guarded([&]() -> int {
    if (const int bad = mad::check_committed(type, "mad_type_query")) return bad;
    if (info == nullptr) return fail(MAD_ERR_ARGUMENT, "mad_type_query: info is NULL");
    const mad::BlockProgram& program = *type->program;
    info->size = program.size();
    info->runs = program.shape().runs;
    info->lb = program.lb();
    info->extent = program.extent();
    info->true_lb = program.true_lb();
    info->true_extent = program.true_extent();
    info->contiguous = program.contiguous() ? 1 : 0;
    return MAD_SUCCESS;
  });
}

extern "C" int mad_type_signature(const mad_type* type, uint64_t count, uint64_t* hash,
                                  uint64_t* elements) {
  return guarded([&]() -> int {
    if (type == nullptr) return fail(MAD_ERR_ARGUMENT, "mad_type_signature: type is NULL");
    if (hash == nullptr || elements == nullptr) {
      return fail(MAD_ERR_ARGUMENT, "mad_type_signature: hash or elements is NULL");
    }
    static_assert(MAD_SIGNATURE_ANY == mad::Signature::kMatchesAll);
    std::uint64_t bytes = 0;  // no fewer than elements
    if (const int bad = mad::total_bytes(type->desc->size(), count, "mad_type_signature", &bytes)) {
      return bad;
    }
    const auto signature = type->signature();
    if (!signature.ok()) return mad::to_abi(signature.status());
    const mad::Signature value = signature.value()->of(count);
    *hash = value.hash;
    *elements = value.elements;
    return MAD_SUCCESS;
  });
}

extern "C" int mad_type_signature_prefix(const mad_type* type, uint64_t elements, uint64_t* hash) {
  return guarded([&]() -> int {
    if (type == nullptr || hash == nullptr) {
      return fail(MAD_ERR_ARGUMENT, "mad_type_signature_prefix: type or hash is NULL");
    }
    if (elements > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
        (elements > 0 && type->desc->size() == 0)) {
      return fail(MAD_ERR_ARGUMENT, "mad_type_signature_prefix: no count of the type has " +
                                        std::to_string(elements) + " elements");
    }
    const auto signature = type->signature();
    if (!signature.ok()) return mad::to_abi(signature.status());
    *hash = signature.value()->prefix(elements).hash;
    return MAD_SUCCESS;
  });
}

extern "C" int mad_type_first_kind(const mad_type* type, mad_basic* kind) {
  return guarded([&]() -> int {
    if (type == nullptr || kind == nullptr) {
      return fail(MAD_ERR_ARGUMENT, "mad_type_first_kind: type or kind is NULL");
    }
    if (type->desc->elements() == 0) {
      return fail(MAD_ERR_ARGUMENT, "mad_type_first_kind: the type has no elements");
    }
    const auto signature = type->signature();
    if (!signature.ok()) return mad::to_abi(signature.status());
    *kind = static_cast<mad_basic>(signature.value()->first());
    return MAD_SUCCESS;
  });
}

namespace {

// Whether the elements can be moved and have the byte `offset`, or end there; NULL: bytes.
int check_offset(const char* function, std::uint64_t count, const mad_type* type,
                 std::uint64_t offset, std::uint64_t* total) {
  std::uint64_t each = 1;
  if (type != nullptr) {
    if (const int bad = mad::check_committed(type, function)) return bad;
    each = type->program->size();
  }
  if (const int bad = mad::total_bytes(each, count, function, total)) return bad;
  if (offset <= *total) return MAD_SUCCESS;
  return fail(MAD_ERR_ARGUMENT, std::string(function) + ": offset " + std::to_string(offset) +
                                    " lies beyond the " + std::to_string(*total) +
                                    " bytes of the data");
}

mad::Cursor cursor_at(std::uint64_t offset, const void* base, std::uint64_t count,
                      const mad_type& type) {
  mad::Cursor cursor(*type.program, const_cast<void*>(base), count);
  if (offset > 0) cursor.seek(offset);
  return cursor;
}

// What mad_type_pack() and mad_type_unpack() have in common: checks, then a cursor at `offset`.
template <typename Move>
int move_bytes(const char* function, const void* base, std::uint64_t count, const mad_type* type,
               std::uint64_t offset, const void* bytes, std::size_t size, std::size_t* moved,
               Move&& move) {
  if (type == nullptr) return mad::check_committed(type, function);
  std::uint64_t total = 0;
  if (const int bad = check_offset(function, count, type, offset, &total)) return bad;
  if (moved == nullptr || (bytes == nullptr && size > 0)) {
    return fail(MAD_ERR_ARGUMENT, std::string(function) + ": the buffer or moved is NULL");
  }
  if (total == 0 || size == 0) {
    *moved = 0;
    return MAD_SUCCESS;
  }
  mad::Cursor cursor = cursor_at(offset, base, count, *type);
  *moved = move(cursor);
  return MAD_SUCCESS;
}

}  // namespace

extern "C" int mad_type_pack(const void* base, uint64_t count, const mad_type* type,
                             uint64_t offset, void* out, size_t size, size_t* moved) {
  return guarded([&] {
    return move_bytes("mad_type_pack", base, count, type, offset, out, size, moved,
                      [&](mad::Cursor& cursor) { return cursor.pack(out, size); });
  });
}

extern "C" int mad_type_unpack(void* base, uint64_t count, const mad_type* type, uint64_t offset,
                               const void* in, size_t size, size_t* moved) {
  return guarded([&] {
    return move_bytes("mad_type_unpack", base, count, type, offset, in, size, moved,
                      [&](mad::Cursor& cursor) { return cursor.unpack(in, size); });
  });
}

extern "C" int mad_type_runs(const void* base, uint64_t count, const mad_type* type,
                             uint64_t offset, size_t bytes, mad_run* runs, size_t capacity,
                             size_t* found) {
  return guarded([&]() -> int {
    const char* const function = "mad_type_runs";
    std::uint64_t total = 0;
    if (const int bad = mad::check_committed(type, function)) return bad;
    if (const int bad = check_offset(function, count, type, offset, &total)) return bad;
    if (found == nullptr || (runs == nullptr && capacity > 0)) {
      return fail(MAD_ERR_ARGUMENT, "mad_type_runs: runs or found is NULL");
    }
    *found = 0;
    if (total == 0) return MAD_SUCCESS;
    mad::Cursor cursor = cursor_at(offset, base, count, *type);
    for (; *found < capacity && bytes > 0 && cursor.position() < total; ++*found) {
      const mad::Segment run = cursor.next_run(bytes);
      runs[*found] = {run.data, run.size};
      cursor.advance(run.size);
      bytes -= run.size;
    }
    return MAD_SUCCESS;
  });
}

void mad::copy_elements(const void* from, std::uint64_t from_count, const mad_type* from_type,
                        void* to, std::uint64_t to_count, const mad_type* to_type,
                        std::uint64_t offset, std::size_t bytes) {
  const auto run = [&] { return static_cast<const std::byte*>(from) + offset; };
  const auto place = [&] { return static_cast<std::byte*>(to) + offset; };
  if (from_type == nullptr && to_type == nullptr) {
    copy_bytes(place(), run(), bytes);
  } else if (from_type == nullptr) {
    cursor_at(offset, to, to_count, *to_type).unpack(run(), bytes);
  } else if (to_type == nullptr) {
    cursor_at(offset, from, from_count, *from_type).pack(place(), bytes);
  } else {
    mad::Cursor reader = cursor_at(offset, from, from_count, *from_type);
    mad::Cursor writer = cursor_at(offset, to, to_count, *to_type);
    mad::copy(reader, writer, bytes);
  }
}

extern "C" int mad_type_copy(const void* from, uint64_t from_count, const mad_type* from_type,
                             void* to, uint64_t to_count, const mad_type* to_type, uint64_t offset,
                             size_t size, size_t* moved) {
  return guarded([&]() -> int {
    const char* const function = "mad_type_copy";
    std::uint64_t read = 0, written = 0;
    if (const int bad = check_offset(function, from_count, from_type, offset, &read)) return bad;
    if (const int bad = check_offset(function, to_count, to_type, offset, &written)) return bad;
    if (moved == nullptr) return fail(MAD_ERR_ARGUMENT, "mad_type_copy: moved is NULL");
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>({size, read - offset, written - offset}));
    *moved = bytes;
    if (bytes == 0) return MAD_SUCCESS;
    mad::copy_elements(from, from_count, from_type, to, to_count, to_type, offset, bytes);
    return MAD_SUCCESS;
  });
}
