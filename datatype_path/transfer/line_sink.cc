#include "datatype_path/transfer/line_sink.h"

#include <algorithm>
#include <new>
#include <utility>

#include "madlike/base/copy_bytes.h"

namespace mad {
namespace {

// The loop over columns, if the layout is a matrix by columns.
const LoopNode* columns_of(const BlockProgram& program) {
  if (program.size() == 0) return nullptr;
  if (program.top().tile_trips != 0) return &program.top();
  return program.entry().tile_trips != 0 ? &program.entry() : nullptr;
}

}  // namespace

std::byte* LineMemory::take() {
  if (is_taken_) return nullptr;
  if (bytes_ == nullptr) bytes_.reset(new (std::nothrow) std::byte[kBytes]);
  is_taken_ = bytes_ != nullptr;
  return bytes_.get();
}

std::size_t LineSink::bytes_of_lines(const BlockProgram& program) {
  const LoopNode* const columns = columns_of(program);
  if (columns == nullptr) return 0;
  const std::uint64_t column = columns->body_bytes, line = column * columns->tile_trips;
  if (2 * line < kPiece || 2 * column > LineMemory::kBytes) return 0;
  const std::uint64_t step = line <= LineMemory::kBytes ? line : column;
  return LineMemory::kBytes / step * step;
}

LineSink::LineSink(BlockProgramPtr program, void* base, std::uint64_t count, std::size_t window,
                   std::byte* lines, LineMemory* memory)
    : layout_(std::move(program), base, count, false),
      window_(window),
      lines_(lines),
      memory_(memory) {}

void LineSink::place(std::uint64_t offset, Segment bytes) {
  if (offset != begin_ + waiting_) {
    finish();
    begin_ = offset;
  }
  while (bytes.size > 0) {
    const std::uint64_t end = (begin_ / window_ + 1) * window_;
    const auto room = static_cast<std::size_t>(end - begin_) - waiting_;
    const std::size_t taken = std::min(room, bytes.size);
    if (waiting_ == 0 && taken == room) {  // lines are whole as they come
      layout_.place(begin_, {bytes.data, taken});
      begin_ = end;
    } else {
      copy_bytes(lines_ + waiting_, bytes.data, taken);
      waiting_ += taken;
      if (taken == room) finish();
    }
    bytes = {bytes.begin() + taken, bytes.size - taken};
  }
}

void LineSink::finish() {
  if (waiting_ == 0) return;
  layout_.place(begin_, {lines_, waiting_});
  begin_ += waiting_;
  waiting_ = 0;
}

}  // namespace mad
