#include "random.h"

#include <stdlib.h>

uint64_t random_seed(uint64_t fallback) {
  const char* text = getenv("MAD_SEED");
  return text && *text ? strtoull(text, NULL, 0) : fallback;
}

Random random_from(uint64_t seed) {
  Random random = {seed};
  return random;
}

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t next(Random* random) {
  uint64_t z = random->state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint32_t random_below(Random* random, uint32_t bound) { return (uint32_t)(next(random) % bound); }

int random_between(Random* random, int low, int high) {
  return low + (int)random_below(random, (uint32_t)(high - low + 1));
}
