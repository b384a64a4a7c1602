#include "report.h"

#include <errno.h>
#include <string.h>

static bool has_gain(const Modes* modes, int mode) { return modes->off >= 0 && mode != modes->off; }

static void print_library(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n,")] = '\0';
  for (char* c = version; *c; c++) {
    if (*c == '\t') *c = ' ';
  }
  printf(
      "# %s\n# round trip in microseconds: minimum and median; gain in %% of mode off, of the "
      "minima\n",
      version);
  if (!modes_switchable()) puts("# this MPI has no mpix_mad.h: there is one mode, called mpi");
}

bool report_open(const Modes* modes, const char* csv, Report* report) {
  report->modes = modes;
  report->csv = NULL;
  if (csv) {
    report->csv = fopen(csv, "w");
    if (!report->csv) {
      fprintf(stderr, "pingpong: cannot write %s: %s\n", csv, strerror(errno));
      return false;
    }
    fputs("type,size,bytes,blocks,receive,mode,iterations,min_us,median_us,gain_min,gain_median\n",
          report->csv);
  }
  print_library();
  printf("%-12s %10s %6s %-10s", "type", "bytes", "blocks", "receive");
  for (int m = 0; m < modes->count; m++) {
    printf(" | %8s %9s", modes->list[m].name, "median");
    if (has_gain(modes, m)) printf(" %7s", "gain");
  }
  printf("\n");
  fflush(stdout);
  return true;
}

static void print_row(const Modes* modes, const Cell* cell, const Timing* timings) {
  printf("%-12s %10zu %6d %-10s", cell->type, cell->layout->bytes, cell->layout->blocks,
         cell->layout->typed ? "typed" : "contiguous");
  for (int m = 0; m < modes->count; m++) {
    printf(" | %8.1f %9.1f", timings[m].min_us, timings[m].median_us);
    if (has_gain(modes, m)) {
      printf(" %6.1f%%", gain(timings[modes->off].min_us, timings[m].min_us));
    }
  }
  printf("\n");
  fflush(stdout);
}

static void write_rows(FILE* csv, const Modes* modes, const Cell* cell, const Timing* timings) {
  for (int m = 0; m < modes->count; m++) {
    fprintf(csv, "%s,%zu,%zu,%d,%s,%s,%d,%.3f,%.3f,", cell->type, cell->size, cell->layout->bytes,
            cell->layout->blocks, cell->layout->typed ? "typed" : "contiguous", modes->list[m].name,
            cell->iterations, timings[m].min_us, timings[m].median_us);
    if (has_gain(modes, m)) {
      const Timing* off = &timings[modes->off];
      fprintf(csv, "%.2f,%.2f\n", gain(off->min_us, timings[m].min_us),
              gain(off->median_us, timings[m].median_us));
    } else {
      fputs(",\n", csv);
    }
  }
  fflush(csv);
}

void report_cell(const Report* report, const Cell* cell, const Timing* timings) {
  print_row(report->modes, cell, timings);
  if (report->csv) write_rows(report->csv, report->modes, cell, timings);
}

bool report_close(Report* report) {
  if (!report->csv) return true;
  bool written = !ferror(report->csv);
  written = fclose(report->csv) == 0 && written;
  if (!written) fprintf(stderr, "pingpong: the CSV file is incomplete: %s\n", strerror(errno));
  report->csv = NULL;
  return written;
}
