/* check.h: what a test program says and how it ends.
 *
 * A program that found nothing wrong prints "ok NAME" once, from rank 0, and every rank exits with
 * 0. Otherwise each failing rank prints where it stood, what it found and what it
 * expected, and exits with 1.
 */
#ifndef TESTS_MPI_CHECK_H
#define TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdbool.h>

/* Goes on after a failure; only the first twenty of a rank are printed. */
#define CHECK(condition, ...) \
  ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__))

/* A call that must return MPI_SUCCESS; of use where errors are returned. */
#define CHECK_MPI(call) check_mpi(__FILE__, __LINE__, #call, (call))

/* A copy of `comm` whose errors are returned. */
MPI_Comm check_comm(MPI_Comm comm);

/* `error` must be of class `expected`. */
#define CHECK_CLASS(error, expected) check_class(__FILE__, __LINE__, #error, (error), (expected))

void check_failed(const char* file, int line, const char* condition, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
void check_mpi(const char* file, int line, const char* call, int error);
void check_class(const char* file, int line, const char* what, int error, int expected);

/* The error's text contains `part`. */
void check_text(const char* file, int line, int error, const char* part);
#define CHECK_TEXT(error, part) check_text(__FILE__, __LINE__, (error), (part))

int check_failures(void); /* of this rank so far */

/* Adds up all ranks of MPI_COMM_WORLD, prints the verdict, finalizes; main()'s result. */
int check_finish(void);
/* The same with this rank's own failures only, for worlds that lost a rank: no communication; exits
 * the process without MPI_Finalize. */
_Noreturn void check_exit_alone(bool speaks);
/* Ends the test as skipped; collective, called by every rank or none. */
int check_skip(const char* reason);

#endif
