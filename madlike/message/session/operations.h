// OutgoingOperation, IncomingOperation: what is in flight knows whom to tell when it is done.
//
// A messenger reports an outgoing message by reference and an accepted one by its context.  Where
// several users share a messenger (the engine's own messages, Madeleine sessions), all of them
// derive from these two, so that the owner of the messenger passes the news on without knowing who
// they are.
#ifndef MADLIKE_MESSAGE_SESSION_OPERATIONS_H_
#define MADLIKE_MESSAGE_SESSION_OPERATIONS_H_

#include <cstdint>

#include "madlike/base/status.h"
#include "madlike/message/messenger.h"

namespace mad {

struct OutgoingOperation : OutgoingMessage {
  /// The message's memory is free again; may destroy the operation.
  virtual void finished(const Status& status) = 0;

 protected:
  ~OutgoingOperation() = default;
};

struct IncomingOperation {
  /// The accepted payload is in place; may destroy the operation.
  virtual void finished(std::uint64_t bytes, const Status& status) = 0;
  /// What accept() gets as its context, and the way back.
  void* as_context() { return this; }
  static IncomingOperation& from_context(void* context) {
    return *static_cast<IncomingOperation*>(context);
  }

 protected:
  ~IncomingOperation() = default;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SESSION_OPERATIONS_H_
