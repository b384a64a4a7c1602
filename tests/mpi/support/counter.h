/* counter.h: the performance variables of the mad netmod, by name.
 *
 * Read with MPI_T, as any tool would. Values are this process's, since MPI_Init.
 */
#ifndef TESTS_MPI_COUNTER_H
#define TESTS_MPI_COUNTER_H

#include <stdint.h>

/* Collects what is needed to read them; after MPI_Init. */
void counters_open(void);
void counters_close(void);

/* Ends the program if there is no such variable. */
uint64_t counter_read(const char* name);
/* The same of one with several elements. */
enum { kMaxElements = 8 };
void counter_read_all(const char* name, unsigned long long values[kMaxElements]);
/* "mad_FAMILY_PATH". */
uint64_t counter_of_path(const char* family, const char* path);

#endif
