/* types.c: a receive of another type than its message fails and says of what types the two are.
 *
 * Right programs see nothing of the check, however their types are put together and whatever a
 * collective operation sends inside.  "variable": the check is on everywhere, not by a hint.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/path.h"

enum { kTag = 5, kLong = 300000 };

typedef struct Pair {
  int number;
  double value;
} Pair;

static MPI_Comm comm;
static int rank, size;
static bool by_variable;
static char *out, *in; /* kLong pairs each */

static MPI_Comm with_hint(const char* value) {
  MPI_Comm made = check_comm(MPI_COMM_WORLD);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mad_check_types", value);
  CHECK_MPI(MPI_Comm_set_info(made, info));
  MPI_Info_free(&info);
  return made;
}

static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

static MPI_Datatype pair_of(MPI_Datatype first, MPI_Datatype second) {
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {offsetof(Pair, number), offsetof(Pair, value)};
  const MPI_Datatype types[2] = {first, second};
  MPI_Datatype bare, type;
  MPI_Type_create_struct(2, lengths, places, types, &bare);
  MPI_Type_create_resized(bare, 0, sizeof(Pair), &type);
  MPI_Type_free(&bare);
  return committed(type);
}

static MPI_Datatype every_second(int count, MPI_Datatype child) {
  MPI_Datatype type;
  MPI_Type_vector(count, 1, 2, child, &type);
  return committed(type);
}

/* ---- point to point ---- */

typedef enum How { kPosted, kUnexpected, kMatched, kSynchronous, kPersistent, kHows } How;
static const char* const kHowNames[kHows] = {"posted", "unexpected", "matched", "synchronous",
                                             "persistent"};

