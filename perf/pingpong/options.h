/* options.h: what the user asked for, from the command line. */
#ifndef PINGPONG_OPTIONS_H
#define PINGPONG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "layout.h"
#include "mode.h"

enum { kMaxValues = 64 };

/* The cells: every size with every number of blocks.  The default run has two such grids. */
typedef struct Grid {
  size_t bytes[kMaxValues];
  int byte_count;
  int blocks[kMaxValues];
  int block_count;
} Grid;

typedef struct Options {
  Grid grids[2];
  int grid_count;
  const LayoutKind* types[kMaxValues];
  int type_count;
  const char* modes[kMaxModes];
  int mode_count;
  int iterations;
  Receive receive;
  const char* csv; /* NULL: none */
} Options;

typedef enum OptionsResult { kOptionsRun, kOptionsHelp, kOptionsBad } OptionsResult;

/* `message` (of `room` bytes) says what is wrong when the result is kOptionsBad.  The lists in argv
 * are cut up in place and must outlive the options. */
OptionsResult options_parse(int argc, char** argv, Options* options, char* message, size_t room);

extern const char kOptionsHelpText[];

#endif
