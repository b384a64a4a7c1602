! hello_fortran.f90: Fortran through the module mpi: a column and a row of a matrix, and a parameterized type.
program hello_fortran
  use mpi
  implicit none
  integer, parameter :: rows = 300, columns = 200
  integer :: rank, ierror, row_type, real_type, i, failures, total
  double precision :: matrix(rows, columns), row(columns)
  real(kind=selected_real_kind(6, 30)) :: values(4)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  failures = 0
  matrix = -1
  row = -1

  ! Row 7, which is strided in Fortran, into a contiguous array.
  call MPI_Type_vector(columns, 1, rows, MPI_DOUBLE_PRECISION, row_type, ierror)
  call MPI_Type_commit(row_type, ierror)
  if (rank == 0) then
    do i = 1, columns
      matrix(7, i) = 7000 + i
    end do
    call MPI_Send(matrix(7, 1), 1, row_type, 1, 1, MPI_COMM_WORLD, ierror)
  else if (rank == 1) then
    call MPI_Recv(row, columns, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    do i = 1, columns
      if (row(i) /= 7000 + i) failures = failures + 1
    end do
  end if
  call MPI_Type_free(row_type, ierror)

  values = 0
  call MPI_Type_create_f90_real(6, 30, real_type, ierror)
  if (rank == 0) then
    values = [1.5, 2.5, 3.5, 4.5]
    call MPI_Send(values, 4, real_type, 1, 2, MPI_COMM_WORLD, ierror)
  else if (rank == 1) then
    call MPI_Recv(values, 4, real_type, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    if (any(values /= [1.5, 2.5, 3.5, 4.5])) failures = failures + 1
  end if

  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (total /= 0) stop 1
  if (rank == 0) print '(a)', 'ok hello_fortran'
end program hello_fortran
