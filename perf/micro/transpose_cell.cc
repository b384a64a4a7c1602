#include "perf/micro/transpose_cell.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "datatype_path/cursor/copy.h"
#include "datatype_path/cursor/cursor.h"

namespace micro {
namespace {

// A power of two, as square a matrix as there is.
std::int64_t rows_of(std::int64_t elements) {
  std::int64_t rows = 1;
  while (rows * rows * 4 <= elements) rows *= 2;
  return rows;
}

mad::TypeDescPtr bytes_of(std::int64_t size) {
  return mad::TypeDesc::bytes(static_cast<std::uint64_t>(size)).value();
}

mad::TypeDescPtr vector(std::int64_t count, std::int64_t stride, const mad::TypeDescPtr& child) {
  return mad::TypeDesc::vector(static_cast<std::uint64_t>(count), 1, stride, child).value();
}

}  // namespace

const std::vector<TransposeKind>& transpose_kinds() {
  static const std::vector<TransposeKind> kKinds = [] {
    std::vector<TransposeKind> kinds;
    for (const std::int64_t element : {4, 8, 16, 32}) {
      kinds.push_back({"transpose-" + std::to_string(element), element, 1});
      kinds.push_back({"transpose-quarter-" + std::to_string(element), element, 2});
    }
    return kinds;
  }();
  return kKinds;
}

TransposeCell::TransposeCell(const TransposeKind& kind, std::int64_t payload)
    : name_(kind.name + "/" + std::to_string(payload)),
      element_(kind.element),
      rows_(rows_of(payload / kind.element)),
      columns_(payload / kind.element / rows_),
      from_pitch_(columns_ * kind.share),
      to_pitch_(rows_ * kind.share),
      from_(rows_ * from_pitch_ * kind.element),
      to_(columns_ * to_pitch_ * kind.element),
      stream_(rows_ * columns_ * kind.element),
      by_rows_(compile(*vector(rows_, from_pitch_ * element_, bytes_of(columns_ * element_)))),
      transpose_(transpose_loop(kind.element)) {
  const mad::TypeDescPtr column = vector(columns_, to_pitch_ * element_, bytes_of(element_));
  const mad::TypeDescPtr next = mad::TypeDesc::resized(0, element_, column).value();
  by_columns_ =
      compile(*mad::TypeDesc::contiguous(static_cast<std::uint64_t>(rows_), next).value());
  fill(from_, 1);
  fill(to_, 2);
  fill(stream_, 3);
}

mad::Cursor TransposeCell::reader() const { return {*by_rows_, from_.data(), 1}; }
mad::Cursor TransposeCell::writer() const { return {*by_columns_, to_.data(), 1}; }

void TransposeCell::copy() const {
  mad::Cursor from = reader(), to = writer();
  mad::copy(from, to, static_cast<std::size_t>(bytes()));
}

void TransposeCell::loop(std::int64_t block, bool reads_rows) const {
  transpose_({from_.data(), from_pitch_, to_.data(), to_pitch_, rows_, columns_}, block,
             reads_rows);
}

void TransposeCell::pack_and_unpack() const {
  reader().pack(stream_.data(), static_cast<std::size_t>(bytes()));
  unpack();
}

void TransposeCell::unpack() const {
  writer().unpack(stream_.data(), static_cast<std::size_t>(bytes()));
}

void TransposeCell::unpack_fragments() const {
  mad::Cursor to = writer();
  for (std::int64_t at = 0; at < bytes(); at += kFragment) {
    to.unpack(stream_.data() + at,
              static_cast<std::size_t>(std::min<std::int64_t>(kFragment, bytes() - at)));
  }
}

void TransposeCell::unpack_loop(std::int64_t block, bool reads_rows) const {
  transpose_({stream_.data(), columns_, to_.data(), to_pitch_, rows_, columns_}, block, reads_rows);
}

void TransposeCell::clear() const { fill(to_, 2); }

void TransposeCell::expect_transposed(const std::string& who, const Memory& from,
                                      std::int64_t from_pitch) const {
  Memory should(to_.size());
  fill(should, 2);
  for (std::int64_t r = 0; r < rows_; ++r) {
    for (std::int64_t c = 0; c < columns_; ++c) {
      std::memcpy(should.data() + (c * to_pitch_ + r) * element_,
                  from.data() + (r * from_pitch + c) * element_,
                  static_cast<std::size_t>(element_));
    }
  }
  if (std::memcmp(to_.data(), should.data(), static_cast<std::size_t>(to_.size())) != 0) {
    throw std::runtime_error(name_ + ": " + who + ": a byte is wrong");
  }
  clear();
}

void TransposeCell::verify() const {
  clear();
  unpack();
  expect_transposed("engine unpack", stream_, columns_);
  unpack_fragments();
  expect_transposed("engine's fragments", stream_, columns_);
  for (const std::int64_t block : kBlocks) {
    for (const bool reads_rows : {false, true}) {
      loop(block, reads_rows);
      expect_transposed("loop", from_, from_pitch_);
      unpack_loop(block, reads_rows);
      expect_transposed("loop unpack", stream_, columns_);
    }
  }
  copy();
  expect_transposed("engine copy", from_, from_pitch_);
  pack_and_unpack();
  expect_transposed("engine through a buffer", from_, from_pitch_);
}

}  // namespace micro
