#define _GNU_SOURCE /* program_invocation_short_name */
#include "check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMaxPrinted = 20 };

/* Threads of a program may fail at the same time. */
static _Atomic int failures;

static int world_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void check_failed(const char* file, int line, const char* condition, const char* format, ...) {
  if (++failures > kMaxPrinted) return;
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s:%d: rank %d: %s: %s\n", file, line, world_rank(), condition, text);
}

void check_mpi(const char* file, int line, const char* call, int error) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(error, text, &length);
  check_failed(file, line, call, "failed: %s", text);
}

void check_class(const char* file, int line, const char* what, int error, int expected) {
  int class, length;
  MPI_Error_class(error, &class);
  if (class == expected) return;
  char text[MPI_MAX_ERROR_STRING], wanted[MPI_MAX_ERROR_STRING];
  MPI_Error_string(error, text, &length);
  MPI_Error_string(expected, wanted, &length);
  check_failed(file, line, what, "class %d (%s), expected class %d (%s)", class, text, expected,
               wanted);
}

void check_text(const char* file, int line, int error, const char* part) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(error, text, &length);
  if (strstr(text, part) == NULL) {
    check_failed(file, line, "error text", "'%s' does not say '%s'", text, part);
  }
}

MPI_Comm check_comm(MPI_Comm comm) {
  MPI_Comm copy;
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  return copy;
}

int check_failures(void) { return failures; }

static void say_ok(void) { printf("ok %s\n", program_invocation_short_name); }

int check_finish(void) {
  int mine = failures, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const bool speaks = world_rank() == 0;
  MPI_Finalize();
  if (all == 0 && speaks) say_ok();
  if (all != 0 && speaks) fprintf(stderr, "%d failures\n", all);
  return all != 0;
}

_Noreturn void check_exit_alone(bool speaks) {
  if (failures == 0 && speaks) say_ok();
  fflush(NULL);
  _exit(failures != 0);
}

int check_skip(const char* reason) {
  const bool speaks = world_rank() == 0;
  MPI_Finalize();
  if (speaks) printf("SKIP: %s\n", reason);
  return 0;
}
