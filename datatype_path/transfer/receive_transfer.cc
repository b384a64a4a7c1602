#include "datatype_path/transfer/receive_transfer.h"

#include <cstddef>

#include "datatype_path/cursor/cursor.h"

namespace mad {

PayloadSink& ReceiveTransfer::start_layout(const BlockProgramPtr& program, void* base,
                                           std::uint64_t count, std::uint64_t bytes,
                                           const Plan& plan, LineMemory* lines) {
  if (plan.path == Path::kPack) {
    return sink_.emplace<PackedSink>(program, base, count, bytes);
  }
  if (plan.path == Path::kContiguous) {
    Cursor cursor(*program, base, count);
    return start_run(cursor.next_run(static_cast<std::size_t>(cursor.total())));
  }
  if (plan.path == Path::kPipeline && bytes > LineSink::kPiece) {
    const std::size_t window = LineSink::bytes_of_lines(*program, count);
    std::byte* const memory = window == 0 || lines == nullptr ? nullptr : lines->take();
    if (memory != nullptr) {
      return sink_.emplace<LineSink>(program, base, count, window, memory, lines);
    }
  }
  return sink_.emplace<LayoutSink>(program, base, count, plan.path == Path::kGather);
}

}  // namespace mad
