/* pattern.h: buffers filled with a pattern that changes every round, and checked word by word.
 *
 * A buffer has a margin on both sides.  Everything outside the type map (gaps and margins) holds a
 * guard word that must survive the round; everything inside holds a word that depends on the round
 * and on its position in the message.
 */
#ifndef PINGPONG_PATTERN_H
#define PINGPONG_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "typemap.h"

typedef struct Buffer {
  uint32_t* words; /* margin, span of the map, margin */
  size_t word_count;
} Buffer;

typedef struct Mismatch {
  size_t offset; /* bytes from the address given to MPI; wraps below zero in the front margin */
  uint32_t expected, found;
  bool in_gap;
} Mismatch;

Buffer buffer_new(const TypeMap* map);
void buffer_free(Buffer* buffer);
void* buffer_address(const Buffer* buffer); /* what is given to MPI */

/* Guards everywhere, no payload: a buffer about to be received into. */
void pattern_clear(const Buffer* buffer, uint32_t round);
/* Guards and the round's payload: a buffer about to be sent. */
void pattern_fill(const Buffer* buffer, const TypeMap* map, uint32_t round);
/* True if the buffer holds what pattern_fill() writes; else the first difference. */
bool pattern_check(const Buffer* buffer, const TypeMap* map, uint32_t round, Mismatch* mismatch);

#endif
