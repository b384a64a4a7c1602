#include "perf/apps/particles.h"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace apps {
namespace {

// The words of a particle, its padding as 0.
std::array<std::uint64_t, 7> words_of(const Particle& particle) {
  std::array<std::uint64_t, 7> words{};
  std::memcpy(words.data(), particle.position, sizeof(particle.position));
  std::memcpy(words.data() + 3, particle.velocity, sizeof(particle.velocity));
  words[6] = static_cast<std::uint32_t>(particle.number) |
             static_cast<std::uint64_t>(static_cast<unsigned char>(particle.kind)) << 32U;
  return words;
}

}  // namespace

Particles::Particles(int ranks, int rank, int leaving, int share)
    : ranks_(ranks), rank_(rank), leaving_(leaving), share_(share) {
  for (const int beam : {0, 1}) {
    const int after = (rank + 1) % ranks, before = (rank - 1 + ranks) % ranks;
    Face in;
    in.element = Element::kParticle;
    in.offset = (particles() + beam * leaving) * size_of(in.element);
    in.rows = leaving;
    in.row_stride = in.column_stride = size_of(in.element);
    Face out;
    out.element = Element::kParticle;
    out.listed = true;
    routes_.push_back({beam == 0 ? after : before, beam == 0 ? before : after, out, in, in});
  }
}

std::int64_t Particles::bytes() const {
  return (particles() + 2 * leaving_) * size_of(Element::kParticle);
}

void Particles::place(Particle* particle, int beam, int site) const {
  const int number = beam * of_beam() * ranks_ + site;
  const std::uint64_t chance = mixed(5, static_cast<std::uint64_t>(number));
  particle->position[0] = site;
  particle->velocity[0] = beam == 0 ? leaving_ : -leaving_;
  for (const int d : {1, 2}) {
    particle->position[d] = static_cast<double>(chance >> 40U);
    particle->velocity[d] = static_cast<double>(chance & 0xFFU) / 16;
  }
  particle->number = number;
  particle->kind = static_cast<char>('a' + beam);
}

void Particles::start(std::byte* memory) {
  memory_ = memory;
  std::memset(memory, 0, static_cast<std::size_t>(bytes()));
  for (const int beam : {0, 1}) {
    for (int i = 0; i < of_beam(); ++i) {
      place(all() + beam * of_beam() + i, beam, rank_ * of_beam() + i);
    }
  }
  for (int i = particles() - 1; i > 0; --i) {  // in no order
    const auto other = mixed(6 + static_cast<std::uint64_t>(rank_), static_cast<std::uint64_t>(i)) %
                       static_cast<std::uint64_t>(i + 1);
    std::swap(all()[i], all()[other]);
  }
  move();
}

// No more than have room, whatever came wrong.
void Particles::leave(std::size_t beam, int number) {
  std::vector<int>& list = routes_[beam].out.list;
  if (list.size() < static_cast<std::size_t>(leaving_)) list.push_back(number);
}

void Particles::move() {
  const double begin = static_cast<double>(rank_) * of_beam(), end = begin + of_beam();
  const double ring = static_cast<double>(ranks_) * of_beam();
  for (Route& route : routes_) route.out.list.clear();
  for (int i = 0; i < particles(); ++i) {
    Particle& one = all()[i];
    for (int d = 0; d < 3; ++d) one.position[d] += one.velocity[d];
    if (one.position[0] >= end) leave(0, i);
    if (one.position[0] < begin) leave(1, i);
    if (one.position[0] >= ring) one.position[0] -= ring;
    if (one.position[0] < 0) one.position[0] += ring;
  }
}

void Particles::compute() {
  for (const int beam : {0, 1}) {
    const Particle* arrived = arrivals(beam);
    for (const int hole : routes_[static_cast<std::size_t>(beam)].out.list) {
      all()[hole] = *arrived++;
    }
  }
  move();
}

std::uint64_t Particles::checksum() const {
  std::uint64_t sum = 0;
  for (int i = 0; i < particles(); ++i) {
    const auto words = words_of(all()[i]);
    for (std::size_t n = 0; n < words.size(); ++n) sum += mixed(words[n], words[6] * 8 + n);
  }
  return sum;
}

bool Particles::is_part_of(const Application& whole) const {
  const auto& others = dynamic_cast<const Particles&>(whole);
  std::vector<const Particle*> by_number(static_cast<std::size_t>(others.particles()));
  for (int i = 0; i < others.particles(); ++i) {
    const Particle& one = others.all()[i];
    by_number[static_cast<std::size_t>(one.number)] = &one;
  }
  for (int i = 0; i < particles(); ++i) {
    const auto number = static_cast<std::size_t>(all()[i].number);
    if (number >= by_number.size() || by_number[number] == nullptr) return false;  // or twice
    if (words_of(all()[i]) != words_of(*by_number[number])) return false;
    by_number[number] = nullptr;
  }
  return true;
}

}  // namespace apps
