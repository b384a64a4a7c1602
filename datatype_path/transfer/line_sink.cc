#include "datatype_path/transfer/line_sink.h"

#include <algorithm>
#include <new>
#include <utility>

#include "madlike/base/copy_bytes.h"

namespace mad {
namespace {

struct Columns {
  std::uint64_t bytes = 0;    // of each
  std::uint64_t in_line = 0;  // whose elements stand in one line
};

Columns columns_of(const LoopNode& loop, std::uint64_t trips) {
  return {loop.body_bytes, std::min<std::uint64_t>(loop.tile_trips, trips)};
}

// Those of a matrix by columns; else none.
Columns columns_of(const BlockProgram& program, std::uint64_t count) {
  if (program.size() == 0) return {};
  const LoopNode &top = program.top(), &entry = program.entry();
  if (top.tile_trips != 0) return columns_of(top, top.count * count);
  return entry.tile_trips != 0 ? columns_of(entry, entry.count) : Columns{};
}

}  // namespace

std::byte* LineMemory::take() {
  if (is_taken_) return nullptr;
  if (bytes_ == nullptr) bytes_.reset(new (std::nothrow) std::byte[kBytes]);
  is_taken_ = bytes_ != nullptr;
  return bytes_.get();
}

std::size_t LineSink::bytes_of_lines(const BlockProgram& program, std::uint64_t count) {
  const Columns columns = columns_of(program, count);
  const std::uint64_t line = columns.bytes * columns.in_line;
  if (columns.in_line < 2 || 2 * line < kPiece || 2 * columns.bytes > LineMemory::kBytes) return 0;
  const std::uint64_t step = line <= LineMemory::kBytes ? line : columns.bytes;
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
