/* image_check.h: a received image against its oracle, as a test's check. */
#ifndef TESTS_MPI_IMAGE_CHECK_H
#define TESTS_MPI_IMAGE_CHECK_H

#include "check.h"
#include "typemap.h"

/* All of `image` holds pattern `stamp` and nothing beside it changed; `...` says which message. */
#define CHECK_IMAGE(image, stamp, ...) \
  CHECK_IMAGE_PREFIX(image, stamp, (image)->map.count, __VA_ARGS__)

/* The same of the first `entries` basic elements; the others are untouched. */
#define CHECK_IMAGE_PREFIX(image, stamp, entries, ...)                                         \
  do {                                                                                         \
    const int64_t wrong_at = image_check((image), (stamp), (entries));                         \
    char which[300];                                                                           \
    snprintf(which, sizeof(which), __VA_ARGS__);                                               \
    CHECK(wrong_at == INT64_MAX, "wrong byte at offset %lld: %s", (long long)wrong_at, which); \
  } while (0)

#endif
