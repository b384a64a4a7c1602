#include "pattern.h"

#include "memory.h"

enum { kMarginWords = 16 };

/* Odd constants of Knuth's multiplicative hashing: neighbours and rounds differ in every byte. */
static uint32_t payload_word(size_t position, uint32_t round) {
  return (uint32_t)position * 2654435761u + round * 2246822519u;
}

static uint32_t guard_word(uint32_t round) { return ~(round * 3266489917u) ^ 0xA5A5A5A5u; }

Buffer buffer_new(const TypeMap* map) {
  Buffer buffer = {NULL, typemap_span_words(map) + 2 * kMarginWords};
  buffer.words = allocate(buffer.word_count * sizeof(uint32_t));
  return buffer;
}

void buffer_free(Buffer* buffer) {
  release(buffer->words);
  buffer->words = NULL;
}

void* buffer_address(const Buffer* buffer) { return buffer->words + kMarginWords; }

void pattern_clear(const Buffer* buffer, uint32_t round) {
  const uint32_t guard = guard_word(round);
  for (size_t i = 0; i < buffer->word_count; i++) buffer->words[i] = guard;
}

void pattern_fill(const Buffer* buffer, const TypeMap* map, uint32_t round) {
  pattern_clear(buffer, round);
  size_t position = 0;
  for (size_t r = 0; r < map->repeats; r++) {
    uint32_t* base = buffer->words + kMarginWords + r * map->stride;
    for (size_t i = 0; i < map->run_count; i++) {
      uint32_t* run = base + map->runs[i].offset;
      for (size_t w = 0; w < map->runs[i].length; w++) run[w] = payload_word(position++, round);
    }
  }
}

static bool differs(const Buffer* buffer, size_t at, uint32_t expected, bool in_gap,
                    Mismatch* mismatch) {
  if (buffer->words[at] == expected) return false;
  mismatch->offset = (at - kMarginWords) * sizeof(uint32_t);
  mismatch->expected = expected;
  mismatch->found = buffer->words[at];
  mismatch->in_gap = in_gap;
  return true;
}

bool pattern_check(const Buffer* buffer, const TypeMap* map, uint32_t round, Mismatch* mismatch) {
  const uint32_t guard = guard_word(round);
  size_t at = 0, position = 0;
  for (size_t r = 0; r < map->repeats; r++) {
    const size_t base = kMarginWords + r * map->stride;
    for (size_t i = 0; i < map->run_count; i++) {
      const size_t begin = base + map->runs[i].offset;
      const size_t end = begin + map->runs[i].length;
      for (; at < begin; at++) {
        if (differs(buffer, at, guard, true, mismatch)) return false;
      }
      for (; at < end; at++) {
        if (differs(buffer, at, payload_word(position++, round), false, mismatch)) return false;
      }
    }
  }
  for (; at < buffer->word_count; at++) {
    if (differs(buffer, at, guard, true, mismatch)) return false;
  }
  return true;
}
