/* checksum.c: with MPIR_CVAR_CH4_MAD_CHECKSUM on, messages of every size and layout arrive as sent,
 * and every byte of them was checked; who has it off sends none.
 *
 * The argument says whose it is: "on" and "off" everybody's, as the environment has it; "one" rank
 * 0's alone.  That a wrong bit is found is shown below MPI (tests/fault), where bits can be made
 * wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/counter.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

#ifndef HAVE_MAD
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return check_skip("this MPI has no mpix_mad.h");
}
#else

#define VARIABLE "MPIR_CVAR_CH4_MAD_CHECKSUM"

enum { kTag = 5, kRounds = 3 };

static MPI_Comm comm;
static int rank;
static uint32_t stamp;

/* Without payload, and so without a checksum. */
static void token(int from) {
  if (rank == from) MPI_Send(NULL, 0, MPI_BYTE, 1 - from, kTag + 1, comm);
  if (rank != from) MPI_Recv(NULL, 0, MPI_BYTE, from, kTag + 1, comm, MPI_STATUS_IGNORE);
}

/* One message from `from`; posted: its receive waits for it, else it for its receive. Nothing
 * else comes between the receiver's two looks at its counter. */
static void transfer(int from, Layout layout, bool posted, bool checked) {
  Image image = layout_image(&layout, 1, ++stamp, rank == from);
  const uint64_t before = counter_read("mad_checked_bytes");
  int size;
  MPI_Request request;
  MPI_Type_size(layout.type, &size);
  if (rank == from) {
    token(1 - from);
    CHECK_MPI(MPI_Isend(image.base, 1, layout.type, 1 - from, kTag, comm, &request));
    if (!posted) token(from);
  } else {
    if (!posted) token(1 - from);
    if (!posted) token(from);
    CHECK_MPI(MPI_Irecv(image.base, 1, layout.type, from, kTag, comm, &request));
    if (posted) token(1 - from);
  }
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (rank != from) {
    const uint64_t bytes = counter_read("mad_checked_bytes") - before;
    const uint64_t expected = checked ? (uint64_t)size : 0;
    CHECK_IMAGE(&image, stamp, "%d bytes from %d, posted %d", size, from, posted);
    CHECK(bytes == expected, "%llu bytes of %d from %d checked, posted %d, expected %llu",
          (unsigned long long)bytes, size, from, posted, (unsigned long long)expected);
  }
  token(1 - from);
  image_free(&image);
  layout_free(&layout);
}

/* In the head of a message, in its first packets, and far behind. */
static void transfers(int from, bool checked) {
  static const int kInts[] = {3, 300, 30000, 900000};
  for (int i = 0; i < 4; i++) {
    for (int posted = 0; posted < 2; posted++) {
      transfer(from, layout_contiguous(kInts[i]), posted, checked);
      transfer(from, layout_strided(kInts[i] / 3, 3, 5), posted, checked);
      if (kInts[i] >= 3000)
        transfer(from, layout_strided(3, kInts[i] / 3, kInts[i]), posted, checked);
    }
  }
}

/* What came by one-sided operations; flushes wait for all of it. */
static void one_sided(bool checked) {
  enum { kInts = 100000 };
  static int window_memory[kInts], mine[kInts];
  MPI_Win window;
  for (int i = 0; i < kInts; i++) mine[i] = rank * kInts + i;
  MPI_Win_create(window_memory, sizeof(window_memory), sizeof(int), MPI_INFO_NULL, comm, &window);
  const uint64_t before = counter_read("mad_checked_bytes"); /* the put may come in this fence */
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Put(mine, kInts, MPI_INT, 1, 0, kInts, MPI_INT, window);
  MPI_Win_fence(0, window);
  const uint64_t bytes = counter_read("mad_checked_bytes") - before;
  if (rank == 1) {
    int wrong = 0;
    for (int i = 0; i < kInts; i++) wrong += window_memory[i] != i;
    CHECK(wrong == 0, "%d ints of %d put are wrong", wrong, kInts);
    CHECK((bytes >= sizeof(mine)) == checked, "%llu bytes of %zu put were checked",
          (unsigned long long)bytes, sizeof(mine));
  }
  MPI_Win_free(&window);
}

/* MPI_T has the variable, says what it is for, and its value here. */
static void variable(bool on) {
  char name[80], description[1000];
  int index, name_length = sizeof(name), length = sizeof(description), verbosity, bind, scope;
  int count, value = -1;
  MPI_Datatype type;
  MPI_T_enum values;
  MPI_T_cvar_handle handle;
  const int error = MPI_T_cvar_get_index(VARIABLE, &index);
  CHECK(error == MPI_SUCCESS, "there is no %s", VARIABLE);
  if (error != MPI_SUCCESS) return;
  MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &values, description, &length,
                      &bind, &scope);
  CHECK(strstr(description, "CRC32C") != NULL, "it says of itself '%s'", description);
  MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
  MPI_T_cvar_read(handle, &value);
  MPI_T_cvar_handle_free(&handle);
  CHECK((value != 0) == on, "it is %d", value);
}

int main(int argc, char** argv) {
  const char* whose = argc > 1 ? argv[1] : "on";
  const char* of_mpiexec = getenv("PMI_RANK");
  if (strcmp(whose, "one") == 0 && of_mpiexec && atoi(of_mpiexec) == 0) setenv(VARIABLE, "1", 1);
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  counters_open();
  const bool all = strcmp(whose, "on") == 0, first = all || strcmp(whose, "one") == 0;
  variable(rank == 0 ? first : all);
  for (int i = 0; i < kRounds; i++) {
    transfers(0, first);
    transfers(1, all);
    one_sided(first);
  }
  counters_close();
  MPI_Comm_free(&comm);
  return check_finish();
}
#endif
