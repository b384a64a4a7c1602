/* typemap.h: where a message's payload lies in memory, said without MPI.
 *
 * The benchmark fills and verifies its buffers by this map and never by a datatype, so that a
 * datatype handled wrongly cannot hide itself.  A map is a short list of runs, repeated at a fixed
 * stride.  Offsets ascend and all lengths are whole 4-byte words, as RT-0306's datatypes are built
 * of floats and ints.
 */
#ifndef PINGPONG_TYPEMAP_H
#define PINGPONG_TYPEMAP_H

#include <stddef.h>

typedef struct Run {
  size_t offset; /* words from the start of its repetition */
  size_t length; /* words */
} Run;

typedef struct TypeMap {
  Run* runs; /* owned; released by typemap_free() */
  size_t run_count;
  size_t repeats;
  size_t stride; /* words from one repetition to the next */
} TypeMap;

/* A map of `run_count` runs, all zero; the caller fills them in. */
TypeMap typemap_new(size_t run_count, size_t repeats, size_t stride);
void typemap_free(TypeMap* map);

size_t typemap_payload_words(const TypeMap* map);
/* Words from the buffer's start to the end of the last run. */
size_t typemap_span_words(const TypeMap* map);

#endif
