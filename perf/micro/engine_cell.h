// EngineCell: a cell as this engine and the hand-written loops pack and unpack it.
//
// The cursor is made for every call, as a library makes one for every message; the program is
// compiled once, as at commit.
#ifndef PERF_MICRO_ENGINE_CELL_H_
#define PERF_MICRO_ENGINE_CELL_H_

#include <cstdint>

#include "datatype_path/checksum/checked_moves.h"
#include "datatype_path/cursor/cursor.h"
#include "perf/micro/cell.h"
#include "perf/micro/engine_type.h"

namespace micro {

class EngineCell {
 public:
  static constexpr std::int64_t kFragment = 64 << 10;  // bytes

  EngineCell(const LayoutKind& kind, std::int64_t payload);

  /// Engine and loops, whole, in fragments, and in fragments that end anywhere and come in any
  /// order: throws std::runtime_error with the first wrong byte.
  void verify() const;

  std::int64_t bytes() const { return cell_.bytes(); }
  const Layout& layout() const { return cell_.layout(); }

  void pack() const { cursor().pack(cell_.packed(), static_cast<std::size_t>(bytes())); }
  void unpack() const { cursor().unpack(cell_.packed(), static_cast<std::size_t>(bytes())); }
  /// Through the caches at any size, as fragments are packed: pack() writes past them from 32 MiB
  /// on.
  void pack_cached() const {
    cursor().pack_short_runs(cell_.packed(), static_cast<std::size_t>(bytes()), SIZE_MAX);
  }
  /// One cursor that stops and resumes.
  void pack_fragments() const {
    mad::Cursor cursor = this->cursor();
    for (std::int64_t at = 0; at < bytes(); at += kFragment) {
      cursor.pack(cell_.packed() + at, kFragment);
    }
  }
  /// The CRC32C of the packed bytes, computed while they are packed.
  std::uint32_t pack_checked() const {
    mad::Cursor cursor = this->cursor();
    std::uint32_t crc = 0;
    mad::pack_with_crc32c(cursor, cell_.packed(), static_cast<std::size_t>(bytes()), &crc);
    return crc;
  }
  void pack(const Loop& loop) const {
    loop.pack(cell_.packed(), cell_.user(), cell_.layout().arguments);
  }
  void unpack(const Loop& loop) const {
    loop.unpack(cell_.packed(), cell_.user(), cell_.layout().arguments);
  }

 private:
  mad::Cursor cursor() const {
    return {*program_, cell_.user(), static_cast<std::uint64_t>(cell_.layout().count)};
  }
  void pack_out_of_order(unsigned seed) const;
  void verify_loop(const char* who, const Loop& loop) const;

  Cell cell_;
  const Loop* plain_;
  ProgramPtr program_;
};

}  // namespace micro

#endif  // PERF_MICRO_ENGINE_CELL_H_
