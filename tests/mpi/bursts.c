/* bursts.c: many small messages in a row - in order, whole, and, once they are complete at the
 * sender, on their way without its help: it makes no MPI call before the receiver has them all. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"

enum { kTag = 1, kMost = 200, kWords = 16, kSeconds = 60 };

static int64_t word_of(int burst, int message, int place) {
  return ((int64_t)burst << 40) | ((int64_t)message << 16) | place;
}

/* A file of both processes: its size says how many bursts have arrived. */
static FILE* open_shared(int rank) {
  char name[] = "/tmp/mad-bursts-XXXXXX";
  if (rank == 0) {
    const int file = mkstemp(name);
    if (file < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    close(file);
  }
  MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
  FILE* const shared = fopen(name, "a");
  if (shared == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
  return shared;
}

static long arrived(FILE* shared) {
  fseek(shared, 0, SEEK_END);
  return ftell(shared);
}

/* Nothing of MPI in here. */
static bool wait_for(FILE* shared, long bursts) {
  const struct timespec moment = {0, 1000000};
  for (int i = 0; i < kSeconds * 1000 && arrived(shared) < bursts; i++) nanosleep(&moment, NULL);
  return arrived(shared) >= bursts;
}

static void send_burst(int burst, int messages, bool blocking) {
  static int64_t words[kMost][kWords];
  MPI_Request requests[kMost];
  for (int m = 0; m < messages; m++) {
    const int count = m % (kWords + 1); /* none at all now and then */
    for (int i = 0; i < count; i++) words[m][i] = word_of(burst, m, i);
    if (blocking)
      MPI_Send(words[m], count, MPI_INT64_T, 1, kTag, MPI_COMM_WORLD);
    else
      MPI_Isend(words[m], count, MPI_INT64_T, 1, kTag, MPI_COMM_WORLD, &requests[m]);
  }
  if (!blocking) MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
}

static void receive_burst(int burst, int messages) {
  for (int m = 0; m < messages; m++) {
    int64_t words[kWords];
    int count = -1;
    MPI_Status status;
    MPI_Recv(words, kWords, MPI_INT64_T, 0, kTag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT64_T, &count);
    CHECK(count == m % (kWords + 1), "message %d of burst %d has %d words", m, burst, count);
    for (int i = 0; i < count; i++) {
      CHECK(words[i] == word_of(burst, m, i), "word %d of message %d of burst %d", i, m, burst);
    }
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 2, "%d processes instead of 2", size);
  FILE* const shared = open_shared(rank);
  static const int kLengths[] = {1, 7, 8, 9, 10, 17, 23, 24, 25, 64, kMost};
  const int bursts = 2 * (int)(sizeof(kLengths) / sizeof(kLengths[0]));
  for (int burst = 0; burst < bursts; burst++) {
    const int messages = kLengths[burst / 2];
    if (rank == 0) {
      send_burst(burst, messages, burst % 2 == 0);
      CHECK(wait_for(shared, burst + 1), "burst %d of %d messages did not arrive", burst, messages);
    } else if (rank == 1) {
      receive_burst(burst, messages);
      fputc('.', shared);
      fflush(shared);
    }
  }
  fclose(shared);
  return check_finish();
}
