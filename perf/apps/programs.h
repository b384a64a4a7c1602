// The programs, by name.
#ifndef PERF_APPS_PROGRAMS_H_
#define PERF_APPS_PROGRAMS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "perf/apps/application.h"

namespace apps {

/// jacobi2d, jacobi3d, life, fft, particles.
const std::vector<std::string>& program_names();

/// A rank's part of a program whose longest message to one neighbour has about `bytes`: of the
/// faces a power of two of elements.  Throws std::runtime_error if there is no such program, or
/// none as short.
std::unique_ptr<Application> part_of(const std::string& program, std::int64_t bytes, int ranks,
                                     int rank);
/// The same program on one rank.
std::unique_ptr<Application> whole_of(const std::string& program, std::int64_t bytes, int ranks);

/// Exchanges within one process: `ranks[i]` is rank i, its memory `memories[i]`.
void exchange_here(const std::vector<Application*>& ranks, const std::vector<std::byte*>& memories);

}  // namespace apps

#endif  // PERF_APPS_PROGRAMS_H_
