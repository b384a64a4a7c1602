/* report.h: the results as an aligned table on the screen, line by line, and as CSV. */
#ifndef PINGPONG_REPORT_H
#define PINGPONG_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "measure.h"

typedef struct Cell {
  const char* type;
  size_t size; /* bytes asked for; layout->bytes is what was sent */
  const Layout* layout;
  int iterations;
} Cell;

typedef struct Report {
  const Modes* modes;
  FILE* csv; /* NULL: none */
} Report;

/* False after a message if the CSV file cannot be written. */
bool report_open(const Modes* modes, const char* csv, Report* report);
void report_cell(const Report* report, const Cell* cell, const Timing* timings);
bool report_close(Report* report);

#endif
