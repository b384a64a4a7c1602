/* growth.c: by how much a process grows for messages of a great many 8-byte blocks.
 *
 * 1 GiB of them as a vector, which is 2 GiB of user memory a side, and a million as a list that has
 * no regularity.  The user's memory is there and the connection warm before; what is counted is the
 * peak of the resident set above that, on either side.  Any argument makes it tell the figures.
 * bounded.c is about every path, with less data and more patience.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/path.h"
#include "support/random.h"

enum { kTag = 1, kListed = 1000000 };
static const size_t kBlocks = (size_t)128 << 20; /* of 8 bytes: 1 GiB */
static const size_t kNeeded = (size_t)8 << 30;   /* twice 2 GiB, and room */
static const size_t kLimit = 2 << 20;

static MPI_Comm comm;
static int rank;
static bool tells;

static uint64_t word_at(size_t block) { return (block + 1) * 0x9E3779B97F4A7C15u; }

static void pass(void* buffer, int count, MPI_Datatype type) {
  if (rank == 0) {
    MPI_Send(buffer, count, type, 1, kTag, comm);
  } else {
    MPI_Recv(buffer, count, type, 0, kTag, comm, MPI_STATUS_IGNORE);
  }
}

/* One small message of the same kind, so that both sides are connected. */
static void warm_up(void) {
  uint64_t words[20] = {0};
  MPI_Datatype few;
  MPI_Type_vector(10, 1, 2, MPI_UINT64_T, &few);
  MPI_Type_commit(&few);
  pass(words, 1, few);
  MPI_Type_free(&few);
  MPI_Barrier(comm);
}

static void pass_watched(uint64_t* words, MPI_Datatype type, const char* what) {
  warm_up();
  const size_t before = memory_watch();
  pass(words, 1, type);
  const size_t growth = memory_growth(before);
  CHECK(growth <= kLimit, "%s: grew by %zu KiB, allowed are %zu", what, growth >> 10, kLimit >> 10);
  if (tells) printf("rank %d, %s: grew by %zu KiB\n", rank, what, growth >> 10);
}

/* Blocks at `places` (words; NULL: every second one) hold their own words at rank 0, others
 * nothing. */
static void fill(uint64_t* words, const int* places, size_t blocks) {
  for (size_t b = 0; rank == 0 && b < blocks; b++)
    words[places ? (size_t)places[b] : 2 * b] = word_at(b);
}

/* Of those blocks and of the words between them. */
static void check(const uint64_t* words, const int* places, size_t blocks, const char* what) {
  size_t wrong = 0, at = 0;
  for (size_t b = 0; rank == 1 && b < blocks; b++) {
    const size_t place = places ? (size_t)places[b] : 2 * b;
    while (at < place) wrong += words[at++] != 0;
    wrong += words[at++] != word_at(b);
  }
  CHECK(wrong == 0, "%s: %zu words are wrong", what, wrong);
}

static void gibibyte(void) {
  const char* what = "1 GiB of 8-byte blocks";
  MPI_Datatype type;
  MPI_Type_vector((int)kBlocks, 1, 2, MPI_UINT64_T, &type);
  MPI_Type_commit(&type);
  uint64_t* words = (uint64_t*)memory_touched(kBlocks * 16, 0);
  fill(words, NULL, kBlocks);
  pass_watched(words, type, what);
  check(words, NULL, kBlocks, what);
  free(words);
  MPI_Type_free(&type);
}

/* Gaps of 1 to 4 words; the lists differ between the ranks. */
static void listed(void) {
  const char* what = "a million 8-byte blocks in a list";
  int* places = malloc(kListed * sizeof(int));
  if (!places) MPI_Abort(comm, 1);
  Random random = random_from(306 + (uint64_t)rank);
  for (int b = 0, at = 0; b < kListed; b++) {
    places[b] = at;
    at += 1 + random_between(&random, 1, 4);
  }
  MPI_Datatype type;
  MPI_Type_create_indexed_block(kListed, 1, places, MPI_UINT64_T, &type);
  MPI_Type_commit(&type);
  uint64_t* words = (uint64_t*)memory_touched(((size_t)places[kListed - 1] + 1) * 8, 0);
  fill(words, places, kListed);
  pass_watched(words, type, what);
  check(words, places, kListed, what);
  free(words);
  free(places);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  int enough = memory_available() >= kNeeded;
  MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, comm);
  if (!enough) {
    MPI_Comm_free(&comm);
    return check_skip("needs 8 GiB of available memory");
  }
  tells = argc > 1;
  path_set(comm, kPaths[0]);
  gibibyte();
  listed();
  MPI_Comm_free(&comm);
  return check_finish();
}
