/* proto_types.c: proto datatypes, completed for each message.
 *
 * What the slides of the source have: a value sent along with a message of somebody else's by a
 * struct of both, of which all but the value's type and count is known only when it is sent; then
 * protos of any number of fields with any things unknown, in nested types, and every wrong use.
 */
#include <limits.h>
#include <string.h>

#include "support/check.h"
#include "support/path.h"

#ifndef HAVE_MAD
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return check_skip("this MPI has no mpix_mad.h");
}
#else

enum { kTag = 3, kMostFields = 100 };

static int rank;
static MPI_Comm comm;

/* The slides' example, letter by letter but for the names. */
static void piggybacked(void) {
  MPI_Aint offsets[2] = {MPIX_UNKNOWN, MPIX_UNKNOWN};
  int counts[2] = {1, MPIX_CNT_UNKNOWN};
  MPI_Datatype types[2] = {MPI_LONG, MPIX_TYPE_UNKNOWN}, mine, complete;
  CHECK_MPI(PMPIX_Type_create_pstruct(2, counts, offsets, types, &mine));
  CHECK_MPI(MPI_Type_commit(&mine));
  for (int message = 0; message < 50; message++) {
    long clock = rank == 0 ? 1000 + message : -1;
    double data[40];
    for (int i = 0; i < 40; i++) data[i] = rank == 0 ? message + i : -1;
    MPI_Get_address(&clock, &offsets[0]);
    MPI_Get_address(data, &offsets[1]);
    types[1] = MPI_DOUBLE;
    counts[1] = message % 41;
    CHECK_MPI(PMPIX_Type_complete_pstruct(2, counts, offsets, types, mine, &complete));
    if (rank == 0)
      CHECK_MPI(MPI_Send(MPI_BOTTOM, 1, complete, 1, kTag, comm));
    else
      CHECK_MPI(MPI_Recv(MPI_BOTTOM, 1, complete, 0, kTag, comm, MPI_STATUS_IGNORE));
    CHECK(clock == 1000 + message, "clock %ld", clock);
    for (int i = 0; i < 40; i++) {
      const double expected = rank == 0 || i < counts[1] ? message + i : -1;
      CHECK(data[i] == expected, "data[%d] %g, expected %g", i, data[i], expected);
    }
    MPI_Type_free(&complete);
    CHECK(complete == MPI_DATATYPE_NULL, "the handle lives on");
  }
  MPI_Type_free(&mine);
  CHECK(mine == MPI_DATATYPE_NULL, "the proto's handle lives on");
}

/* `count` fields of ints, every second one known in each respect, freed before what it made. */
static void many_fields(int count) {
  int counts[kMostFields] = {0}, all_counts[kMostFields], memory[4 * kMostFields], expected = 0;
  MPI_Aint offsets[kMostFields] = {0}, all_offsets[kMostFields];
  MPI_Datatype types[kMostFields] = {0}, all_types[kMostFields], proto, complete, nested;
  for (int i = 0; i < count; i++) {
    all_counts[i] = 1 + i % 3;
    all_offsets[i] = (MPI_Aint)(4 * i * (int)sizeof(int));
    all_types[i] = MPI_INT;
    counts[i] = i % 2 ? all_counts[i] : MPIX_CNT_UNKNOWN;
    offsets[i] = i % 3 ? all_offsets[i] : MPIX_UNKNOWN;
    types[i] = i % 5 ? all_types[i] : MPIX_TYPE_UNKNOWN;
  }
  CHECK_MPI(MPIX_Type_create_pstruct(count, counts, offsets, types, &proto));
  /* What the proto knows is not read. */
  for (int i = 0; i < count; i++) {
    if (counts[i] != MPIX_CNT_UNKNOWN) all_counts[i] = -77;
    if (types[i] != MPIX_TYPE_UNKNOWN) all_types[i] = MPI_CHAR;
  }
  CHECK_MPI(
      MPIX_Type_complete_pstruct(count, all_counts, all_offsets, all_types, proto, &complete));
  MPI_Type_free(&proto);
  CHECK_MPI(MPI_Type_contiguous(1, complete, &nested));
  CHECK_MPI(MPI_Type_commit(&nested));
  for (int i = 0; i < 4 * count; i++) memory[i] = rank == 0 ? i : -1;
  if (rank == 0)
    CHECK_MPI(MPI_Send(memory, 1, count % 2 ? complete : nested, 1, kTag, comm));
  else
    CHECK_MPI(MPI_Recv(memory, 1, count % 2 ? nested : complete, 0, kTag, comm, MPI_STATUS_IGNORE));
  for (int i = 0; i < count && rank == 1; i++)
    for (int k = 0; k < 4; k++) {
      expected = k < 1 + i % 3 ? 4 * i + k : -1;
      CHECK(memory[4 * i + k] == expected, "field %d: %d, expected %d", i, memory[4 * i + k],
            expected);
    }
  MPI_Type_free(&nested);
  MPI_Type_free(&complete);
}

