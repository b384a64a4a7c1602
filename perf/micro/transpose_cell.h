// TransposeCell: a matrix, or a quarter of one, transposed by copy(), by hand-written loops, and by
// packing and unpacking through a buffer.
#ifndef PERF_MICRO_TRANSPOSE_CELL_H_
#define PERF_MICRO_TRANSPOSE_CELL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "datatype_path/cursor/cursor.h"
#include "perf/micro/cell.h"
#include "perf/micro/engine_type.h"
#include "perf/micro/transpose_loops.h"

namespace micro {

struct TransposeKind {
  std::string name;
  std::int64_t element;  // bytes
  std::int64_t share;    // of each row: the whole (1), or half of it and of the rows (2)
};

/// Elements of 4, 8, 16 and 32 bytes, the whole matrix and a quarter.
const std::vector<TransposeKind>& transpose_kinds();

/// Payload bytes that are measured; pitches are powers of two.
constexpr std::int64_t kTransposed[] = {64 << 10, 1 << 20, 4 << 20, 16 << 20};
constexpr std::int64_t kBlocks[] = {4, 8, 16, 32, 64};

class TransposeCell {
 public:
  static constexpr std::int64_t kFragment = 16 << 10;  // bytes

  TransposeCell(const TransposeKind& kind, std::int64_t payload);

  /// Everybody: throws std::runtime_error with who wrote a wrong byte.
  void verify() const;

  std::int64_t bytes() const { return rows_ * columns_ * element_; }

  void copy() const;
  void loop(std::int64_t block, bool reads_rows) const;
  void pack_and_unpack() const;
  /// The columns out of a stream, whole or as fragments arrive; and what a program does with it.
  void unpack() const;
  void unpack_fragments() const;
  void unpack_loop(std::int64_t block, bool reads_rows) const;

 private:
  mad::Cursor reader() const;
  mad::Cursor writer() const;
  void expect_transposed(const std::string& who, const Memory& from, std::int64_t from_pitch) const;
  void clear() const;

  std::string name_;
  std::int64_t element_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t from_pitch_;  // elements
  std::int64_t to_pitch_;
  Memory from_;
  Memory to_;
  Memory stream_;
  ProgramPtr by_rows_;
  ProgramPtr by_columns_;
  TransposeLoop transpose_;
};

}  // namespace micro

#endif  // PERF_MICRO_TRANSPOSE_CELL_H_
