#include "madlike/driver/ofi/endpoint.h"

#include <utility>

namespace mad {
namespace {

bool is_callers(OfiOperation::Kind kind) {
  return kind != OfiOperation::Kind::kCredit && kind != OfiOperation::Kind::kAsk &&
         kind != OfiOperation::Kind::kLast;
}

}  // namespace

OfiConnection::OfiConnection(ConnectionId id, std::vector<std::byte> address, std::uint64_t secret)
    : ConnectionRecord(id, std::move(address)), Conversation(OfiTag::make(id, secret)) {
  operations.resize(kOperations);
  for (OfiOperation& operation : operations) {
    operation.connection = id;
    free_operations.push_back(&operation);
  }
}

OfiOperation* OfiConnection::take_operation(OfiOperation::Kind kind, void* context) {
  // What it is that may fill the queue: whatever the caller has posted, the rest has its record.
  const bool callers = is_callers(kind);
  const bool to_the_last = callers || kind == OfiOperation::Kind::kLast;
  const std::size_t left = to_the_last ? 0 : 1;
  if (free_operations.size() <= left || (callers && queued == kQueueDepth)) return nullptr;
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
  if (is_callers(operation->kind)) --queued;
}

}  // namespace mad
