#include "typemap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMargin = 64 };

static void* checked(void* memory, size_t bytes) {
  if (memory) return memory;
  fprintf(stderr, "no memory for %zu bytes\n", bytes);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static uint8_t* aligned(size_t bytes) {
  return checked(aligned_alloc(kMargin, (bytes + kMargin - 1) / kMargin * kMargin), bytes);
}

void typemap_add(TypeMap* map, int64_t offset, int32_t size) {
  if (map->count == map->room) {
    map->room = map->room ? 2 * map->room : 16;
    const size_t bytes = map->room * sizeof(Entry);
    map->entries = checked(realloc(map->entries, bytes), bytes);
  }
  map->entries[map->count].offset = offset;
  map->entries[map->count++].size = size;
}

void typemap_append(TypeMap* map, const TypeMap* child, int64_t offset) {
  for (size_t i = 0; i < child->count; i++) {
    typemap_add(map, child->entries[i].offset + offset, child->entries[i].size);
  }
}

void typemap_free(TypeMap* map) {
  free(map->entries);
  memset(map, 0, sizeof(*map));
}

size_t typemap_bytes(const TypeMap* map) {
  size_t bytes = 0;
  for (size_t i = 0; i < map->count; i++) bytes += (size_t)map->entries[i].size;
  return bytes;
}

void typemap_bounds(const TypeMap* map, int64_t* low, int64_t* high) {
  *low = *high = 0;
  for (size_t i = 0; i < map->count; i++) {
    const Entry* entry = &map->entries[i];
    if (i == 0 || entry->offset < *low) *low = entry->offset;
    if (i == 0 || entry->offset + entry->size > *high) *high = entry->offset + entry->size;
  }
}

Image image_new(const TypeMap* map, int64_t extent, size_t count) {
  Image image = {0};
  int64_t high;
  for (size_t i = 0; i < count; i++) typemap_append(&image.map, map, (int64_t)i * extent);
  typemap_bounds(&image.map, &image.low, &high);
  image.low -= kMargin;
  if (image.low > 0) image.low = 0; /* so that memory never begins behind `base` */
  /* Elements keep the alignment that their offsets promise. */
  image.low -= ((image.low % kMargin) + kMargin) % kMargin;
  image.size = (size_t)(high + kMargin - image.low);
  image.memory = aligned(image.size);
  image.base = (void*)((intptr_t)image.memory - image.low);
  return image;
}

void image_free(Image* image) {
  free(image->memory);
  typemap_free(&image->map);
}

static uint8_t payload_byte(size_t position, uint32_t stamp) {
  return (uint8_t)((position * 2654435761u + stamp * 2246822519u) >> 11);
}

static uint8_t guard_byte(uint32_t stamp) { return (uint8_t)(0xA5 ^ stamp); }

static void put_payload(const Image* image, uint8_t* memory, uint32_t stamp, size_t elements) {
  size_t position = 0;
  for (size_t i = 0; i < elements; i++) {
    const Entry* entry = &image->map.entries[i];
    for (int32_t b = 0; b < entry->size; b++) {
      memory[entry->offset - image->low + b] = payload_byte(position++, stamp);
    }
  }
}

void image_fill(Image* image, uint32_t stamp, bool sent) {
  memset(image->memory, guard_byte(stamp), image->size);
  if (sent) put_payload(image, image->memory, stamp, image->map.count);
}

int64_t image_check(const Image* image, uint32_t stamp, size_t elements) {
  uint8_t* expected = aligned(image->size);
  memset(expected, guard_byte(stamp), image->size);
  put_payload(image, expected, stamp, elements);
  int64_t wrong = INT64_MAX;
  if (memcmp(expected, image->memory, image->size) != 0) {
    size_t at = 0;
    while (expected[at] == image->memory[at]) at++;
    wrong = image->low + (int64_t)at;
  }
  free(expected);
  return wrong;
}
