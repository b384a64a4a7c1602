/* visitors.c: processes that are started, say a word and leave, a few at a time: what stays of
 * them.
 *
 * Counted is the heap in use, not the resident set, which keeps what was freed.  Pools and tables
 * grow now and then by a lot; what stays of every visitor is seen in each part of the run, so that
 * the part that grew least counts.  Any argument but "visitor" makes it tell the figures.
 */
#include <malloc.h>
#include <stdio.h>

#include "support/check.h"

enum { kTag = 1, kGroup = 6, kParts = 5, kGroupsAPart = 5, kLimit = 128 };

static size_t heap_bytes(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static int visitor(MPI_Comm host) {
  int rank, word = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Recv(&word, 1, MPI_INT, 0, kTag, host, MPI_STATUS_IGNORE);
  word += rank;
  MPI_Send(&word, 1, MPI_INT, 0, kTag, host);
  MPI_Comm_disconnect(&host);
  MPI_Finalize();
  return 0;
}

static void host_a_group(char* program, int number) {
  static char argument[] = "visitor", *arguments[] = {argument, NULL};
  MPI_Comm group;
  int errors[kGroup];
  CHECK_MPI(
      MPI_Comm_spawn(program, arguments, kGroup, MPI_INFO_NULL, 0, MPI_COMM_SELF, &group, errors));
  for (int i = 0; i < kGroup; i++) {
    const int word = 1000 * number;
    MPI_Send(&word, 1, MPI_INT, i, kTag, group);
  }
  for (int i = 0; i < kGroup; i++) {
    int word = 0;
    MPI_Recv(&word, 1, MPI_INT, i, kTag, group, MPI_STATUS_IGNORE);
    CHECK(word == 1000 * number + i, "visitor %d of group %d said %d", i, number, word);
  }
  MPI_Comm_disconnect(&group);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return visitor(parent);
  double least = 1e9;
  for (int part = 0; part < kParts; part++) {
    const double before = (double)heap_bytes();
    for (int i = 0; i < kGroupsAPart; i++) host_a_group(argv[0], kGroupsAPart * part + i);
    const double each = ((double)heap_bytes() - before) / (kGroup * kGroupsAPart);
    if (argc > 1) printf("%d visitors: of each %.0f bytes stay\n", kGroup * kGroupsAPart, each);
    if (each < least) least = each;
  }
  CHECK(least <= kLimit, "of each visitor %.0f bytes stay, allowed are %d", least, kLimit);
  return check_finish();
}
