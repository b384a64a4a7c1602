// What the C functions of messages check of what their caller gave.
#ifndef NETMOD_ABI_MESSAGE_CHECKS_H_
#define NETMOD_ABI_MESSAGE_CHECKS_H_

#include <cstdint>

#include "netmod/abi/c_enum.h"
#include "netmod/abi/engine.h"
#include "netmod/abi/mad.h"
#include "netmod/abi/payload.h"

namespace mad {

// `function` names the caller in an error's sentence.  What is right is found in line.

/// Why nothing can be sent to the peer.
int wrong_peer(const char* function, const mad_engine* engine, const mad_peer* peer);
/// Whether something can.
inline int check_peer(const char* function, const mad_engine* engine, const mad_peer* peer) {
  const bool right = engine != nullptr && peer != nullptr && peer->engine == engine &&
                     !engine->closing() && peer->status == MAD_SUCCESS;
  return right ? static_cast<int>(MAD_SUCCESS) : wrong_peer(function, engine, peer);
}

/// Of which the product is no more than memory can have.
constexpr std::uint64_t kFewElements = UINT32_MAX, kFewBytes = INT32_MAX;

/// check_payload() of any.
int check_any_payload(const char* function, const void* base, std::uint64_t count,
                      const mad_type* type, int path, Payload* out);
/// Reads memory that is to be sent, or received into.
[[gnu::always_inline]] inline int check_payload(const char* function, const void* base,
                                                std::uint64_t count, const mad_type* type,
                                                const mad_path& given_path, Payload* out) {
  const int path = c_value(given_path);
  const bool is_run = type == nullptr && base != nullptr && path >= 0 && path < MAD_PATH_COUNT;
  const bool is_layout = type != nullptr && path == MAD_PATH_AUTO && type->compiled() != nullptr &&
                         count <= kFewElements && type->program->size() <= kFewBytes;
  if (!is_run && !is_layout) {
    Payload other;  // so that `out`, whose address nobody gets, may be in registers
    const int error = check_any_payload(function, base, count, type, path, &other);
    *out = other;
    return error;
  }
  out->base = const_cast<void*>(base);  // what is sent is not written to
  out->count = count;
  out->type = type;
  out->bytes = is_run ? count : count * type->program->size();
  return MAD_SUCCESS;
}

}  // namespace mad

#endif  // NETMOD_ABI_MESSAGE_CHECKS_H_
