// What the C functions of messages check of what their caller gave.
#ifndef NETMOD_ABI_MESSAGE_CHECKS_H_
#define NETMOD_ABI_MESSAGE_CHECKS_H_

#include <cstdint>

#include "netmod/abi/mad.h"
#include "netmod/abi/payload.h"

namespace mad {

/// Whether something can be sent to the peer; `function` names the caller in the error's sentence.
int check_peer(const char* function, const mad_engine* engine, const mad_peer* peer);
/// Reads memory that is to be sent, or received into.
int check_payload(const char* function, const void* base, std::uint64_t count, const mad_type* type,
                  const mad_path& given_path, Payload* out);

}  // namespace mad

#endif  // NETMOD_ABI_MESSAGE_CHECKS_H_
