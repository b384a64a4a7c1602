#include "datatype_path/transfer/receive_transfer.h"

#include <cstddef>

#include "datatype_path/cursor/cursor.h"

namespace mad {

PayloadSink& ReceiveTransfer::start_layout(const BlockProgramPtr& program, void* base,
                                           std::uint64_t count, std::uint64_t bytes,
                                           const Plan& plan) {
  if (plan.path == Path::kPack) {
    return sink_.emplace<PackedSink>(program, base, count, bytes);
  }
  if (plan.path == Path::kContiguous) {
    Cursor cursor(*program, base, count);
    return start_run(cursor.next_run(static_cast<std::size_t>(cursor.total())));
  }
  return sink_.emplace<LayoutSink>(program, base, count, plan.path == Path::kGather);
}

}  // namespace mad
