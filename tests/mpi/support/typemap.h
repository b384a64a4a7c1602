/* typemap.h: the literal type map of a datatype, and buffers filled and checked by it.
 *
 * A type map is MPI's own definition of a datatype: the sequence of its basic elements with their
 * displacements.  Here it is written out element by element, so that no packing code of any kind is
 * needed to know which bytes a message must have moved.
 */
#ifndef TESTS_MPI_TYPEMAP_H
#define TESTS_MPI_TYPEMAP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Entry {
  int64_t offset;
  int32_t size;
} Entry;

typedef struct TypeMap {
  Entry* entries;
  size_t count;
  size_t room;
} TypeMap;

void typemap_add(TypeMap* map, int64_t offset, int32_t size);
/* Every entry of `child`, moved by `offset`. */
void typemap_append(TypeMap* map, const TypeMap* child, int64_t offset);
void typemap_free(TypeMap* map);

size_t typemap_bytes(const TypeMap* map);
/* True bounds: the first byte and the one after the last; 0, 0 for an empty map. */
void typemap_bounds(const TypeMap* map, int64_t* low, int64_t* high);

/* Memory for `count` elements of a datatype, with margins on both sides. */
typedef struct Image {
  uint8_t* memory;
  size_t size;
  int64_t low; /* offset, from `base`, of memory[0] */
  void* base;  /* what is given to MPI; may point outside the memory */
  TypeMap map; /* of all elements */
} Image;

/* `map` and `extent` are those of one element. */
Image image_new(const TypeMap* map, int64_t extent, size_t count);
void image_free(Image* image);

/* Fills everything that a message of pattern `stamp` would not touch; the payload too if `sent`. */
void image_fill(Image* image, uint32_t stamp, bool sent);
/* The first `elements` basic elements hold pattern `stamp`, every other byte is as image_fill(not
 * sent) left it.  Returns the offset of the first wrong byte, or INT64_MAX. */
int64_t image_check(const Image* image, uint32_t stamp, size_t elements);

#endif
