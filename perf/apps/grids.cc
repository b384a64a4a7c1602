#include "perf/apps/grids.h"

#include <algorithm>
#include <cstring>

namespace apps {
namespace {

std::vector<Triple> sides(int dimensions) {
  std::vector<Triple> directions;
  for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d) {
    for (const int sign : {1, -1}) {
      Triple direction = {0, 0, 0};
      direction[d] = sign;
      directions.push_back(direction);
    }
  }
  return directions;
}

std::vector<Triple> all_around() {
  std::vector<Triple> directions;
  for (int y = -1; y <= 1; ++y) {
    for (int x = -1; x <= 1; ++x) {
      if (x != 0 || y != 0) directions.push_back({x, y, 0});
    }
  }
  return directions;
}

}  // namespace

GridProgram::GridProgram(const Box& box, const std::vector<Triple>& directions) : box_(box) {
  routes_ = halo(box, directions);
}

void GridProgram::start(std::byte* memory) {
  memory_ = memory;
  std::memset(memory, 0, static_cast<std::size_t>(bytes()));
  const Box whole = whole_of(box_);
  for (int z = 0; z < box_.cells[2]; ++z) {
    for (int y = 0; y < box_.cells[1]; ++y) {
      const std::int64_t row =
          (static_cast<std::int64_t>(box_.first(2) + z) * whole.cells[1] + box_.first(1) + y) *
          whole.cells[0];
      for (int x = 0; x < box_.cells[0]; ++x) {
        set(box_.row(y, z) + x, static_cast<std::uint64_t>(row + box_.first(0) + x));
      }
    }
  }
}

std::uint64_t GridProgram::checksum() const {
  const Box whole = whole_of(box_);
  std::uint64_t sum = 0;
  for (int z = 0; z < box_.cells[2]; ++z) {
    for (int y = 0; y < box_.cells[1]; ++y) {
      const std::int64_t first =
          ((static_cast<std::int64_t>(box_.first(2) + z) * whole.cells[1] + box_.first(1) + y) *
               whole.cells[0] +
           box_.first(0)) *
          size_of(box_.element);
      const std::byte* const bytes = row(y, z);
      for (std::int64_t i = 0; i < row_bytes(); i += 8) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes + i,
                    static_cast<std::size_t>(std::min<std::int64_t>(8, row_bytes() - i)));
        sum += mixed(value, static_cast<std::uint64_t>(first + i));
      }
    }
  }
  return sum;
}

bool GridProgram::is_part_of(const Application& whole) const {
  const auto& all = dynamic_cast<const GridProgram&>(whole);
  const std::int64_t skipped = box_.first(0) * size_of(box_.element);
  for (int z = 0; z < box_.cells[2]; ++z) {
    for (int y = 0; y < box_.cells[1]; ++y) {
      const std::byte* const should = all.row(box_.first(1) + y, box_.first(2) + z) + skipped;
      if (std::memcmp(row(y, z), should, static_cast<std::size_t>(row_bytes())) != 0) return false;
    }
  }
  return true;
}

Jacobi::Jacobi(const Box& box)
    : GridProgram(box, sides(box.dimensions)),
      before_(static_cast<std::size_t>(box.dimensions == 2 ? box.pitch() : box.plane())),
      now_(before_.size()) {}

void Jacobi::set(std::int64_t cell, std::uint64_t place) {
  // Some 53 bits between 0 and 1.
  reinterpret_cast<double*>(memory_)[cell] = static_cast<double>(mixed(1, place) >> 11U) * 0x1p-53;
}

void Jacobi::compute() {
  auto* const cells = reinterpret_cast<double*>(memory_);
  if (box_.dimensions == 2) {
    compute_plane(cells);
  } else {
    compute_volume(cells);
  }
}

// In place: what the row was is copied before it is overwritten, since the next one needs it.
void Jacobi::compute_plane(double* plane) {
  const std::int64_t pitch = box_.pitch();
  std::copy(plane, plane + pitch, before_.begin());
  for (int y = 1; y <= box_.cells[1]; ++y) {
    double* const row = plane + y * pitch;
    const double* const below = row + pitch;
    std::copy(row, row + pitch, now_.begin());
    const double *const above = before_.data(), *const now = now_.data();
    for (int x = 1; x <= box_.cells[0]; ++x) {
      row[x] = 0.25 * ((above[x] + below[x]) + (now[x - 1] + now[x + 1]));
    }
    before_.swap(now_);
  }
}

void Jacobi::compute_volume(double* volume) {
  const std::int64_t pitch = box_.pitch(), plane = box_.plane();
  std::copy(volume, volume + plane, before_.begin());
  for (int z = 1; z <= box_.cells[2]; ++z) {
    double* const current = volume + z * plane;
    std::copy(current, current + plane, now_.begin());
    for (int y = 1; y <= box_.cells[1]; ++y) {
      double* const row = current + y * pitch;
      const double* const below = row + plane;
      const double *const above = before_.data() + y * pitch, *const now = now_.data() + y * pitch;
      for (int x = 1; x <= box_.cells[0]; ++x) {
        row[x] = ((above[x] + below[x]) + (now[x - pitch] + now[x + pitch]) +
                  (now[x - 1] + now[x + 1])) /
                 6;
      }
    }
    before_.swap(now_);
  }
}

Life::Life(const Box& box)
    : GridProgram(box, all_around()),
      before_(static_cast<std::size_t>(box.pitch())),
      now_(before_.size()) {}

void Life::set(std::int64_t cell, std::uint64_t place) {
  memory_[cell] = static_cast<std::byte>(mixed(2, place) % 3 == 0);
}

void Life::compute() {
  auto* const cells = reinterpret_cast<unsigned char*>(memory_);
  const std::int64_t pitch = box_.pitch();
  std::copy(cells, cells + pitch, before_.begin());
  for (int y = 1; y <= box_.cells[1]; ++y) {
    unsigned char* const row = cells + y * pitch;
    const unsigned char* const below = row + pitch;
    std::copy(row, row + pitch, now_.begin());
    const unsigned char *const above = before_.data(), *const now = now_.data();
    for (int x = 1; x <= box_.cells[0]; ++x) {
      const int around = above[x - 1] + above[x] + above[x + 1] + now[x - 1] + now[x + 1] +
                         below[x - 1] + below[x] + below[x + 1];
      // Three neighbours, or two beside a living cell.
      row[x] = static_cast<unsigned char>((around | now[x]) == 3);
    }
    before_.swap(now_);
  }
}

}  // namespace apps
