/* large.c: messages past 2 GiB, in one run and with gaps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/path.h"

enum { kTag = 1 };

/* 2 GiB and a little, in blocks whose number of bytes is no multiple of any packet's. */
static const size_t kBlock = 262152, kBlocks = 8193, kGap = 4096;
static const size_t kNeeded = (size_t)10 << 30;

static int rank;

/* Told apart across 4 GiB: neither a shift by a block nor by 2^31 bytes or 2^32 maps it on itself.
 */
static uint64_t word_at(size_t position, uint64_t stamp) {
  return (position + 1) * 0x9E3779B97F4A7C15u + stamp;
}

/* One for the whole run: fresh pages would cost more than the messages. */
typedef struct Area {
  uint64_t* words;
  size_t gap; /* bytes behind each block; they hold zeros */
} Area;

static Area area_new(void) {
  const Area area = {malloc(kBlocks * (kBlock + kGap)), 0};
  if (!area.words) MPI_Abort(MPI_COMM_WORLD, 1);
  return area;
}

static uint64_t* block_of(const Area* area, size_t block) {
  return area->words + block * ((kBlock + area->gap) / sizeof(uint64_t));
}

/* The payload of `stamp`, or none of it. */
static void fill(const Area* area, uint64_t stamp) {
  for (size_t b = 0; b < kBlocks; b++) {
    uint64_t* words = block_of(area, b);
    for (size_t w = 0; stamp && w < kBlock / 8; w++)
      words[w] = word_at(b * (kBlock / 8) + w, stamp);
    if (!stamp) memset(words, 0, kBlock);
    memset(words + kBlock / 8, 0, area->gap);
  }
}

static void check(const Area* area, uint64_t stamp, const char* what) {
  for (size_t b = 0; b < kBlocks; b++) {
    const uint64_t* words = block_of(area, b);
    for (size_t w = 0; w < (kBlock + area->gap) / 8; w++) {
      const uint64_t expected = w < kBlock / 8 ? word_at(b * (kBlock / 8) + w, stamp) : 0;
      if (words[w] == expected) continue;
      CHECK(words[w] == expected, "%s: block %zu, word %zu is %llx", what, b, w,
            (unsigned long long)words[w]);
      return;
    }
  }
}

static MPI_Datatype blocks_of(const Area* area) {
  MPI_Datatype type;
  MPI_Type_create_hvector((int)kBlocks, (int)(kBlock / 8), (MPI_Aint)(kBlock + area->gap),
                          MPI_UINT64_T, &type);
  MPI_Type_commit(&type);
  return type;
}

static void send_blocks(Area* area, size_t gap, const char* path, uint64_t stamp) {
  area->gap = rank == 0 ? gap : 0;
  MPI_Datatype type = blocks_of(area);
  char what[80];
  snprintf(what, sizeof(what), "gap %zu, path %s", gap, path);
  path_set(MPI_COMM_WORLD, path);
  fill(area, rank == 0 ? stamp : 0);
  if (rank == 0) {
    MPI_Send(area->words, 1, type, 1, kTag, MPI_COMM_WORLD);
  } else {
    MPI_Status status;
    MPI_Count words;
    MPI_Recv(area->words, 1, type, 0, kTag, MPI_COMM_WORLD, &status);
    MPI_Get_elements_x(&status, MPI_UINT64_T, &words);
    CHECK((size_t)words == kBlocks * kBlock / 8, "%lld words", (long long)words);
    check(area, stamp, what);
  }
  MPI_Type_free(&type);
}

/* A count that no int holds; back from rank 1, into gaps. */
static void send_bytes(Area* area, uint64_t stamp) {
  area->gap = rank == 0 ? kGap : 0;
  path_set(MPI_COMM_WORLD, kPaths[0]);
  fill(area, rank == 1 ? stamp : 0);
  if (rank == 1) {
    MPI_Send_c(area->words, (MPI_Count)(kBlocks * kBlock), MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
  } else {
    MPI_Datatype bytes;
    MPI_Type_create_hvector((int)kBlocks, (int)kBlock, (MPI_Aint)(kBlock + area->gap), MPI_BYTE,
                            &bytes);
    MPI_Type_commit(&bytes);
    MPI_Recv(area->words, 1, bytes, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(area, stamp, "bytes by the large count");
    MPI_Type_free(&bytes);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int enough = memory_available() >= kNeeded;
  MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!enough) return check_skip("needs 10 GiB of available memory");
  Area area = area_new();
  send_blocks(&area, 0, kPaths[0], 1);
  /* auto and one path that copies everything, and one that has the whole message in a buffer. */
  send_blocks(&area, kGap, kPaths[0], 2);
  if (kPathCount > 1) {
    send_blocks(&area, kGap, "pipeline", 3);
    send_blocks(&area, kGap, "pack", 4);
  }
  send_bytes(&area, 5);
  free(area.words);
  return check_finish();
}
