/* random.h: a small seeded generator, the same on every rank and every machine. */
#ifndef TESTS_MPI_RANDOM_H
#define TESTS_MPI_RANDOM_H

#include <stdint.h>

typedef struct Random {
  uint64_t state;
} Random;

/* MAD_SEED from the environment, else `fallback`. */
uint64_t random_seed(uint64_t fallback);
Random random_from(uint64_t seed);
/* One of 0 .. bound-1. */
uint32_t random_below(Random* random, uint32_t bound);
/* One of low .. high. */
int random_between(Random* random, int low, int high);

#endif
