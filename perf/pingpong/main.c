/* main.c: INRIA RT-0306's ping-pong of derived datatypes, with the optimisation off and on in one
 * run.
 *
 * Plain MPI: any mpicc builds it (`mpicc -O2 -std=gnu11 *.c -o pingpong`).
 */
#include <mpi.h>
#include <stdio.h>

#include "measure.h"
#include "options.h"
#include "report.h"

enum { kExitBad = 2 };

/* Types without a number of blocks run once for each size, and no cell runs in both grids. */
static bool repeats_a_cell(const Options* options, const LayoutKind* kind, int grid, int size,
                           int block) {
  if (!kind->takes_blocks && block > 0) return true;
  if (grid == 0) return false;
  const Grid *first = &options->grids[0], *mine = &options->grids[grid];
  bool same_bytes = false, same_blocks = !kind->takes_blocks;
  for (int i = 0; i < first->byte_count; i++) {
    same_bytes = same_bytes || first->bytes[i] == mine->bytes[size];
  }
  for (int i = 0; i < first->block_count; i++) {
    same_blocks = same_blocks || first->blocks[i] == mine->blocks[block];
  }
  return same_bytes && same_blocks;
}

static void run_cell(const Options* options, const LayoutKind* kind, size_t bytes, int blocks,
                     const Modes* modes, const Report* report) {
  Layout layout = layout_new(kind, bytes, blocks, options->receive);
  Timing timings[kMaxModes];
  measure(kind->name, &layout, modes, options->iterations, timings);
  if (report) {
    const Cell cell = {kind->name, bytes, &layout, options->iterations};
    report_cell(report, &cell, timings);
  }
  layout_free(&layout);
}

static void run(const Options* options, const Modes* modes, const Report* report) {
  for (int g = 0; g < options->grid_count; g++) {
    const Grid* grid = &options->grids[g];
    for (int t = 0; t < options->type_count; t++) {
      for (int s = 0; s < grid->byte_count; s++) {
        for (int b = 0; b < grid->block_count; b++) {
          if (repeats_a_cell(options, options->types[t], g, s, b)) continue;
          run_cell(options, options->types[t], grid->bytes[s], grid->blocks[b], modes, report);
        }
      }
    }
  }
}

/* Everything between MPI_Init and MPI_Finalize; the exit status of this rank. */
static int pingpong(int argc, char** argv, int rank, int size) {
  Options options;
  char message[400];
  const OptionsResult parsed = options_parse(argc, argv, &options, message, sizeof(message));
  if (parsed == kOptionsHelp) {
    if (rank == 0) fputs(kOptionsHelpText, stdout);
    return 0;
  }
  if (parsed == kOptionsBad) {
    if (rank == 0) fprintf(stderr, "pingpong: %s\n", message);
    return kExitBad;
  }
  if (size != 2) {
    if (rank == 0) fprintf(stderr, "pingpong: needs 2 processes, has %d: mpiexec -n 2 ...\n", size);
    return kExitBad;
  }

  Modes modes;
  Report report;
  int ready = modes_open(options.modes, options.mode_count, &modes);
  if (ready && rank == 0) ready = report_open(&modes, options.csv, &report);
  MPI_Bcast(&ready, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!ready) return kExitBad;
  run(&options, &modes, rank == 0 ? &report : NULL);
  const bool written = rank != 0 || report_close(&report);
  modes_close(&modes);
  return written ? 0 : 1;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int status = pingpong(argc, argv, rank, size);
  MPI_Finalize();
  return status;
}
