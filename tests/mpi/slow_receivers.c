/* slow_receivers.c: ranks that accepted a long message and then compute stop nobody else.
 *
 * Rank 0 streams to all ranks but rank 1, which stop calling MPI as soon as they have accepted.
 * Meanwhile rank 0 and rank 1 must be able to talk, however much of what rank 0 has to send with
 * the others hold.  They compute until rank 0 says so by a file, as they look at nothing of MPI.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/memory.h"

/* Blocks of 16 bytes are copied together; 12 MiB of them are more than the sockets of one
 * connection hold. */
enum { kBlock = 16, kStride = 24, kBlocks = 768 << 10, kPingBlocks = 64 << 10, kPings = 4 };
enum { kTag = 1, kReady, kPing };
enum { kTests = 3000, kLongestWaits = 20000, kWaitMicroseconds = 1000 };

static MPI_Comm comm;
static int rank, size;
static char gate[64];
static char* buffer;

static MPI_Datatype blocks_new(int count) {
  MPI_Datatype type;
  MPI_Type_vector(count, kBlock, kStride, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

static size_t wrong_bytes(int blocks, char value) {
  size_t wrong = 0;
  for (size_t i = 0; i < (size_t)(blocks - 1) * kStride + kBlock; i++) {
    wrong += buffer[i] != (i % kStride < kBlock ? value : 0);
  }
  return wrong;
}

static void ping(MPI_Datatype blocks) {
  const int other = 1 - rank;
  for (int i = 0; i < kPings; i++) {
    if (rank == 0) MPI_Send(buffer, 1, blocks, other, kPing, comm);
    MPI_Recv(buffer, 1, blocks, other, kPing, comm, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(buffer, 1, blocks, other, kPing, comm);
  }
}

static void send_to_all(MPI_Datatype blocks, MPI_Datatype ping_blocks) {
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)size);
  int done = 0;
  memset(buffer, 'x', (size_t)kBlocks * kStride);
  for (int to = 2; to < size; to++) {
    MPI_Isend(buffer, 1, blocks, to, kTag, comm, &requests[to - 2]);
    MPI_Send(NULL, 0, MPI_BYTE, to, kReady, comm);
  }
  for (int to = 2; to < size; to++) {
    MPI_Recv(NULL, 0, MPI_BYTE, to, kReady, comm, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < kTests; i++) MPI_Testall(size - 2, requests, &done, MPI_STATUSES_IGNORE);
  CHECK(!done, "12 MiB left for each of %d ranks that take nothing", size - 2);
  ping(ping_blocks);
  const int file = creat(gate, 0600);
  CHECK(file >= 0, "no file %s", gate);
  close(file);
  MPI_Waitall(size - 2, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

static void accept_and_compute(MPI_Datatype blocks) {
  MPI_Request request;
  int waits = 0;
  MPI_Irecv(buffer, 1, blocks, 0, kTag, comm, &request);
  MPI_Recv(NULL, 0, MPI_BYTE, 0, kReady, comm, MPI_STATUS_IGNORE);
  MPI_Send(NULL, 0, MPI_BYTE, 0, kReady, comm);
  while (access(gate, F_OK) != 0 && ++waits < kLongestWaits) usleep(kWaitMicroseconds);
  CHECK(waits < kLongestWaits, "ranks 0 and 1 could not talk while this rank computed");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const size_t wrong = wrong_bytes(kBlocks, 'x');
  CHECK(wrong == 0, "%zu bytes wrong", wrong);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (size < 3) return check_skip("needs three ranks");
  buffer = memory_touched((size_t)kBlocks * kStride, 0);
  MPI_Datatype blocks = blocks_new(kBlocks), ping_blocks = blocks_new(kPingBlocks);
  if (rank == 0) snprintf(gate, sizeof(gate), "/tmp/mad-slow-receivers-%d", (int)getpid());
  MPI_Bcast(gate, sizeof(gate), MPI_CHAR, 0, comm);
  if (rank == 0) send_to_all(blocks, ping_blocks);
  if (rank == 1) ping(ping_blocks);
  if (rank > 1) accept_and_compute(blocks);
  MPI_Barrier(comm);
  if (rank == 0) unlink(gate);
  MPI_Type_free(&blocks);
  MPI_Type_free(&ping_blocks);
  free(buffer);
  MPI_Comm_free(&comm);
  return check_finish();
}
