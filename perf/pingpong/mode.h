/* mode.h: the settings compared with each other, one communicator for each.
 *
 * On MPICH with the mad netmod a mode is a data path, chosen by the communicator's attribute.  On
 * any other MPI there is nothing to switch and the only mode is called "mpi".
 */
#ifndef PINGPONG_MODE_H
#define PINGPONG_MODE_H

#include <mpi.h>
#include <stdbool.h>

enum { kMaxModes = 16 };

typedef struct Mode {
  const char* name;
  MPI_Comm comm;
} Mode;

typedef struct Modes {
  Mode list[kMaxModes];
  int count;
  int off; /* index of mode "off", which gains are measured against; -1: not among them */
} Modes;

/* True if this program was built for an MPI that can switch. */
bool modes_switchable(void);

/* One communicator for each of `names`; false after a message if the library refuses a name. */
bool modes_open(const char* const* names, int count, Modes* modes);
void modes_close(Modes* modes);

#endif
