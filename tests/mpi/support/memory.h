/* memory.h: how much memory there is, and by how much this process has grown. */
#ifndef TESTS_MPI_MEMORY_H
#define TESTS_MPI_MEMORY_H

#include <stddef.h>

/* Of the machine, in bytes, without swapping; 0 if it does not say. */
size_t memory_available(void);

/* Resident bytes of this process; from now on its peak is the largest size since now. */
size_t memory_watch(void);
/* Bytes that the peak since memory_watch() lies above what that returned. */
size_t memory_growth(size_t before);

/* `bytes` of `value`, so that every page is there; ends the program if they cannot be had. */
char* memory_touched(size_t bytes, char value);

#endif