/* A derived type as the unknown one, short and long, freed while the completed type lives. */
static void derived(int rows) {
  enum { kRows = 5000 };
  static int matrix[3 * kRows];
  MPI_Aint offsets[2] = {MPIX_UNKNOWN, MPIX_UNKNOWN};
  int counts[2] = {2, 1}, header[2] = {rank == 0 ? 5 : 0, rank == 0 ? 6 : 0};
  MPI_Datatype types[2] = {MPI_INT, MPIX_TYPE_UNKNOWN}, proto, complete, column;
  MPI_Type_vector(rows, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  CHECK_MPI(MPIX_Type_create_pstruct(2, counts, offsets, types, &proto));
  MPI_Get_address(header, &offsets[0]);
  MPI_Get_address(matrix + 1, &offsets[1]);
  types[1] = column;
  CHECK_MPI(MPIX_Type_complete_pstruct(2, counts, offsets, types, proto, &complete));
  MPI_Type_free(&column);
  for (int i = 0; i < 3 * rows; i++) matrix[i] = rank == 0 ? i : -1;
  if (rank == 0)
    CHECK_MPI(MPI_Send(MPI_BOTTOM, 1, complete, 1, kTag, comm));
  else
    CHECK_MPI(MPI_Recv(MPI_BOTTOM, 1, complete, 0, kTag, comm, MPI_STATUS_IGNORE));
  CHECK(header[0] == 5 && header[1] == 6, "header %d %d", header[0], header[1]);
  for (int i = 0; i < 3 * rows && rank == 1; i++)
    CHECK(matrix[i] == (i % 3 == 1 ? i : -1), "matrix[%d] %d", i, matrix[i]);
  MPI_Type_free(&complete);
  MPI_Type_free(&proto);
}

static void wrong_uses(void) {
  MPI_Aint offsets[2] = {0, MPIX_UNKNOWN};
  int counts[2] = {1, 1}, size, data[4] = {0};
  MPI_Datatype types[2] = {MPI_INT, MPIX_TYPE_UNKNOWN}, proto, out = MPI_DATATYPE_NULL;
  MPI_Request request;
  CHECK_MPI(MPIX_Type_create_pstruct(2, counts, offsets, types, &proto));
  CHECK_MPI(MPI_Type_commit(&proto));
  /* Before it is completed it is no datatype. */
  CHECK_CLASS(MPI_Send(data, 1, proto, 1 - rank, kTag, comm), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Irecv(data, 1, proto, 1 - rank, kTag, comm, &request), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Bcast(data, 1, proto, 0, comm), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_size(proto, &size), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_contiguous(2, proto, &out), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_vector(2, 1, 2, proto, &out), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_dup(proto, &out), MPI_ERR_TYPE);
  types[0] = proto;
  CHECK_CLASS(MPI_Type_create_struct(1, counts, offsets, types, &out), MPI_ERR_TYPE);
  CHECK_CLASS(MPIX_Type_create_pstruct(1, counts, offsets, types, &out), MPI_ERR_TYPE);
  types[0] = MPI_INT;
  /* Something is still unknown, or wrong. */
  int error = MPIX_Type_complete_pstruct(2, counts, offsets, types, proto, &out);
  CHECK_CLASS(error, MPI_ERR_ARG);
  CHECK_TEXT(error, "Field 1 of the proto datatype: its displacement is still unknown");
  offsets[1] = 8;
  CHECK_CLASS(MPIX_Type_complete_pstruct(2, counts, offsets, types, proto, &out), MPI_ERR_TYPE);
  types[1] = proto;
  CHECK_CLASS(MPIX_Type_complete_pstruct(2, counts, offsets, types, proto, &out), MPI_ERR_TYPE);
  types[1] = MPI_INT;
  error = MPIX_Type_complete_pstruct(1, counts, offsets, types, proto, &out);
  CHECK_CLASS(error, MPI_ERR_COUNT);
  CHECK_TEXT(error, "1 fields are given, and the proto datatype has 2");
  CHECK_CLASS(MPIX_Type_complete_pstruct(2, counts, offsets, types, MPI_INT, &out), MPI_ERR_TYPE);
  CHECK_CLASS(MPIX_Type_complete_pstruct(2, counts, NULL, types, proto, &out), MPI_ERR_ARG);
  CHECK(out == MPI_DATATYPE_NULL, "an error made a datatype");
  counts[0] = -1;
  CHECK_CLASS(MPIX_Type_create_pstruct(2, counts, offsets, types, &out), MPI_ERR_COUNT);
  CHECK_CLASS(MPIX_Type_create_pstruct(-1, counts, offsets, types, &out), MPI_ERR_COUNT);
  counts[0] = 1;
  const MPI_Datatype freed = proto;
  MPI_Type_free(&proto);
  CHECK_CLASS(MPIX_Type_complete_pstruct(2, counts, offsets, types, freed, &out), MPI_ERR_TYPE);
}

/* Handles of protos that were freed are used again, and none is lost. */
static void many_protos(void) {
  enum { kProtos = 300 };
  MPI_Datatype protos[kProtos];
  MPI_Aint offset = MPIX_UNKNOWN;
  int count = 1;
  MPI_Datatype type = MPI_INT, complete;
  MPI_Aint lb, extent;
  for (int i = 0; i < kProtos; i++) {
    count = i;
    CHECK_MPI(MPIX_Type_create_pstruct(1, &count, &offset, &type, &protos[i]));
  }
  for (int i = 0; i < kProtos; i += 2) MPI_Type_free(&protos[i]);
  for (int i = 0; i < kProtos; i += 2) {
    count = i;
    CHECK_MPI(MPIX_Type_create_pstruct(1, &count, &offset, &type, &protos[i]));
  }
  for (int i = 0; i < kProtos; i++) {
    const MPI_Aint at = 0;
    CHECK_MPI(MPIX_Type_complete_pstruct(1, &count, &at, &type, protos[i], &complete));
    MPI_Type_get_extent(complete, &lb, &extent);
    CHECK(extent == (MPI_Aint)sizeof(int) * i, "extent %ld of proto %d", (long)extent, i);
    MPI_Type_free(&complete);
    MPI_Type_free(&protos[i]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    piggybacked();
    for (int count = 1; count <= kMostFields; count += count < 5 ? 1 : 19) many_fields(count);
    derived(20);
    derived(5000);
  }
  wrong_uses();
  many_protos();
  MPI_Comm_free(&comm);
  return check_finish();
}
#endif
