/* unsigned_numbers.c: the largest and the least of unsigned numbers, by reductions and accumulates,
 * few and many, of each type. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { kMost = 3000 };

static MPI_Comm comm;
static int rank, size;

/* Of each rank and place another, half of them with the highest bit set. */
static uint64_t number(int of_rank, int place, int bytes) {
  uint64_t word =
      (uint64_t)(of_rank + 1) * 0x9e3779b97f4a7c15u + (uint64_t)place * 0xbf58476d1ce4e5b9u;
  word ^= word >> 29;
  word *= 0x94d049bb133111ebu;
  return bytes == 8 ? word : word & ((UINT64_C(1) << (8 * bytes)) - 1);
}

static uint64_t expected(int place, int bytes, MPI_Op op) {
  uint64_t best = number(0, place, bytes);
  for (int each = 1; each < size; each++) {
    const uint64_t other = number(each, place, bytes);
    if (op == MPI_MAX ? other > best : other < best) best = other;
  }
  return best;
}

static void fill(unsigned char* data, int count, int bytes) {
  for (int i = 0; i < count; i++) {
    const uint64_t word = number(rank, i, bytes);
    memcpy(data + (size_t)i * bytes, &word, bytes); /* little-endian */
  }
}

static void compare(const unsigned char* data, int count, int bytes, MPI_Op op, const char* what,
                    const char* type) {
  for (int i = 0; i < count; i++) {
    uint64_t word = 0;
    memcpy(&word, data + (size_t)i * bytes, bytes);
    if (word == expected(i, bytes, op)) continue;
    CHECK(false, "%s of %d %s, %s: number %d is %llx, not %llx", op == MPI_MAX ? "most" : "least",
          count, type, what, i, (unsigned long long)word,
          (unsigned long long)expected(i, bytes, op));
    return;
  }
}

static void accumulate(const unsigned char* mine, unsigned char* target, int count, int bytes,
                       MPI_Datatype type, MPI_Op op) {
  MPI_Win win;
  memcpy(target, mine, (size_t)count * bytes);
  MPI_Win_create(target, (MPI_Aint)count * bytes, bytes, MPI_INFO_NULL, comm, &win);
  MPI_Win_fence(0, win);
  for (int each = 0; each < size; each++) {
    if (each != rank) MPI_Accumulate(mine, count, type, each, 0, count, type, op, win);
  }
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

static void reduce(MPI_Datatype type, const char* name, int count, MPI_Op op) {
  static unsigned char mine[kMost * 8], result[kMost * 8];
  int bytes;
  MPI_Type_size(type, &bytes);
  fill(mine, count, bytes);
  MPI_Allreduce(mine, result, count, type, op, comm);
  compare(result, count, bytes, op, "MPI_Allreduce", name);
  accumulate(mine, result, count, bytes, type, op);
  compare(result, count, bytes, op, "MPI_Accumulate", name);
}

int main(int argc, char** argv) {
  static const int kCounts[] = {1, 7, kMost};
  const struct {
    MPI_Datatype type;
    const char* name;
  } types[] = {{MPI_UNSIGNED_CHAR, "unsigned char"},
               {MPI_UNSIGNED_SHORT, "unsigned short"},
               {MPI_UNSIGNED, "unsigned"},
               {MPI_UNSIGNED_LONG, "unsigned long"},
               {MPI_UNSIGNED_LONG_LONG, "unsigned long long"},
               {MPI_UINT8_T, "uint8_t"},
               {MPI_UINT16_T, "uint16_t"},
               {MPI_UINT32_T, "uint32_t"},
               {MPI_UINT64_T, "uint64_t"}};

  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
    for (size_t c = 0; c < sizeof(kCounts) / sizeof(kCounts[0]); c++) {
      reduce(types[t].type, types[t].name, kCounts[c], MPI_MAX);
      reduce(types[t].type, types[t].name, kCounts[c], MPI_MIN);
    }
  }
  MPI_Comm_free(&comm);
  return check_finish();
}
