#include "memory.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void* allocate(size_t bytes) {
  void* memory = calloc(1, bytes ? bytes : 1);
  if (!memory) {
    fprintf(stderr, "pingpong: no memory for a buffer of %zu bytes; ask for smaller --bytes\n",
            bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

void release(void* memory) { free(memory); }
