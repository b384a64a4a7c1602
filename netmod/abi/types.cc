#include "netmod/abi/types.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "datatype_path/cursor/copy.h"
#include "datatype_path/cursor/cursor.h"

mad::Result<const mad::TypeSignature*> mad_type::signature() const {
  if (const auto* made = signature_made_.load(std::memory_order_acquire)) return made;
  const std::lock_guard<std::mutex> lock(signature_mutex_);
  if (!signature_) {
    auto typed = mad::TypedProgram::build(desc);
    if (!typed.ok()) return typed.status();
    auto made = mad::TypeSignature::build(std::move(typed.value()));
    if (!made.ok()) return made.status();
    signature_ = std::move(made.value());
    signature_made_.store(signature_.get(), std::memory_order_release);
  }
  return signature_.get();
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
  if (type != nullptr) type->references.fetch_add(1, std::memory_order_relaxed);
}

extern "C" void mad_type_release(mad_type* type) {
  if (type == nullptr) return;
  if (type->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete type;
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

// What mad_type_pack() and mad_type_unpack() have in common: checks, then a cursor at `offset`.
template <typename Move>
int move_bytes(const char* function, const void* base, std::uint64_t count, const mad_type* type,
               std::uint64_t offset, const void* bytes, std::size_t size, std::size_t* moved,
               Move&& move) {
  if (const int bad = mad::check_committed(type, function)) return bad;
  std::uint64_t total = 0;
  if (const int bad = mad::total_bytes(*type->program, count, function, &total)) return bad;
  if (moved == nullptr || (bytes == nullptr && size > 0)) {
    return fail(MAD_ERR_ARGUMENT, std::string(function) + ": the buffer or moved is NULL");
  }
  if (offset > total) {
    return fail(MAD_ERR_ARGUMENT, std::string(function) + ": offset " + std::to_string(offset) +
                                      " lies beyond the " + std::to_string(total) +
                                      " bytes of the data");
  }
  if (total == 0 || size == 0) {
    *moved = 0;
    return MAD_SUCCESS;
  }
  mad::Cursor cursor(*type->program, const_cast<void*>(base), count);
  cursor.seek(offset);
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

namespace {

// One side of mad_type_copy().
struct Side {
  void* base;
  std::uint64_t count;
  const mad_type* type;  // null: bytes
  std::uint64_t bytes = 0;

  int measure() {
    if (type != nullptr) {
      if (const int bad = mad::check_committed(type, "mad_type_copy")) return bad;
    }
    return mad::total_bytes(type == nullptr ? 1 : type->program->size(), count, "mad_type_copy",
                            &bytes);
  }
  mad::Cursor cursor() const { return {*type->program, base, count}; }
};

std::size_t copy_bytes(const Side& from, const Side& to) {
  const std::size_t size = std::min(from.bytes, to.bytes);
  if (size == 0) return 0;
  if (from.type == nullptr && to.type == nullptr) {
    std::memcpy(to.base, from.base, size);
    return size;
  }
  if (to.type == nullptr) return from.cursor().pack(to.base, size);
  mad::Cursor places = to.cursor();
  if (from.type == nullptr) return places.unpack(from.base, size);
  mad::Cursor source = from.cursor();
  return mad::copy(source, places, size);
}

}  // namespace

extern "C" int mad_type_copy(const void* from, uint64_t from_count, const mad_type* from_type,
                             void* to, uint64_t to_count, const mad_type* to_type, size_t* moved) {
  return guarded([&]() -> int {
    Side source{const_cast<void*>(from), from_count, from_type};
    Side places{to, to_count, to_type};
    if (moved == nullptr) return fail(MAD_ERR_ARGUMENT, "mad_type_copy: moved is NULL");
    if (const int bad = source.measure()) return bad;
    if (const int bad = places.measure()) return bad;
    *moved = copy_bytes(source, places);
    return MAD_SUCCESS;
  });
}
