/* pingpong_parts.c: the benchmark's own parts, without a partner.
 *
 * What it says can only be believed if its verification finds every wrong word, so each word of
 * each layout is spoilt in turn.
 */
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "measure.h"
#include "options.h"
#include "pattern.h"
#include "support/check.h"

/* ---- layouts ---- */

/* MPI's own packing puts the words of the pattern in their order, so type and map agree. */
static void check_type(const char* name, const Side* side) {
  enum { kRoom = 20000 };
  static uint32_t packed[kRoom];
  int size = 0, place = 0;
  Buffer buffer = buffer_new(&side->map), back = buffer_new(&side->map);
  Mismatch wrong;
  pattern_fill(&buffer, &side->map, 5);
  MPI_Type_size(side->type, &size);
  CHECK((size_t)size * (size_t)side->count == typemap_payload_words(&side->map) * 4,
        "%s: %d x %d bytes in the type, %zu words in the map", name, side->count, size,
        typemap_payload_words(&side->map));
  MPI_Pack(buffer_address(&buffer), side->count, side->type, packed, sizeof(packed), &place,
           MPI_COMM_SELF);
  place = 0;
  pattern_clear(&back, 5);
  MPI_Unpack(packed, sizeof(packed), &place, buffer_address(&back), side->count, side->type,
             MPI_COMM_SELF);
  CHECK(pattern_check(&back, &side->map, 5, &wrong), "%s: the type and the map disagree", name);
  CHECK(!pattern_check(&back, &side->map, 6, &wrong), "%s: the next round looks the same", name);
  buffer_free(&buffer);
  buffer_free(&back);
}

static void check_every_word(const char* name, const Side* side) {
  Buffer buffer = buffer_new(&side->map);
  size_t unnoticed = 0, gaps = 0;
  pattern_fill(&buffer, &side->map, 9);
  for (size_t i = 0; i < buffer.word_count; i++) {
    Mismatch wrong = {0};
    buffer.words[i] ^= 0x100;
    const bool good = pattern_check(&buffer, &side->map, 9, &wrong);
    const ptrdiff_t at = (char*)&buffer.words[i] - (char*)buffer_address(&buffer);
    unnoticed += good || (ptrdiff_t)wrong.offset != at;
    gaps += wrong.in_gap;
    buffer.words[i] ^= 0x100;
  }
  CHECK(unnoticed == 0, "%s: %zu spoilt words went unnoticed", name, unnoticed);
  CHECK(gaps == buffer.word_count - typemap_payload_words(&side->map), "%s: %zu words outside",
        name, gaps);
  buffer_free(&buffer);
}

static void layouts(void) {
  static const size_t kBytes[] = {4, 64, 4000};
  const LayoutKind* kind;
  for (size_t k = 0; (kind = layout_kind_at(k)) != NULL; k++) {
    CHECK(layout_kind_find(kind->name) == kind, "%s is not found", kind->name);
    for (int i = 0; i < 3 * 3; i++) {
      Layout layout = layout_new(kind, kBytes[i / 3], 1 + 3 * (i % 3), kReceiveAsPaper);
      check_type(kind->name, &layout.send);
      check_type(kind->name, &layout.receive);
      check_every_word(kind->name, &layout.send);
      CHECK(layout.typed == (strncmp(kind->name, "struct", 6) == 0), "%s: typed %d", kind->name,
            layout.typed);
      CHECK(typemap_payload_words(&layout.send.map) == typemap_payload_words(&layout.receive.map),
            "%s: the sides differ in length", kind->name);
      layout_free(&layout);
    }
  }
  CHECK(layout_kind_find("matrix") == NULL, "found what there is not");
}

/* A dense layout is one run in memory, its twin is twice as far apart. */
static void gaps(void) {
  Layout dense = layout_new(layout_kind_find("vector"), 4000, 10, kReceiveTyped);
  Layout gapped = layout_new(layout_kind_find("vector-gap"), 4000, 10, kReceiveTyped);
  CHECK(typemap_span_words(&dense.send.map) == 1000, "%zu words",
        typemap_span_words(&dense.send.map));
  CHECK(typemap_span_words(&gapped.send.map) == 1900, "%zu words",
        typemap_span_words(&gapped.send.map));
  layout_free(&dense);
  layout_free(&gapped);
}

/* ---- options ---- */

static OptionsResult parse(const char* line, Options* options, char* message, size_t room) {
  static char words[300], *argv[20]; /* outlive the options, which point into them */
  int argc = 0;
  snprintf(words, sizeof(words), "%s", line);
  for (char* word = strtok(words, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
  return options_parse(argc, argv, options, message, room);
}

static void good_options(void) {
  Options options;
  char message[400];
  CHECK(parse("pingpong", &options, message, sizeof(message)) == kOptionsRun, "%s", message);
  CHECK(options.grid_count == 2 && options.grids[0].blocks[0] == 3 &&
            options.grids[0].block_count == 1 && options.grids[1].block_count == 10,
        "the default grids are not the report's");
  CHECK(options.mode_count == 2 && strcmp(options.modes[0], "off") == 0, "the default modes");
  CHECK(parse("pingpong --bytes 64,2K,1M --blocks=1,9 --types struct,index-gap --iterations 7 "
              "--receive typed --modes off,pack --csv x.csv",
              &options, message, sizeof(message)) == kOptionsRun,
        "%s", message);
  const Grid* grid = &options.grids[0];
  CHECK(grid->byte_count == 3 && grid->bytes[1] == 2048 && grid->bytes[2] == 1 << 20, "the sizes");
  CHECK(grid->block_count == 2 && grid->blocks[1] == 9 && options.grid_count == 1, "the blocks");
  CHECK(options.type_count == 2 && strcmp(options.types[1]->name, "index-gap") == 0, "the types");
  CHECK(options.iterations == 7 && options.receive == kReceiveTyped, "iterations and receive");
  CHECK(strcmp(options.csv, "x.csv") == 0, "the file");
  CHECK(parse("pingpong --help", &options, message, sizeof(message)) == kOptionsHelp, "no help");
}

static void bad_options(void) {
  static const char* const kBad[] = {"--bytes 3",       "--bytes 2G",       "--bytes -1",
                                     "--bytes 64,",     "--blocks 0",       "--types x",
                                     "--receive never", "--iterations 0",   "--nonsense 1",
                                     "--csv",           "--iterations 1e3", "stray"};
  for (size_t i = 0; i < sizeof(kBad) / sizeof(kBad[0]); i++) {
    Options options;
    char line[100], message[400] = "";
    snprintf(line, sizeof(line), "pingpong %s", kBad[i]);
    CHECK(parse(line, &options, message, sizeof(message)) == kOptionsBad, "accepted '%s'", kBad[i]);
    CHECK(strstr(message, "expected") != NULL, "'%s' is answered by '%s'", kBad[i], message);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  layouts();
  gaps();
  good_options();
  bad_options();
  CHECK(gain(200, 150) == 25 && gain(100, 150) == -50, "%f and %f", gain(200, 150), gain(100, 150));
  return check_finish();
}
