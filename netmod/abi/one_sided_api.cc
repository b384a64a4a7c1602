// The C functions of memory that is shared with peers: they check what the caller gave, then call
// mad_engine.
#include <string>

#include "netmod/abi/engine.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/message_checks.h"

namespace {

using mad::fail;
using mad::guarded;

int bad(const char* function, const std::string& what) {
  return fail(MAD_ERR_ARGUMENT, std::string(function) + ": " + what);
}

int check_engine(const char* function, const mad_engine* engine) {
  if (engine == nullptr) return bad(function, "engine is NULL");
  if (!engine->closing()) return MAD_SUCCESS;
  return fail(MAD_ERR_CLOSED, std::string(function) + ": the engine is being closed");
}

int check_access(const char* function, const mad_engine* engine, const mad_peer* peer,
                 const mad_region_key* region, const void* data, std::size_t bytes,
                 const mad_op* op) {
  if (const int error = mad::check_peer(function, engine, peer)) return error;
  if (region == nullptr) return bad(function, "region is NULL");
  if (data == nullptr) return bad(function, "the data are NULL");
  if (bytes == 0) return bad(function, "there are no bytes");
  if (op == nullptr) return bad(function, "op is NULL");
  return MAD_SUCCESS;
}

}  // namespace

extern "C" int mad_region_share(mad_engine* engine, void* base, size_t bytes, mad_region** out) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_region_share";
    if (const int error = check_engine(kName, engine)) return error;
    if (base == nullptr) return bad(kName, "base is NULL");
    if (bytes == 0) return bad(kName, "there are no bytes");
    if (out == nullptr) return bad(kName, "out is NULL");
    auto shared = engine->share({base, bytes});
    if (!shared.ok()) {
      return shared.status().again() ? static_cast<int>(MAD_NOT_NOW) : mad::to_abi(shared.status());
    }
    *out = *shared;
    return MAD_SUCCESS;
  });
}

extern "C" void mad_region_get_key(const mad_region* region, mad_region_key* out) {
  if (region != nullptr && out != nullptr) *out = region->key;
}

extern "C" void mad_region_unshare(mad_engine* engine, mad_region* region) {
  (void)guarded([&]() -> int {
    if (region == nullptr) return MAD_SUCCESS;
    if (const int error = check_engine("mad_region_unshare", engine)) return error;
    engine->unshare(*region);
    return MAD_SUCCESS;
  });
}

extern "C" int mad_put(mad_engine* engine, mad_peer* peer, const mad_region_key* region,
                       uint64_t offset, const void* from, size_t bytes, mad_op* op) {
  return guarded([&]() -> int {
    if (const int error = check_access("mad_put", engine, peer, region, from, bytes, op)) {
      return error;
    }
    if (!engine->reaches(*peer, *region)) return MAD_NOT_NOW;
    const mad::Segment data{const_cast<void*>(from), bytes};  // only read
    return mad::to_abi(engine->put(*peer, *region, offset, data, op));
  });
}

extern "C" int mad_get(mad_engine* engine, mad_peer* peer, const mad_region_key* region,
                       uint64_t offset, void* to, size_t bytes, mad_op* op) {
  return guarded([&]() -> int {
    if (const int error = check_access("mad_get", engine, peer, region, to, bytes, op)) {
      return error;
    }
    if (!engine->reaches(*peer, *region)) return MAD_NOT_NOW;
    return mad::to_abi(engine->get(*peer, *region, offset, {to, bytes}, op));
  });
}
