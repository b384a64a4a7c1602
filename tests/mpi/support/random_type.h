/* random_type.h: random datatypes of every combiner, each with its literal type map.
 *
 * Two seeds: `structure` chooses what decides the type signature (combiners, counts, basic types),
 * `layout` what does not (displacements, strides, bounds, orders).  Types of one structure and
 * different layouts have equal signatures, so that one may be sent and the other received.  Entries
 * of a type never overlap.
 */
#ifndef TESTS_MPI_RANDOM_TYPE_H
#define TESTS_MPI_RANDOM_TYPE_H

#include <mpi.h>

#include "random.h"
#include "typemap.h"

typedef struct RandomType {
  MPI_Datatype type; /* committed */
  TypeMap map;       /* of one element */
  MPI_Aint extent;
  char text[512]; /* the constructors, inside out */
} RandomType;

RandomType random_type_new(uint64_t structure, uint64_t layout);
void random_type_free(RandomType* type);

#endif
