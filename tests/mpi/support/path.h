/* path.h: the data paths of the mad netmod, so that the programs also build with another MPI.
 *
 * Without <mpix_mad.h> there is one nameless path and nothing to set; the oracle itself can be
 * tried that way.
 */
#ifndef TESTS_MPI_PATH_H
#define TESTS_MPI_PATH_H

#include <mpi.h>

#if defined(__has_include)
#if __has_include(<mpix_mad.h>)
#define HAVE_MAD 1
#include <mpix_mad.h>
#endif
#endif

#ifdef HAVE_MAD
enum { kPathCount = 6 };
static const char* const kPaths[kPathCount] = {"auto",     "gather", "hybrid",
                                               "pipeline", "pack",   "off"};
#else
enum { kPathCount = 1 };
static const char* const kPaths[kPathCount] = {"mpi"};
#endif

/* Chooses how this process treats its memory on `comm`; ends the program if that fails. */
static inline void path_set(MPI_Comm comm, const char* name) {
#ifdef HAVE_MAD
  if (MPIX_Mad_comm_set_path(comm, name) != MPI_SUCCESS) MPI_Abort(comm, 1);
#else
  (void)comm, (void)name;
#endif
}

#endif
