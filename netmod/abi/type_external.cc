// Types as MPI's external32, the representation that all machines share.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "datatype_path/convert/architecture.h"
#include "datatype_path/convert/conversion_plan.h"
#include "datatype_path/convert/packing_converter.h"
#include "datatype_path/convert/unpacking_converter.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/mad.h"
#include "netmod/abi/types.h"

using mad::fail;
using mad::guarded;

mad::Result<std::shared_ptr<const mad::ConversionPlan>> mad_type::external() const {
  using Made = mad::Result<std::shared_ptr<const mad::ConversionPlan>>;
  const auto made = external_.get([&]() -> Made {
    auto typed = mad::TypedProgram::build(desc);
    if (!typed.ok()) return typed.status();
    return mad::ConversionPlan::make(std::move(typed.value()), mad::Architecture::external32());
  });
  if (!made.ok()) return made.status();
  return *made.value();
}

namespace {

// Some elements of a type, and their bytes in external32.
struct External {
  std::shared_ptr<const mad::ConversionPlan> plan;
  std::uint64_t bytes = 0;
};

int find_external(const char* function, const mad_type* type, std::uint64_t count,
                  const std::uint64_t* bytes, External* out) {
  if (type == nullptr || bytes == nullptr) {
    return fail(MAD_ERR_ARGUMENT, std::string(function) + ": type or bytes is NULL");
  }
  if (type->foreign) {
    return fail(MAD_ERR_ARGUMENT, std::string(function) +
                                      ": the type is of another process (mad_type_deserialize()), "
                                      "of whose elements nothing is known here");
  }
  auto plan = type->external();
  if (!plan.ok()) return mad::to_abi(plan.status());
  const auto total = plan.value()->remote_bytes(count);
  if (!total.ok()) return mad::to_abi(total.status());
  *out = {std::move(plan.value()), total.value()};
  return MAD_SUCCESS;
}

// The same for data that is moved: `memory` of `size` bytes has it in external32.
int find_moved(const char* function, const mad_type* type, std::uint64_t count, const void* memory,
               std::size_t size, const std::uint64_t* bytes, External* out) {
  if (const int bad = find_external(function, type, count, bytes, out)) return bad;
  if (out->bytes > size) {
    return fail(MAD_ERR_TRUNCATED, std::string(function) + ": " + std::to_string(count) +
                                       " elements are " + std::to_string(out->bytes) +
                                       " bytes of external32, the buffer has " +
                                       std::to_string(size));
  }
  if (memory == nullptr && out->bytes > 0) {
    return fail(MAD_ERR_ARGUMENT, std::string(function) + ": the buffer is NULL");
  }
  return MAD_SUCCESS;
}

}  // namespace

extern "C" int mad_type_external_size(const mad_type* type, uint64_t count, uint64_t* bytes) {
  return guarded([&]() -> int {
    External external;
    if (const int bad = find_external("mad_type_external_size", type, count, bytes, &external)) {
      return bad;
    }
    *bytes = external.bytes;
    return MAD_SUCCESS;
  });
}

extern "C" int mad_type_pack_external(const void* base, uint64_t count, const mad_type* type,
                                      void* out, size_t room, uint64_t* bytes) {
  return guarded([&]() -> int {
    External external;
    if (const int bad =
            find_moved("mad_type_pack_external", type, count, out, room, bytes, &external)) {
      return bad;
    }
    *bytes = external.bytes;
    mad::PackingConverter converter(std::move(external.plan), base, count);
    return mad::to_abi(converter.pack(0, out, external.bytes));
  });
}

extern "C" int mad_type_unpack_external(void* base, uint64_t count, const mad_type* type,
                                        const void* in, size_t size, uint64_t* bytes) {
  return guarded([&]() -> int {
    External external;
    if (const int bad =
            find_moved("mad_type_unpack_external", type, count, in, size, bytes, &external)) {
      return bad;
    }
    *bytes = external.bytes;
    mad::UnpackingConverter converter(std::move(external.plan), base, count);
    return mad::to_abi(converter.unpack(0, in, external.bytes));
  });
}
