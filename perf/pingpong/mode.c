#include "mode.h"

#include <stdio.h>
#include <string.h>

#if defined(__has_include)
#if __has_include(<mpix_mad.h>)
#include <mpix_mad.h>
#define HAVE_MAD 1
#endif
#endif

#ifdef HAVE_MAD

bool modes_switchable(void) { return true; }

static bool set_path(MPI_Comm comm, const char* name) {
  const int error = MPIX_Mad_comm_set_path(comm, name);
  if (error == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING];
  int length, rank;
  MPI_Error_string(error, text, &length);
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) fprintf(stderr, "pingpong: mode '%s': %s\n", name, text);
  return false;
}

#else

bool modes_switchable(void) { return false; }

static bool set_path(MPI_Comm comm, const char* name) {
  (void)comm, (void)name;
  return true;
}

#endif

bool modes_open(const char* const* names, int count, Modes* modes) {
  static const char* const kOnly[] = {"mpi"};
  if (!modes_switchable()) {
    names = kOnly;
    count = 1;
  }
  modes->count = 0;
  modes->off = -1;
  for (int i = 0; i < count; i++) {
    Mode* mode = &modes->list[modes->count++];
    mode->name = names[i];
    MPI_Comm_dup(MPI_COMM_WORLD, &mode->comm);
    MPI_Comm_set_errhandler(mode->comm, MPI_ERRORS_RETURN);
    if (!set_path(mode->comm, mode->name)) return false;
    MPI_Comm_set_errhandler(mode->comm, MPI_ERRORS_ARE_FATAL);
    if (strcmp(mode->name, "off") == 0) modes->off = i;
  }
  return true;
}

void modes_close(Modes* modes) {
  for (int i = 0; i < modes->count; i++) MPI_Comm_free(&modes->list[i].comm);
  modes->count = 0;
}
