// Payload: the memory of a message's payload, as a call of the C interface describes it.
#ifndef NETMOD_ABI_PAYLOAD_H_
#define NETMOD_ABI_PAYLOAD_H_

#include <cstdint>

#include "datatype_path/program/block_program.h"
#include "netmod/abi/types.h"

namespace mad {

struct Payload {
  void* base = nullptr;
  std::uint64_t count = 0;
  const mad_type* type = nullptr;  // committed; null: `bytes` bytes at base
  std::uint64_t bytes = 0;         // all elements, packed

  /// Of a layout.
  const BlockProgram& program() const { return *type->program; }
};

/// One that outlives the call, with its type.
class HeldPayload {
 public:
  explicit HeldPayload(const Payload& payload) : payload_(payload) {
    if (payload_.type != nullptr) payload_.type->retain();
  }
  ~HeldPayload() {
    if (payload_.type != nullptr) payload_.type->release();
  }
  HeldPayload(const HeldPayload&) = delete;
  HeldPayload& operator=(const HeldPayload&) = delete;

  const Payload& get() const { return payload_; }

 private:
  const Payload payload_;
};

}  // namespace mad

#endif  // NETMOD_ABI_PAYLOAD_H_
