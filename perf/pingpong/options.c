#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char kOptionsHelpText[] =
    "usage: mpiexec -n 2 pingpong [options]\n"
    "\n"
    "The ping-pong of INRIA RT-0306: rank 0 sends a derived datatype to rank 1 and receives as "
    "much back.\n"
    "Each cell is measured with every mode in turn; gain = 100 * (t_off - t_on) / t_off.\n"
    "\n"
    "  --types LIST       contiguous,index,hindex,vector,hvector,struct and the gapped twins "
    "index-gap,\n"
    "                     hindex-gap,vector-gap,hvector-gap,struct-gap (default: all)\n"
    "  --bytes LIST       message sizes, with suffix K or M if you like (4 bytes to 1024M)\n"
    "  --blocks LIST      numbers of blocks; struct has 3 per particle, contiguous 1\n"
    "                     (default: 3 blocks with sizes from 64 to 4M, then 64K and 1M in 1 to 10 "
    "blocks)\n"
    "  --modes LIST       auto,gather,hybrid,pipeline,pack,off (default: off,auto); on another MPI "
    "there\n"
    "                     is one mode, \"mpi\"\n"
    "  --iterations N     timed rounds of each mode in each cell (default: 40)\n"
    "  --receive HOW      paper (default): contiguous for index and vector, typed for struct;\n"
    "                     contiguous; typed\n"
    "  --csv FILE         write the results there as well\n"
    "  --quick            a small grid, under a minute\n"
    "  --help\n";

static const Grid kFixedBlocks = {
    {64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20}, 9, {3}, 1};
static const Grid kFixedBytes = {{64 << 10, 1 << 20}, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10};
static const Grid kQuickFixedBlocks = {{1 << 10, 16 << 10, 256 << 10, 1 << 20}, 4, {3}, 1};
static const Grid kQuickFixedBytes = {{256 << 10}, 1, {1, 4, 7, 10}, 4};

enum { kIterations = 40, kQuickIterations = 15, kMaxIterations = 1000000, kMaxBlocks = 1 << 26 };
static const size_t kMaxBytes = (size_t)1 << 30;

typedef struct Parser {
  Options* options;
  char* message;
  size_t room;
} Parser;

static bool wrong(Parser* parser, const char* what, const char* value, const char* expected) {
  snprintf(parser->message, parser->room, "%s '%s': expected %s", what, value, expected);
  return false;
}

static bool parse_number(const char* text, size_t low, size_t high, size_t* number) {
  char* end;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  unsigned long long unit = 1;
  if (*end == 'K' || *end == 'k')
    unit = 1 << 10, end++;
  else if (*end == 'M' || *end == 'm')
    unit = 1 << 20, end++;
  if (errno || *end || value > high / unit || value * unit < low) return false;
  *number = (size_t)(value * unit);
  return true;
}

typedef bool (*TakeItem)(Parser* parser, const char* item);

static bool take_bytes(Parser* parser, const char* item) {
  Grid* grid = &parser->options->grids[0];
  size_t bytes;
  if (grid->byte_count == kMaxValues || !parse_number(item, sizeof(float), kMaxBytes, &bytes)) {
    return wrong(parser, "--bytes", item, "at most 64 sizes of 4 to 1024M bytes");
  }
  grid->bytes[grid->byte_count++] = bytes;
  return true;
}

static bool take_blocks(Parser* parser, const char* item) {
  Grid* grid = &parser->options->grids[0];
  size_t blocks;
  if (grid->block_count == kMaxValues || !parse_number(item, 1, kMaxBlocks, &blocks)) {
    return wrong(parser, "--blocks", item, "at most 64 numbers of 1 to 64M blocks");
  }
  grid->blocks[grid->block_count++] = (int)blocks;
  return true;
}

static bool take_type(Parser* parser, const char* item) {
  const LayoutKind* kind = layout_kind_find(item);
  if (!kind || parser->options->type_count == kMaxValues) {
    char names[256] = "";
    for (size_t i = 0; (kind = layout_kind_at(i)) != NULL; i++) {
      strcat(strcat(names, i ? ", " : "one of "), kind->name);
    }
    return wrong(parser, "--types", item, names);
  }
  parser->options->types[parser->options->type_count++] = kind;
  return true;
}

static bool take_mode(Parser* parser, const char* item) {
  if (parser->options->mode_count == kMaxModes) {
    return wrong(parser, "--modes", item, "at most 16 modes");
  }
  parser->options->modes[parser->options->mode_count++] = item;
  return true;
}

