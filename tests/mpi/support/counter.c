#include "counter.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kMaxCounters = 64, kMaxName = 64 };

static struct {
  char name[kMaxName];
  MPI_T_pvar_handle handle;
} counters[kMaxCounters];
static int counter_count;
static MPI_T_pvar_session session;

static void add(int index) {
  char name[kMaxName], description[1000];
  int name_length = sizeof(name), description_length = sizeof(description), verbosity, class, bind;
  int readonly, continuous, atomic, elements;
  MPI_Datatype type;
  MPI_T_enum values;
  if (MPI_T_pvar_get_info(index, name, &name_length, &verbosity, &class, &type, &values,
                          description, &description_length, &bind, &readonly, &continuous,
                          &atomic) != MPI_SUCCESS) {
    return;
  }
  if (strncmp(name, "mad_", 4) != 0 || counter_count == kMaxCounters) return;
  if (type != MPI_UNSIGNED_LONG_LONG || description_length <= 1) {
    fprintf(stderr, "%s has another type than expected, or no description\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memcpy(counters[counter_count].name, name, sizeof(name));
  MPI_T_pvar_handle_alloc(session, index, NULL, &counters[counter_count].handle, &elements);
  if (elements > kMaxElements) {
    fprintf(stderr, "%s has %d elements\n", name, elements);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  counter_count++;
}

void counters_open(void) {
  int provided, count = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_get_num(&count);
  for (int i = 0; i < count; i++) add(i);
}

void counters_close(void) {
  for (int i = 0; i < counter_count; i++) MPI_T_pvar_handle_free(session, &counters[i].handle);
  counter_count = 0;
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}

void counter_read_all(const char* name, unsigned long long values[kMaxElements]) {
  for (int i = 0; i < counter_count; i++) {
    if (strcmp(counters[i].name, name) != 0) continue;
    if (MPI_T_pvar_read(session, counters[i].handle, values) == MPI_SUCCESS) return;
  }
  fprintf(stderr, "cannot read performance variable %s\n", name);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

uint64_t counter_read(const char* name) {
  unsigned long long values[kMaxElements] = {0};
  counter_read_all(name, values);
  return values[0];
}

uint64_t counter_of_path(const char* family, const char* path) {
  char name[kMaxName];
  snprintf(name, sizeof(name), "mad_%s_%s", family, path);
  return counter_read(name);
}