static void send(int count, MPI_Datatype type, How how) {
  MPI_Request request;
  if (how == kPosted) MPI_Barrier(MPI_COMM_WORLD);
  if (how == kSynchronous)
    MPI_Issend(out, count, type, 1, kTag, comm, &request);
  else
    MPI_Isend(out, count, type, 1, kTag, comm, &request);
  if (how != kPosted) MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static int receive(int count, MPI_Datatype type, How how) {
  MPI_Request request;
  MPI_Message message;
  int error;
  if (how != kPosted) MPI_Barrier(MPI_COMM_WORLD);
  if (how == kMatched) {
    MPI_Mprobe(0, kTag, comm, &message, MPI_STATUS_IGNORE);
    return MPI_Mrecv(in, count, type, &message, MPI_STATUS_IGNORE);
  }
  if (how != kPersistent) {
    MPI_Irecv(in, count, type, 0, kTag, comm, &request);
    if (how == kPosted) MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Recv_init(in, count, type, 0, kTag, comm, &request);
  MPI_Start(&request);
  error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  return error;
}

static int pass(int sent, MPI_Datatype sent_type, int wanted, MPI_Datatype wanted_type, How how) {
  int error = MPI_SUCCESS;
  if (rank == 0) send(sent, sent_type, how);
  if (rank == 1) error = receive(wanted, wanted_type, how);
  if (rank > 1) MPI_Barrier(MPI_COMM_WORLD);
  return error;
}

static void right(int sent, MPI_Datatype sent_type, int wanted, MPI_Datatype wanted_type,
                  const char* what) {
  for (How how = 0; how < kHows; how++) {
    int error = pass(sent, sent_type, wanted, wanted_type, how);
    CHECK(error == MPI_SUCCESS, "%s, %s", what, kHowNames[how]);
  }
}

/* The error says `is` of what was sent, and `should` of what was wanted. */
static void wrong(int sent, MPI_Datatype sent_type, int wanted, MPI_Datatype wanted_type,
                  const char* is, const char* should) {
  for (How how = 0; how < kHows; how++) {
    int error = pass(sent, sent_type, wanted, wanted_type, how);
    if (rank != 1) continue;
    CHECK_CLASS(error, MPI_ERR_TYPE);
    CHECK_TEXT(error, is);
    CHECK_TEXT(error, should);
    CHECK_TEXT(error, "from rank 0");
  }
}

static void basic_types(int count) {
  char is[80], should[80];
  right(count, MPI_INT, count, MPI_INT, "ints");
  right(count, MPI_INT, 2 * count, MPI_INT, "fewer ints than there is room for");
  right(0, MPI_INT, count, MPI_FLOAT, "nothing");
  right(count, MPI_INT, 8 * count, MPI_PACKED, "ints into packed");
  right(count, MPI_PACKED, count, MPI_INT, "packed into ints");
  right(count, MPI_BYTE, count, MPI_BYTE, "bytes");
  right(count, MPI_2INT, 2 * count, MPI_INT, "pairs of ints into ints");
  snprintf(is, sizeof(is), "sent were %d of MPI_INT,", count);
  snprintf(should, sizeof(should), "wanted are %d of MPI_FLOAT", count);
  wrong(count, MPI_INT, count, MPI_FLOAT, is, should);
  wrong(count, MPI_INT, 2 * count, MPI_UNSIGNED, is, "of MPI_UNSIGNED");
  wrong(count, MPI_INT, 4 * count, MPI_BYTE, is, "of MPI_BYTE");
  wrong(count, MPI_CHAR, count, MPI_BYTE, "of MPI_CHAR", "of MPI_BYTE");
  wrong(count, MPI_DOUBLE, 2 * count, MPI_FLOAT, "of MPI_DOUBLE", "of MPI_FLOAT");
  wrong(2 * count, MPI_INT, count, MPI_DOUBLE, "of MPI_INT", "of MPI_DOUBLE");
}

static void too_long(void) {
  int error = pass(100, MPI_INT, 10, MPI_FLOAT, kPosted);
  if (rank == 1) CHECK_CLASS(error, MPI_ERR_TRUNCATE);
}

static void derived_types(int count) {
  MPI_Datatype pair = pair_of(MPI_INT, MPI_DOUBLE), swapped = pair_of(MPI_INT, MPI_LONG);
  MPI_Datatype many, gapped = every_second(count, pair), ints = every_second(count, MPI_INT);
  MPI_Datatype value_index = pair_of(MPI_DOUBLE, MPI_INT), duplicate;
  MPI_Type_contiguous(count, pair, &many);
  MPI_Type_commit(&many);
  MPI_Type_dup(gapped, &duplicate); /* of a committed type, which it is then, too */
  right(count, pair, 1, many, "pairs into many of them");
  right(1, gapped, count, pair, "pairs with gaps into pairs");
  right(1, duplicate, count, pair, "a duplicate of that into pairs");
  right(1, many, 2, gapped, "pairs into more of them with gaps");
  right(1, ints, count, MPI_INT, "ints with gaps into ints");
  right(1, value_index, 1, MPI_DOUBLE_INT, "a double and an int into MPI_DOUBLE_INT");
  wrong(1, gapped, count, swapped, "elements that begin with MPI_INT", "that begin with MPI_INT");
  wrong(count + 1, MPI_INT, 2 * count, pair, "of MPI_INT", "elements that begin with MPI_INT");
  wrong(1, ints, count, MPI_FLOAT, "of MPI_INT", "of MPI_FLOAT");
  wrong(1, value_index, 2, MPI_FLOAT_INT, "2 elements that begin with MPI_DOUBLE",
        "4 elements that begin with MPI_FLOAT");
  MPI_Type_free(&pair), MPI_Type_free(&swapped), MPI_Type_free(&many);
  MPI_Type_free(&gapped), MPI_Type_free(&ints), MPI_Type_free(&value_index);
  MPI_Type_free(&duplicate);
}

/* A freed type's memory may be another's: what was known of the one is not said of the other. */
static void types_that_change(void) {
  for (int i = 0; i < 200; i++) {
    MPI_Datatype type = every_second(3, (i % 2 != 0) ? MPI_INT : MPI_FLOAT);
    int error = pass(1, type, 3, MPI_INT, kPosted);
    if (rank == 1) {
      int class = MPI_SUCCESS;
      if (error) MPI_Error_class(error, &class);
      CHECK(class == ((i % 2 != 0) ? MPI_SUCCESS : MPI_ERR_TYPE), "round %d: class %d", i, class);
    }
    MPI_Type_free(&type);
  }
}

/* ---- collective operations ---- */

/* Some rank has another type than the others: who receives from it says so. */
static void expect_one(int error, const char* what) {
  int class = MPI_SUCCESS, found, told;
  if (error) MPI_Error_class(error, &class);
  found = (class == MPI_ERR_TYPE);
  MPI_Allreduce(&found, &told, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(told > 0, "%s: nobody was told", what);
  if (found) {
    CHECK_TEXT(error, "MPI_INT");
    CHECK_TEXT(error, "MPI_FLOAT");
  }
}

static void wrong_collectives(int count) {
  MPI_Datatype type = (rank == 0) ? MPI_INT : MPI_FLOAT;
  expect_one(MPI_Bcast(out, count, type, 0, comm), "MPI_Bcast");
  expect_one(MPI_Gather(out, count, type, in, count, type, 0, comm), "MPI_Gather");
  expect_one(MPI_Scatter(in, count, type, out, count, type, 0, comm), "MPI_Scatter");
  expect_one(MPI_Allgather(out, count, type, in, count, type, comm), "MPI_Allgather");
  expect_one(MPI_Alltoall(out, count, type, in, count, type, comm), "MPI_Alltoall");
  expect_one(MPI_Allreduce(out, in, count, type, MPI_SUM, comm), "MPI_Allreduce");
  expect_one(MPI_Reduce(out, in, count, type, MPI_SUM, 0, comm), "MPI_Reduce");
  expect_one(MPI_Scan(out, in, count, type, MPI_SUM, comm), "MPI_Scan");
  type = (rank == size - 1) ? MPI_INT : MPI_FLOAT;
  for (int root = 0; root < size; root++)
    expect_one(MPI_Reduce(out, in, count, type, MPI_SUM, root, comm), "MPI_Reduce to each root");
}

/* A rank whose own two types differ says so, whatever the others have. */
static void expect_own(int error, int told, const char* wanted, const char* what) {
  int class = MPI_SUCCESS;
  if (error) MPI_Error_class(error, &class);
  CHECK(class == (told ? MPI_ERR_TYPE : MPI_SUCCESS), "%s: class %d", what, class);
  if (class != MPI_ERR_TYPE) return;
  CHECK_TEXT(error, "of MPI_INT");
  CHECK_TEXT(error, wanted);
}

static void own_types(int count) {
  expect_own(MPI_Allgather(out, count, MPI_INT, in, count, MPI_FLOAT, comm), 1, "of MPI_FLOAT",
             "MPI_Allgather");
  expect_own(MPI_Alltoall(out, count, MPI_INT, in, count, MPI_FLOAT, comm), 1, "of MPI_FLOAT",
             "MPI_Alltoall");
  for (int root = 0; root < size; root++) {
    MPI_Datatype floats = (rank == root) ? MPI_FLOAT : MPI_INT;
    expect_own(MPI_Scatter(in, count, MPI_INT, out, count, floats, root, comm), rank == root,
               "of MPI_FLOAT", "MPI_Scatter");
    /* the root wants of all what it has for itself only */
    floats = (rank == root) ? MPI_INT : MPI_FLOAT;
    expect_own(MPI_Gather(out, count, floats, in, count, MPI_FLOAT, root, comm), rank == root,
               "of MPI_FLOAT", "MPI_Gather");
  }
  if (by_variable) { /* too much is told as ever */
    int error = MPI_Allgather(out, count + 1, MPI_INT, in, count, MPI_INT, MPI_COMM_SELF);
    int class = MPI_SUCCESS;
    if (error) MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_TRUNCATE, "too much to oneself: class %d", class);
    expect_own(MPI_Allgather(out, 3 * count, MPI_INT, in, 2 * count, MPI_DOUBLE, MPI_COMM_SELF), 1,
               "of MPI_DOUBLE", "more, and smaller ones, to oneself");
  }
  /* who sends itself nothing has no type for it */
  CHECK_MPI(MPI_Allgather(MPI_IN_PLACE, count, MPI_INT, in, count, MPI_FLOAT, comm));
  CHECK_MPI(MPI_Alltoall(MPI_IN_PLACE, count, MPI_INT, in, count, MPI_FLOAT, comm));
}

static int is_pair(const char* memory, int i) {
  Pair pair;
  memcpy(&pair, memory + (size_t)i * sizeof(Pair), sizeof(pair));
  return pair.number == i + 1 && pair.value == i + 0.5;
}

/* Of one signature, and another layout at rank 0. */
static void right_collectives(int count) {
  MPI_Datatype pair = pair_of(MPI_INT, MPI_DOUBLE), many, type;
  int *counts = malloc(sizeof(int) * (size_t)size), *places = malloc(sizeof(int) * (size_t)size);
  MPI_Request request;
  int wrong_pairs = 0, n;
  MPI_Type_contiguous(count, pair, &many);
  MPI_Type_commit(&many);
  type = (rank == 0) ? many : pair, n = (rank == 0) ? 1 : count;
  for (int i = 0; i < size; i++) counts[i] = n, places[i] = i * n;
  memset(in, 0, sizeof(Pair) * (size_t)count);
  for (int i = 0; i < count; i++) {
    Pair value = {i + 1, i + 0.5};
    memcpy((rank == 0 ? in : out) + (size_t)i * sizeof(Pair), &value, sizeof(value));
  }
  CHECK_MPI(MPI_Bcast(in, n, type, 0, comm));
  for (int i = 0; i < count; i++) wrong_pairs += !is_pair(in, i);
  CHECK(wrong_pairs == 0, "%d of %d pairs are wrong", wrong_pairs, count);
  CHECK_MPI(MPI_Gather(out, n, type, in, n, type, 0, comm));
  CHECK_MPI(MPI_Gather(out, count, pair, in, 1, many, size - 1, comm));
  CHECK_MPI(MPI_Scatter(in, n, type, out, n, type, 0, comm));
  CHECK_MPI(MPI_Allgather(out, n, type, in, n, type, comm));
  CHECK_MPI(MPI_Alltoall(in, n, type, out, n, type, comm));
  CHECK_MPI(MPI_Gatherv(out, n, type, in, counts, places, type, 0, comm));
  CHECK_MPI(MPI_Scatterv(in, counts, places, type, out, n, type, 0, comm));
  CHECK_MPI(MPI_Alltoallv(in, counts, places, type, out, counts, places, type, comm));
  /* MPICH's ring cuts into pieces of so many elements, which must be alike on all ranks. */
  for (int i = 0; i < size; i++) counts[i] = count, places[i] = i * count;
  CHECK_MPI(MPI_Allgatherv(out, n, type, in, counts, places, pair, comm));
  CHECK_MPI(MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, comm));
  CHECK_MPI(MPI_Reduce(out, in, count, MPI_INT, MPI_BOR, 0, comm));
  CHECK_MPI(MPI_Allreduce(out, in, count, MPI_2INT, MPI_MINLOC, comm));
  CHECK_MPI(MPI_Scan(out, in, count, MPI_INT, MPI_SUM, comm));
  CHECK_MPI(MPI_Exscan(out, in, count, MPI_INT, MPI_SUM, comm));
  CHECK_MPI(MPI_Reduce_scatter_block(out, in, count / size, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < size; i++) counts[i] = count / size;
  CHECK_MPI(MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm));
  CHECK_MPI(MPI_Ibcast(in, n, type, 0, comm, &request));
  CHECK_MPI(MPI_Bcast(out, n, type, 0, comm)); /* beside one that is under way */
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Iallgather(out, n, type, in, n, type, comm, &request));
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Ialltoall(in, n, type, out, n, type, comm, &request));
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int root = 0; root < size; root++) {
    CHECK_MPI(MPI_Igather(out, n, type, in, n, type, root, comm, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Igather(out, count, MPI_INT, in, count, MPI_INT, root, comm, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  MPI_Type_free(&pair), MPI_Type_free(&many);
  free(counts), free(places);
}

/* Between two groups, whose two directions may have types of their own. */
static void right_between(int count) {
  MPI_Comm half, between;
  int group = rank % 2, remote = (group == 0) ? 1 : 0;
  int root = (group == 1) ? 0 : (rank == 0 ? MPI_ROOT : MPI_PROC_NULL);
  MPI_Datatype mine = group ? MPI_INT : MPI_DOUBLE, theirs = group ? MPI_DOUBLE : MPI_INT;
  MPI_Comm_split(comm, group, rank, &half);
  CHECK_MPI(MPI_Intercomm_create(half, 0, comm, remote, 9, &between));
  CHECK_MPI(MPI_Bcast(out, count, MPI_INT, root, between));
  CHECK_MPI(MPI_Allgather(out, count, mine, in, count, theirs, between));
  CHECK_MPI(MPI_Alltoall(out, count, mine, in, count, theirs, between));
  CHECK_MPI(MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, between));
  CHECK_MPI(MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, root, between));
  CHECK_MPI(MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, root, between));
  CHECK_MPI(MPI_Barrier(between));
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

/* ---- who checks ---- */

static void switched_off(void) {
  MPI_Comm checking = comm;
  comm = by_variable ? with_hint("false") : check_comm(MPI_COMM_WORLD);
  right(4, MPI_INT, 4, MPI_FLOAT, "ints into floats where nobody checks");
  MPI_Comm_free(&comm);
  comm = with_hint((rank == 0) ? "true" : "false");
  right(4, MPI_INT, 4, MPI_FLOAT, "ints into floats where the receiver does not check");
  MPI_Comm_free(&comm);
  comm = checking;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#ifndef HAVE_MAD
  return check_skip("this MPI has no mpix_mad.h");
#endif
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPI_Mrecv of MPICH goes by it */
  by_variable = argc > 1 && strcmp(argv[1], "variable") == 0;
  comm = by_variable ? check_comm(MPI_COMM_WORLD) : with_hint("true");
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  out = calloc((size_t)size * kLong, sizeof(Pair));
  in = calloc((size_t)size * kLong, sizeof(Pair));
  if (!out || !in) MPI_Abort(comm, 1);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    basic_types(1), basic_types(20), basic_types(kLong / 8);
    derived_types(1), derived_types(50), derived_types(kLong / 8);
  }
  path_set(comm, kPaths[0]);
  too_long();
  types_that_change();
  switched_off();
  wrong_collectives(1), wrong_collectives(1000), wrong_collectives(kLong);
  own_types(1), own_types(1000), own_types(kLong / 8);
  right_collectives(size), right_collectives(1000), right_collectives(kLong / 8);
  right_between(1), right_between(kLong / 8);
  free(out), free(in);
  MPI_Comm_free(&comm);
  return check_finish();
}
