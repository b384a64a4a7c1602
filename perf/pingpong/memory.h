/* memory.h: zeroed memory or the end of the run; a benchmark has no use for a half-built cell. */
#ifndef PINGPONG_MEMORY_H
#define PINGPONG_MEMORY_H

#include <stddef.h>

void* allocate(size_t bytes); /* zeroed; never NULL */
void release(void* memory);

#endif
