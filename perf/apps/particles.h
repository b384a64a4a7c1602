// Particles: two beams that pass through each other on a ring of ranks.
//
// A rank has the particles in its part of the ring, in no order.  In each step each beam moves on
// by the same way, so that as many particles of it leave to one neighbour as come from the other:
// irregular lists of padded structures, others in each step.  Who comes takes the place of who
// left.
#ifndef PERF_APPS_PARTICLES_H_
#define PERF_APPS_PARTICLES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "perf/apps/application.h"

namespace apps {

class Particles final : public Application {
 public:
  /// `leaving`: of each beam in each step, of kStay times as many that a rank of the program on
  /// several has; `share` is this rank's multiple of that, all ranks for the whole.
  Particles(int ranks, int rank, int leaving, int share);

  std::int64_t bytes() const override;
  void start(std::byte* memory) override;
  bool changes() const override { return true; }
  void compute() override;
  std::uint64_t checksum() const override;
  bool is_part_of(const Application& whole) const override;

 private:
  static constexpr int kStay = 16;

  int of_beam() const { return kStay * leaving_ * share_; }  // on this rank
  int particles() const { return 2 * of_beam(); }
  Particle* all() const { return reinterpret_cast<Particle*>(memory_); }
  Particle* arrivals(int beam) const { return all() + particles() + beam * leaving_; }
  void place(Particle* particle, int beam, int site) const;
  void leave(std::size_t beam, int number);
  void move();

  const int ranks_, rank_, leaving_, share_;
  std::byte* memory_ = nullptr;
};

}  // namespace apps

#endif  // PERF_APPS_PARTICLES_H_
