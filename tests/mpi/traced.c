/* traced.c: a program for libmad_piggyback.so with MAD_PIGGYBACK=trace.
 *
 * Each rank sends to the next one, and all meet; the file and the picture that the library writes
 * when the program ends are looked at here, and removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

enum { kTag = 7, kRoom = 1 << 20 };

static char text[kRoom];

/* 0: it has all parts. */
static int lacks(const char* file, const char* const* parts, int count) {
  FILE* in = fopen(file, "r");
  int lacking = 0;
  if (in == NULL) {
    printf("there is no %s\n", file);
    return 1;
  }
  text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
  fclose(in);
  for (int i = 0; i < count; i++) {
    if (strstr(text, parts[i])) continue;
    printf("%s lacks %s: %.2000s\n", file, parts[i], text);
    lacking = 1;
  }
  return lacking;
}

int main(int argc, char** argv) {
  static const char* const kTrace[] = {"\"traceEvents\"",
                                       "\"name\":\"MPI_Send\"",
                                       "\"name\":\"MPI_Recv\"",
                                       "\"name\":\"MPI_Barrier\"",
                                       "\"waited for rank\":0",
                                       "\"ph\":\"s\"",
                                       "\"args\":{\"name\":\"rank 1\"}",
                                       "]}"};
  static const char* const kPicture[] = {"<svg", "rank 1", "<title>MPI_Barrier", "</svg>"};
  char directory[] = "/tmp/traced.XXXXXX", trace[64], picture[64];
  int rank, size, value = 0, failed;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(rank != 0 || mkdtemp(directory) != NULL, "no directory");
  snprintf(trace, sizeof(trace), "%s/calls.json", directory);
  snprintf(picture, sizeof(picture), "%s/calls.svg", directory);
  setenv("MAD_PIGGYBACK_FILE", trace, 1);
  if (rank > 0) MPI_Recv(&value, 1, MPI_INT, rank - 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank < size - 1) MPI_Send(&rank, 1, MPI_INT, rank + 1, kTag, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  failed = check_finish();
  if (rank != 0) return failed;
  failed += lacks(trace, kTrace, (int)(sizeof(kTrace) / sizeof(kTrace[0])));
  failed += lacks(picture, kPicture, (int)(sizeof(kPicture) / sizeof(kPicture[0])));
  unlink(trace), unlink(picture), rmdir(directory);
  return failed != 0;
}
