#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* The line of `path` that begins with `key`, in bytes. */
static size_t bytes_of(const char* path, const char* key) {
  FILE* file = fopen(path, "r");
  char line[200];
  size_t kilobytes = 0;
  while (file && fgets(line, sizeof(line), file)) {
    if (strncmp(line, key, strlen(key)) == 0) sscanf(line + strlen(key), " %zu", &kilobytes);
  }
  if (file) fclose(file);
  return kilobytes << 10;
}

size_t memory_available(void) { return bytes_of("/proc/meminfo", "MemAvailable:"); }

size_t memory_watch(void) {
  FILE* file = fopen("/proc/self/clear_refs", "w");
  CHECK(file != NULL, "cannot reset the peak of this process's memory");
  if (file) fputs("5", file), fclose(file);
  return bytes_of("/proc/self/status", "VmRSS:");
}

size_t memory_growth(size_t before) {
  const size_t peak = bytes_of("/proc/self/status", "VmHWM:");
  return peak > before ? peak - before : 0;
}

char* memory_touched(size_t bytes, char value) {
  char* memory = malloc(bytes);
  if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(memory, value, bytes);
  return memory;
}
