/* one_host.h: whether all ranks can share memory. */
#ifndef TESTS_MPI_ONE_HOST_H
#define TESTS_MPI_ONE_HOST_H

#include <mpi.h>
#include <stdbool.h>

/* By MPI_COMM_TYPE_SHARED; collective, the same answer on all ranks. */
bool on_one_host(MPI_Comm comm);

#endif
