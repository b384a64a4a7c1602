#include "one_host.h"

bool on_one_host(MPI_Comm comm) {
  MPI_Comm near;
  int count, least, size;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
  MPI_Comm_size(near, &count);
  MPI_Comm_free(&near);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&count, &least, 1, MPI_INT, MPI_MIN, comm);
  return least == size;
}
