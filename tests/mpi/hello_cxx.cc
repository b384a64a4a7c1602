// hello_cxx.cc: C++ through MPI's C functions, and through the bindings MPI::, which MPI-3 removed
// and MPICH 4.0 still has: old programs ask for them.
#include <mpi.h>

#include <cstdio>
#include <numeric>
#include <vector>

namespace {

constexpr int kRows = 300, kColumns = 200, kColumn = 7, kTag = 1;

// Column 7 of a matrix of rank 0, strided in C++, into a contiguous vector of rank 1; how many are
// wrong.
int column(const MPI::Intracomm& comm) {
  MPI::Datatype type = MPI::DOUBLE.Create_vector(kRows, 1, kColumns);
  type.Commit();
  int wrong = 0;
  if (comm.Get_rank() == 0) {
    std::vector<double> matrix(kRows * kColumns);
    std::iota(matrix.begin(), matrix.end(), 0.0);
    comm.Send(&matrix[kColumn], 1, type, 1, kTag);
  } else if (comm.Get_rank() == 1) {
    std::vector<double> received(kRows);
    comm.Recv(received.data(), kRows, MPI::DOUBLE, 0, kTag);
    for (int row = 0; row < kRows; row++) {
      if (received[row] != row * kColumns + kColumn) wrong++;
    }
  }
  type.Free();
  return wrong;
}

// Errors become exceptions where the program asks for them.
int exception(MPI::Intracomm& comm) {
  comm.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
  try {
    comm.Send(nullptr, 0, MPI::INT, comm.Get_size(), kTag);
  } catch (MPI::Exception& error) {
    return error.Get_error_class() == MPI_ERR_RANK ? 0 : 1;
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int wrong = column(MPI::COMM_WORLD);
  MPI::Intracomm copy = MPI::COMM_WORLD.Dup();
  wrong += exception(copy);
  copy.Free();
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const bool speaks = MPI::COMM_WORLD.Get_rank() == 0;
  MPI_Finalize();
  if (speaks && wrong == 0) std::puts("ok hello_cxx");
  return wrong == 0 ? 0 : 1;
}
