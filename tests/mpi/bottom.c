/* bottom.c: packing and unpacking at absolute addresses, from MPI_BOTTOM. */
#include <string.h>

#include "support/check.h"

enum { kInts = 3, kDoubles = 2, kRoom = 256 };

typedef struct Data {
  int ints[kInts];
  double doubles[kDoubles];
} Data;

static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

/* Both arrays, each at its own address. */
static MPI_Datatype absolute(const int* ints, const double* doubles) {
  const int lengths[] = {kInts, kDoubles};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Aint addresses[2];
  MPI_Datatype type;
  MPI_Get_address(ints, &addresses[0]);
  MPI_Get_address(doubles, &addresses[1]);
  MPI_Type_create_struct(2, lengths, addresses, types, &type);
  return committed(type);
}

static MPI_Datatype absolute_ints(const int* ints) {
  MPI_Aint address;
  MPI_Datatype type;
  MPI_Get_address(ints, &address);
  MPI_Type_create_hindexed_block(1, kInts, &address, MPI_INT, &type);
  return committed(type);
}

static const Data kSent = {{1, -2, 3}, {0.5, -0.25}};

static void native(MPI_Comm comm) {
  Data out = kSent, in = {{0}, {0}};
  char packed[kRoom];
  int end = 0, position = 0;
  MPI_Datatype from = absolute(out.ints, out.doubles), to = absolute(in.ints, in.doubles);
  CHECK_MPI(MPI_Pack(MPI_BOTTOM, 1, from, packed, kRoom, &end, comm));
  CHECK_MPI(MPI_Unpack(packed, end, &position, MPI_BOTTOM, 1, to, comm));
  CHECK(position == end, "packed %d bytes, unpacked %d", end, position);
  CHECK(memcmp(in.ints, kSent.ints, sizeof(kSent.ints)) == 0, "the first int is %d", in.ints[0]);
  CHECK(memcmp(in.doubles, kSent.doubles, sizeof(kSent.doubles)) == 0, "the first double is %g",
        in.doubles[0]);
  MPI_Type_free(&from), MPI_Type_free(&to);
}

static void large_count(MPI_Comm comm) {
  Data out = kSent, in = {{0}, {0}};
  char packed[kRoom];
  MPI_Count end = 0, position = 0;
  MPI_Datatype from = absolute(out.ints, out.doubles), to = absolute(in.ints, in.doubles);
  CHECK_MPI(MPI_Pack_c(MPI_BOTTOM, 1, from, packed, kRoom, &end, comm));
  CHECK_MPI(MPI_Unpack_c(packed, end, &position, MPI_BOTTOM, 1, to, comm));
  CHECK(memcmp(in.doubles, kSent.doubles, sizeof(kSent.doubles)) == 0, "the first double is %g",
        in.doubles[0]);
  MPI_Type_free(&from), MPI_Type_free(&to);
}

static void external(void) {
  Data out = kSent, in = {{0}, {0}};
  char packed[kRoom];
  MPI_Aint end = 0, position = 0;
  MPI_Count long_end = 0, long_position = 0;
  MPI_Datatype from = absolute_ints(out.ints), to = absolute_ints(in.ints);
  CHECK_MPI(MPI_Pack_external("external32", MPI_BOTTOM, 1, from, packed, kRoom, &end));
  CHECK_MPI(MPI_Unpack_external("external32", packed, end, &position, MPI_BOTTOM, 1, to));
  CHECK(memcmp(in.ints, kSent.ints, sizeof(kSent.ints)) == 0, "the first int is %d", in.ints[0]);
  memset(in.ints, 0, sizeof(in.ints));
  CHECK_MPI(MPI_Pack_external_c("external32", MPI_BOTTOM, 1, from, packed, kRoom, &long_end));
  CHECK_MPI(
      MPI_Unpack_external_c("external32", packed, long_end, &long_position, MPI_BOTTOM, 1, to));
  CHECK(memcmp(in.ints, kSent.ints, sizeof(kSent.ints)) == 0, "the first int is %d", in.ints[0]);
  MPI_Type_free(&from), MPI_Type_free(&to);
}

/* No address at all is an error still, not a crash. */
static void missing_buffers(MPI_Comm comm) {
  char packed[kRoom] = {0};
  int at = 0;
  MPI_Aint external_at = 0;
  CHECK_CLASS(MPI_Pack(NULL, 1, MPI_INT, packed, kRoom, &at, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Unpack(packed, kRoom, &at, NULL, 1, MPI_INT, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Pack_external("external32", NULL, 1, MPI_INT, packed, kRoom, &external_at),
              MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Unpack_external("external32", packed, kRoom, &external_at, NULL, 1, MPI_INT),
              MPI_ERR_BUFFER);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = check_comm(MPI_COMM_WORLD);
  /* Errors of calls without a communicator go to MPI_COMM_WORLD, or since MPI 4 to MPI_COMM_SELF.
   */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  native(world);
  large_count(world);
  external();
  missing_buffers(world);
  MPI_Comm_free(&world);
  return check_finish();
}
