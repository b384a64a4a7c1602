#include "typemap.h"

#include "memory.h"

TypeMap typemap_new(size_t run_count, size_t repeats, size_t stride) {
  TypeMap map = {allocate(run_count * sizeof(Run)), run_count, repeats, stride};
  return map;
}

void typemap_free(TypeMap* map) {
  release(map->runs);
  map->runs = NULL;
}

size_t typemap_payload_words(const TypeMap* map) {
  size_t words = 0;
  for (size_t i = 0; i < map->run_count; i++) words += map->runs[i].length;
  return words * map->repeats;
}

size_t typemap_span_words(const TypeMap* map) {
  if (map->run_count == 0 || map->repeats == 0) return 0;
  const Run* last = &map->runs[map->run_count - 1];
  return (map->repeats - 1) * map->stride + last->offset + last->length;
}
