#include "perf/apps/programs.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "perf/apps/box.h"
#include "perf/apps/fourier.h"
#include "perf/apps/grids.h"
#include "perf/apps/particles.h"

namespace apps {
namespace {

// Of a plane's short side, so that long sides need little memory and time.
constexpr std::int64_t kWidest = 512;           // cells
constexpr std::int64_t kMostOfPlane = 4 << 20;  // bytes

/// The two sides of a face of a power of two of elements, the second the longer one.
std::pair<int, int> sides_of(std::int64_t elements) {
  int first = 1, second = 1;
  while (std::int64_t{first} * second * 2 <= elements) (first < second ? first : second) *= 2;
  return {std::min(first, second), std::max(first, second)};
}

Box box_for(const std::string& program, std::int64_t bytes, int ranks, int rank) {
  const Element element = program == "life" ? Element::kByte : Element::kDouble;
  const std::int64_t elements = bytes / size_of(element);
  if (program == "jacobi3d") {
    const auto [y, z] = sides_of(elements);
    return box_of(3, ranks, rank, {y, y, z}, element);
  }
  const auto [shorter, longer] = sides_of(elements);
  const int column = shorter * longer;
  const std::int64_t room = kMostOfPlane / (column * size_of(element));
  const auto width = static_cast<int>(std::clamp(room, std::int64_t{8}, kWidest));
  return box_of(2, ranks, rank, {std::min(column, width), column, 1}, element);
}

int leaving_for(std::int64_t bytes) {
  return static_cast<int>(bytes / size_of(Element::kParticle));
}

std::unique_ptr<Application> grid(const std::string& program, const Box& box) {
  if (program == "life") return std::make_unique<Life>(box);
  return std::make_unique<Jacobi>(box);
}

void check(const std::string& program, std::int64_t bytes) {
  const auto& names = program_names();
  if (std::find(names.begin(), names.end(), program) == names.end()) {
    throw std::runtime_error("no program " + program);
  }
  if (bytes < 64) throw std::runtime_error("messages of at least 64 bytes");
}

}  // namespace

const std::vector<std::string>& program_names() {
  static const std::vector<std::string> kNames = {"jacobi2d", "jacobi3d", "life", "fft",
                                                  "particles"};
  return kNames;
}

std::unique_ptr<Application> part_of(const std::string& program, std::int64_t bytes, int ranks,
                                     int rank) {
  check(program, bytes);
  if (program == "fft") {
    const auto [rows, columns] = sides_of(bytes / size_of(Element::kComplex));
    return std::make_unique<Fourier>(ranks, rank, rows, columns);
  }
  if (program == "particles") {
    return std::make_unique<Particles>(ranks, rank, leaving_for(bytes), 1);
  }
  return grid(program, box_for(program, bytes, ranks, rank));
}

std::unique_ptr<Application> whole_of(const std::string& program, std::int64_t bytes, int ranks) {
  check(program, bytes);
  if (program == "fft") {
    const auto [rows, columns] = sides_of(bytes / size_of(Element::kComplex));
    return std::make_unique<Fourier>(1, 0, rows * ranks, columns * ranks);
  }
  if (program == "particles") {
    return std::make_unique<Particles>(1, 0, leaving_for(bytes), ranks);
  }
  return grid(program, apps::whole_of(box_for(program, bytes, ranks, 0)));
}

void exchange_here(const std::vector<Application*>& ranks,
                   const std::vector<std::byte*>& memories) {
  std::vector<std::vector<std::vector<std::byte>>> buffers(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const Route& route : ranks[rank]->routes()) {
      auto& buffer = buffers[rank].emplace_back(static_cast<std::size_t>(route.out.bytes()));
      pack(route.out, 0, route.out.rows, memories[rank], buffer.data());
    }
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto& routes = ranks[rank]->routes();
    for (std::size_t k = 0; k < routes.size(); ++k) {
      unpack(routes[k].in, buffers[static_cast<std::size_t>(routes[k].from)][k].data(),
             memories[rank]);
    }
  }
}

}  // namespace apps
