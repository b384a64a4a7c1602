! hello_f08.f90: Fortran through the module mpi_f08: a row of a matrix, by handles of derived types, and a section of
! an array, which MPI is handed by descriptor.
program hello_f08
  use mpi_f08
  implicit none
  integer, parameter :: rows = 300, columns = 200
  type(MPI_Comm) :: world
  type(MPI_Datatype) :: row_type
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  integer :: rank, i, count, failures, total
  double precision :: matrix(rows, columns), row(columns)

  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, world)
  call MPI_Comm_rank(world, rank)
  failures = 0
  matrix = -1
  row = -1

  call MPI_Type_vector(columns, 1, rows, MPI_DOUBLE_PRECISION, row_type)
  call MPI_Type_commit(row_type)
  if (rank == 0) then
    matrix(7, :) = [(7000 + i, i = 1, columns)]
    call MPI_Isend(matrix(7, 1), 1, row_type, 1, 1, world, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  else if (rank == 1) then
    call MPI_Recv(row, columns, MPI_DOUBLE_PRECISION, 0, 1, world, status)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count)
    if (count /= columns .or. status%MPI_TAG /= 1) failures = failures + 1
    if (any(row /= [(7000 + i, i = 1, columns)])) failures = failures + 1
  end if
  call MPI_Type_free(row_type)

  if (MPI_SUBARRAYS_SUPPORTED) then
    if (rank == 0) then
      call MPI_Send(matrix(7, 1:columns:2), columns / 2, MPI_DOUBLE_PRECISION, 1, 2, world)
    else if (rank == 1) then
      row = -1
      call MPI_Recv(row(2:columns:2), columns / 2, MPI_DOUBLE_PRECISION, 0, 2, world, MPI_STATUS_IGNORE)
      if (any(row(2:columns:2) /= [(7000 + i, i = 1, columns, 2)])) failures = failures + 1
      if (any(row(1:columns:2) /= -1)) failures = failures + 1
    end if
  end if

  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, world)
  call MPI_Comm_free(world)
  call MPI_Finalize()
  if (total /= 0) stop 1
  if (rank == 0) print '(a)', 'ok hello_f08'
end program hello_f08
