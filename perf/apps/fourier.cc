#include "perf/apps/fourier.h"

#include <cmath>
#include <cstring>

namespace apps {
namespace {

using Complex = std::complex<double>;

constexpr double kTurn = 6.283185307179586;

// std::complex's product looks for infinities; these are none.
Complex product(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

RowTransform::RowTransform(int length) : row_(static_cast<std::size_t>(length)) {
  for (int i = 0; i < length; ++i) {
    const double angle = -kTurn * i / length;
    roots_.emplace_back(std::cos(angle), std::sin(angle));
  }
}

void RowTransform::run(Complex* row) {
  const auto length = static_cast<int>(row_.size());
  transform(row, 1, length, row_.data());
  std::memcpy(row, row_.data(), row_.size() * sizeof(Complex));
}

// Cooley and Tukey: `parts` transforms of every parts-th element, then one of each of theirs.
void RowTransform::transform(const Complex* in, int stride, int length, Complex* out) const {
  if (length == 1) {
    *out = *in;
    return;
  }
  int parts = 2;
  while (length % parts != 0) ++parts;
  const int part = length / parts;
  for (int p = 0; p < parts; ++p) transform(in + p * stride, stride * parts, part, out + p * part);
  const std::size_t all = roots_.size();
  std::vector<Complex> terms(static_cast<std::size_t>(parts));
  for (int k = 0; k < part; ++k) {
    for (int p = 0; p < parts; ++p) {
      const std::size_t turn = static_cast<std::size_t>(p) * k * stride % all;
      terms[static_cast<std::size_t>(p)] = product(out[p * part + k], roots_[turn]);
    }
    for (int q = 0; q < parts; ++q) {
      Complex sum = terms[0];
      for (int p = 1; p < parts; ++p) {
        const std::size_t turn = static_cast<std::size_t>(p) * q * part * stride % all;
        sum += product(terms[static_cast<std::size_t>(p)], roots_[turn]);
      }
      out[q * part + k] = sum;
    }
  }
}

Fourier::Fourier(int ranks, int rank, int rows, int columns)
    : ranks_(ranks),
      rank_(rank),
      rows_(rows),
      columns_(columns),
      along_rows_(ranks * columns),
      along_columns_(ranks * rows) {
  constexpr std::int64_t kSize = sizeof(Complex);
  const std::int64_t pitch = kSize * ranks * columns, transposed_pitch = kSize * ranks * rows;
  // Row by row as the sender has them: of the receiver's memory columns.
  const auto block_from = [&](int sender) {
    return Face{Element::kComplex,
                matrix_bytes() + kSize * sender * rows,
                rows,
                kSize,
                columns,
                transposed_pitch,
                false,
                {}};
  };
  for (int k = 0; k < ranks; ++k) {
    const int to = (rank + k) % ranks, from = (rank - k + ranks) % ranks;
    const Face out{Element::kComplex, kSize * to * columns, rows, pitch, columns, kSize, false, {}};
    routes_.push_back({to, from, out, block_from(from), block_from(rank)});
  }
}

void Fourier::start(std::byte* memory) {
  memory_ = memory;
  std::memset(memory, 0, static_cast<std::size_t>(bytes()));
  for (std::int64_t i = 0; i < elements(); ++i) {
    const auto place = static_cast<std::uint64_t>(rank_ * elements() + i);
    matrix()[i] = {static_cast<double>(mixed(3, place) >> 11U) * 0x1p-53,
                   static_cast<double>(mixed(4, place) >> 11U) * 0x1p-53};
  }
  transform_rows();
}

void Fourier::transform_rows() {
  for (int row = 0; row < rows_; ++row) along_rows_.run(matrix() + row * ranks_ * columns_);
}

// The next step begins with the spectrum, so divided that numbers stay as long as they are.
void Fourier::compute() {
  for (int row = 0; row < columns_; ++row) along_columns_.run(transposed() + row * ranks_ * rows_);
  const double scale = 1 / std::sqrt(static_cast<double>(elements()) * ranks_);
  for (std::int64_t i = 0; i < elements(); ++i) matrix()[i] = scale * transposed()[i];
  transform_rows();
}

std::uint64_t Fourier::checksum() const {
  std::uint64_t sum = 0;
  const auto first = static_cast<std::uint64_t>(2 * rank_ * elements());
  for (std::int64_t i = 0; i < 2 * elements(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, memory_ + 8 * i, sizeof(value));
    sum += mixed(value, first + static_cast<std::uint64_t>(i));
  }
  return sum;
}

bool Fourier::is_part_of(const Application& whole) const {
  const auto& all = dynamic_cast<const Fourier&>(whole);
  return std::memcmp(matrix(), all.matrix() + rank_ * elements(),
                     static_cast<std::size_t>(matrix_bytes())) == 0;
}

}  // namespace apps
