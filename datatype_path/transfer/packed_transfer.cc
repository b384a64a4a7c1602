#include "datatype_path/transfer/packed_transfer.h"

#include <utility>

namespace mad {
namespace {

std::unique_ptr<std::byte[]> pack_all(Cursor cursor) {
  const auto bytes = static_cast<std::size_t>(cursor.total());
  std::unique_ptr<std::byte[]> buffer(new std::byte[bytes]);
  cursor.pack(buffer.get(), bytes);
  return buffer;
}

}  // namespace

PackedSource::PackedSource(const BlockProgram& program, void* base, std::uint64_t count,
                           std::uint64_t reference_from)
    : buffer_(pack_all(Cursor(program, base, count))),
      packed_({buffer_.get(), static_cast<std::size_t>(Cursor(program, base, count).total())},
              reference_from) {}

PackedSink::PackedSink(BlockProgramPtr program, void* base, std::uint64_t count,
                       std::uint64_t bytes)
    : buffer_(new std::byte[static_cast<std::size_t>(bytes)]),
      collected_({buffer_.get(), static_cast<std::size_t>(bytes)}),
      program_(std::move(program)),
      base_(base),
      count_(count) {}

void PackedSink::finish(std::uint64_t bytes) {
  Cursor(*program_, base_, count_).unpack(buffer_.get(), static_cast<std::size_t>(bytes));
}

}  // namespace mad
