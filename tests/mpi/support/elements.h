/* elements.h: random datatypes of equal elements, each with the literal places of these.
 *
 * One-sided operations need the same elements at both sides, and accumulates one predefined type
 * throughout.  Two layouts of as many elements of one type have equal signatures, however they are
 * made: contiguous, vectors, indexed, structs, subarrays, and these in each other.
 */
#ifndef TESTS_MPI_ELEMENTS_H
#define TESTS_MPI_ELEMENTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "random.h"

typedef struct Elements {
  MPI_Datatype type; /* committed, or predefined */
  int count;         /* of it */
  int64_t* places;   /* bytes from the buffer, in the order of the elements; multiples of `size` */
  int number;        /* elements in all; 0 too */
  int size;          /* bytes of one */
  bool predefined;
} Elements;

/* `number` elements of the predefined type `basic`, `size` bytes each.  No two overlap. */
Elements elements_new(Random* random, MPI_Datatype basic, int size, int number);
void elements_free(Elements* elements);
/* The first byte and the one after the last; 0, 0 if there are none. */
void elements_bounds(const Elements* elements, int64_t* low, int64_t* high);

#endif
