// Fourier: a two-dimensional Fourier transform, whose matrix is dealt out by rows.
//
// Each rank transforms its rows, the matrix is transposed, which is the exchange, and the rows of
// what comes are transformed: everybody has a block for everybody.
#ifndef PERF_APPS_FOURIER_H_
#define PERF_APPS_FOURIER_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "perf/apps/application.h"

namespace apps {

/// The discrete Fourier transform of rows of one length, which may be any; the smallest factors
/// are split off first.
class RowTransform {
 public:
  explicit RowTransform(int length);
  void run(std::complex<double>* row);

 private:
  void transform(const std::complex<double>* in, int stride, int length,
                 std::complex<double>* out) const;

  std::vector<std::complex<double>> roots_, row_;
};

class Fourier final : public Application {
 public:
  /// Blocks of `rows` x `columns`, of each of `ranks` for each.
  Fourier(int ranks, int rank, int rows, int columns);

  std::int64_t bytes() const override { return 2 * matrix_bytes(); }
  void start(std::byte* memory) override;
  void compute() override;
  std::uint64_t checksum() const override;
  bool is_part_of(const Application& whole) const override;

 private:
  using Complex = std::complex<double>;

  std::int64_t elements() const { return std::int64_t{rows_} * ranks_ * columns_; }
  std::int64_t matrix_bytes() const {
    return elements() * static_cast<std::int64_t>(sizeof(Complex));
  }
  Complex* matrix() const { return reinterpret_cast<Complex*>(memory_); }
  Complex* transposed() const { return matrix() + elements(); }
  void transform_rows();

  const int ranks_, rank_, rows_, columns_;
  RowTransform along_rows_, along_columns_;
  std::byte* memory_ = nullptr;
};

}  // namespace apps

#endif  // PERF_APPS_FOURIER_H_
