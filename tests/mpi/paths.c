/* paths.c: random datatypes through every data path on either side.
 *
 * Both ranks draw the same structures and different layouts.  Every message is checked against the
 * literal type map: the right bytes in the right places, all others untouched.
 */
#include <stdio.h>

#include "support/check.h"
#include "support/path.h"
#include "support/random_type.h"

enum { kTypes = 60, kTag = 7, kPieceBytes = 100000, kHugeBytes = 3000000 };

typedef struct Trial {
  uint64_t seed;
  RandomType type;
  Image image;
  size_t count;
} Trial;

/* Counts from one element to messages of many packets. */
static size_t draw_count(Random* random, size_t bytes) {
  static const int kTargets[] = {0, 0, 2000, kPieceBytes, kHugeBytes};
  const int target = kTargets[random_below(random, 5)];
  return bytes ? 1 + (size_t)target / bytes : 1;
}

static Trial trial_new(uint64_t seed, uint64_t layout) {
  Trial trial = {.seed = seed};
  Random counts = random_from(seed ^ 0xC0);
  trial.type = random_type_new(seed, seed + layout);
  trial.count = draw_count(&counts, typemap_bytes(&trial.type.map));
  trial.image = image_new(&trial.type.map, trial.type.extent, trial.count);
  return trial;
}

static void trial_free(Trial* trial) {
  image_free(&trial->image);
  random_type_free(&trial->type);
}

static void receive(Trial* trial, uint32_t stamp, MPI_Comm comm, const char* from, const char* to) {
  MPI_Status status;
  int count;
  image_fill(&trial->image, stamp, false);
  MPI_Barrier(comm); /* half the receives are posted late, see send() */
  MPI_Recv(trial->image.base, (int)trial->count, trial->type.type, 0, kTag, comm, &status);
  /* Not MPI_Get_elements(): MPICH 4.0.2 divides by zero there for some structs. */
  MPI_Get_count(&status, trial->type.type, &count);
  CHECK(typemap_bytes(&trial->type.map) == 0 || (size_t)count == trial->count,
        "count %d, expected %zu (%s to %s, %s)", count, trial->count, from, to, trial->type.text);
  const int64_t wrong = image_check(&trial->image, stamp, trial->image.map.count);
  CHECK(wrong == INT64_MAX, "wrong byte at offset %lld (%s to %s, seed %llu, %zu x %s)",
        (long long)wrong, from, to, (unsigned long long)trial->seed, trial->count,
        trial->type.text);
}

/* Every second message leaves before the receive is posted. */
static void send(Trial* trial, uint32_t stamp, MPI_Comm comm) {
  MPI_Request request;
  image_fill(&trial->image, stamp, true);
  if (stamp % 2) MPI_Barrier(comm);
  MPI_Isend(trial->image.base, (int)trial->count, trial->type.type, 1, kTag, comm, &request);
  if (stamp % 2 == 0) MPI_Barrier(comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void run_trial(uint64_t seed, int rank, MPI_Comm comm, uint32_t* stamp) {
  Trial trial = trial_new(seed, (uint64_t)rank + 1);
  /* Large ones meet every path on each side, though not every pair of paths. */
  const int step = typemap_bytes(&trial.image.map) > kPieceBytes ? kPathCount + 1 : 1;
  for (int pair = 0; pair < kPathCount * kPathCount; pair += step) {
    const char *from = kPaths[pair / kPathCount], *to = kPaths[pair % kPathCount];
    path_set(comm, rank == 0 ? from : to);
    ++*stamp;
    if (rank == 0)
      send(&trial, *stamp, comm);
    else
      receive(&trial, *stamp, comm, from, to);
  }
  trial_free(&trial);
}

int main(int argc, char** argv) {
  int rank;
  uint32_t stamp = 0;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const uint64_t seed = random_seed(306);
  for (int i = 0, failures = 0; i < kTypes && failures == 0; i++) {
    run_trial(seed * 1000 + (uint64_t)i, rank, comm, &stamp);
    failures = check_failures();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (check_failures()) fprintf(stderr, "MAD_SEED=%llu\n", (unsigned long long)seed);
  MPI_Comm_free(&comm);
  return check_finish();
}
