#include "madlike/driver/ofi/endpoint.h"

#include <utility>

namespace mad {

OfiConnection::OfiConnection(ConnectionId id, std::vector<std::byte> address, std::uint64_t secret)
    : ConnectionRecord(id, std::move(address)), tag(OfiTag::make(id, secret)) {
  operations.resize(kQueueDepth + 1);
  for (OfiOperation& operation : operations) {
    operation.connection = id;
    free_operations.push_back(&operation);
  }
}

OfiOperation* OfiConnection::take_operation(OfiOperation::Kind kind, void* context) {
  const bool callers = kind == OfiOperation::Kind::kSend || kind == OfiOperation::Kind::kWrite;
  if (free_operations.empty() || (callers && queued == kQueueDepth)) return nullptr;
  OfiOperation* operation = free_operations.back();
  free_operations.pop_back();
  operation->kind = kind;
  operation->context = context;
  operation->busy = true;
  if (callers) ++queued;
  return operation;
}

void OfiConnection::free_operation(OfiOperation* operation) {
  if (operation->busy) abandon_operation(operation);
  free_operations.push_back(operation);
}

void OfiConnection::abandon_operation(OfiOperation* operation) {
  operation->busy = false;
  const OfiOperation::Kind kind = operation->kind;
  if (kind == OfiOperation::Kind::kSend || kind == OfiOperation::Kind::kWrite) --queued;
}

}  // namespace mad