static bool take_list(Parser* parser, char* list, TakeItem take) {
  char* next = list;
  while (next) {
    char* item = next;
    next = strchr(item, ',');
    if (next) *next++ = '\0';
    if (!take(parser, item)) return false;
  }
  return true;
}

static bool take_iterations(Parser* parser, const char* value) {
  size_t number;
  if (!parse_number(value, 1, kMaxIterations, &number)) {
    return wrong(parser, "--iterations", value, "a number of rounds from 1 to 1000000");
  }
  parser->options->iterations = (int)number;
  return true;
}

static bool take_receive(Parser* parser, const char* value) {
  static const char* const kNames[] = {"paper", "contiguous", "typed"};
  for (int i = 0; i < 3; i++) {
    if (strcmp(value, kNames[i]) == 0) {
      parser->options->receive = (Receive)i;
      return true;
    }
  }
  return wrong(parser, "--receive", value, "one of paper, contiguous, typed");
}

static bool take_option(Parser* parser, const char* name, char* value) {
  if (strcmp(name, "--bytes") == 0) return take_list(parser, value, take_bytes);
  if (strcmp(name, "--blocks") == 0) return take_list(parser, value, take_blocks);
  if (strcmp(name, "--types") == 0) return take_list(parser, value, take_type);
  if (strcmp(name, "--modes") == 0) return take_list(parser, value, take_mode);
  if (strcmp(name, "--iterations") == 0) return take_iterations(parser, value);
  if (strcmp(name, "--receive") == 0) return take_receive(parser, value);
  parser->options->csv = value;
  return true;
}

static bool takes_value(const char* name) {
  static const char* const kNames[] = {"--bytes",      "--blocks",  "--types", "--modes",
                                       "--iterations", "--receive", "--csv"};
  for (size_t i = 0; i < sizeof(kNames) / sizeof(kNames[0]); i++) {
    if (strcmp(name, kNames[i]) == 0) return true;
  }
  return false;
}

/* What the user left open.  One given axis is crossed with the default of the other. */
static void complete(Options* options, bool quick) {
  const Grid* fixed_blocks = quick ? &kQuickFixedBlocks : &kFixedBlocks;
  const Grid* fixed_bytes = quick ? &kQuickFixedBytes : &kFixedBytes;
  Grid* grid = &options->grids[0];
  options->grid_count = 1;
  if (grid->byte_count == 0 && grid->block_count == 0) {
    options->grids[0] = *fixed_blocks;
    options->grids[1] = *fixed_bytes;
    options->grid_count = 2;
  } else if (grid->byte_count == 0) {
    memcpy(grid->bytes, fixed_bytes->bytes, sizeof(grid->bytes));
    grid->byte_count = fixed_bytes->byte_count;
  } else if (grid->block_count == 0) {
    memcpy(grid->blocks, fixed_blocks->blocks, sizeof(grid->blocks));
    grid->block_count = fixed_blocks->block_count;
  }
  if (options->type_count == 0) {
    for (size_t i = 0; layout_kind_at(i); i++) {
      options->types[options->type_count++] = layout_kind_at(i);
    }
  }
  if (options->mode_count == 0) {
    options->modes[options->mode_count++] = "off";
    options->modes[options->mode_count++] = "auto";
  }
  if (options->iterations == 0) options->iterations = quick ? kQuickIterations : kIterations;
}

OptionsResult options_parse(int argc, char** argv, Options* options, char* message, size_t room) {
  Parser parser = {options, message, room};
  bool quick = false;
  memset(options, 0, sizeof(*options));
  for (int i = 1; i < argc; i++) {
    const char* name = argv[i];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return kOptionsHelp;
    if (strcmp(name, "--quick") == 0) {
      quick = true;
      continue;
    }
    char* value = strncmp(name, "--", 2) == 0 ? strchr(name, '=') : NULL;
    if (value) *value++ = '\0';
    if (!takes_value(name)) {
      wrong(&parser, "option", name, "one of those that --help lists");
      return kOptionsBad;
    }
    if (!value) value = i + 1 < argc ? argv[++i] : NULL;
    if (!value) {
      wrong(&parser, "option", name, "a value after it");
      return kOptionsBad;
    }
    if (!take_option(&parser, name, value)) return kOptionsBad;
  }
  complete(options, quick);
  return kOptionsRun;
}
