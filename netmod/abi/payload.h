// Payload: the memory of a message's payload, as a call of the C interface describes it.
#ifndef NETMOD_ABI_PAYLOAD_H_
#define NETMOD_ABI_PAYLOAD_H_

#include <cstdint>

#include "datatype_path/describe/type_desc.h"
#include "datatype_path/transfer/layout_transfer.h"

namespace mad {

struct Payload {
  void* base = nullptr;
  std::uint64_t count = 0;
  const BlockProgramPtr* program = nullptr;  // null: `bytes` bytes at base
  const TypeDescPtr* type = nullptr;         // the program's
  std::uint64_t bytes = 0;                   // all elements, packed
};

/// One that outlives the call, and the type in it.
class HeldPayload {
 public:
  explicit HeldPayload(const Payload& payload) : payload_(payload) {
    if (payload.program == nullptr) return;
    program_ = *payload.program;
    payload_.program = &program_;
    if (payload.type == nullptr) return;
    type_ = *payload.type;
    payload_.type = &type_;
  }
  HeldPayload(const HeldPayload&) = delete;
  HeldPayload& operator=(const HeldPayload&) = delete;

  const Payload& get() const { return payload_; }

 private:
  Payload payload_;
  BlockProgramPtr program_;
  TypeDescPtr type_;
};

}  // namespace mad

#endif  // NETMOD_ABI_PAYLOAD_H_
