! hello_mpif.f: FORTRAN 77 in fixed form through mpif.h: each rank's
! number around a ring, and the sum of all.
      program hello_mpif
      implicit none
      include 'mpif.h'
      integer rank, size, from, wrong, total, ierror
      integer status(MPI_STATUS_SIZE)

      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierror)
      wrong = 0
      call MPI_SENDRECV(rank, 1, MPI_INTEGER, mod(rank + 1, size), 1,
     &    from, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
     &    status, ierror)
      if (from .ne. mod(rank + size - 1, size)) wrong = 1
      if (status(MPI_SOURCE) .ne. from) wrong = 1
      call MPI_ALLREDUCE(wrong, total, 1, MPI_INTEGER, MPI_SUM,
     &    MPI_COMM_WORLD, ierror)
      call MPI_FINALIZE(ierror)
      if (total .ne. 0) stop 1
      if (rank .eq. 0) print '(a)', 'ok hello_mpif'
      end program
