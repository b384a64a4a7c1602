// The programs on grids: a Jacobi solver in two and three dimensions, and the Game of Life.
#ifndef PERF_APPS_GRIDS_H_
#define PERF_APPS_GRIDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "perf/apps/application.h"
#include "perf/apps/box.h"

namespace apps {

/// What programs on a box have in common; a step computes each cell from the one before.
class GridProgram : public Application {
 public:
  std::int64_t bytes() const final { return box_.bytes(); }
  void start(std::byte* memory) final;
  std::uint64_t checksum() const final;
  bool is_part_of(const Application& whole) const final;

 protected:
  GridProgram(const Box& box, const std::vector<Triple>& directions);

  /// What the cell at `place` of the whole grid begins with.
  virtual void set(std::int64_t cell, std::uint64_t place) = 0;

  std::int64_t row_bytes() const { return box_.cells[0] * size_of(box_.element); }
  const std::byte* row(int y, int z) const {
    return memory_ + box_.row(y, z) * size_of(box_.element);
  }

  const Box box_;
  std::byte* memory_ = nullptr;
};

/// Laplace's equation on doubles: the mean of the neighbours, 5 or 7 points.
class Jacobi final : public GridProgram {
 public:
  explicit Jacobi(const Box& box);
  void compute() override;

 protected:
  void set(std::int64_t cell, std::uint64_t place) override;

 private:
  void compute_plane(double* plane);
  void compute_volume(double* volume);

  std::vector<double> before_, now_;  // what a row or a plane was, and the one before it
};

/// Conway's rule on bytes, with eight neighbours.
class Life final : public GridProgram {
 public:
  explicit Life(const Box& box);
  void compute() override;

 protected:
  void set(std::int64_t cell, std::uint64_t place) override;

 private:
  std::vector<unsigned char> before_, now_;
};

}  // namespace apps

#endif  // PERF_APPS_GRIDS_H_
