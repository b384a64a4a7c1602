/* index_message.c: two processes exchange a noncontiguous datum the Madeleine way.
 *
 *   index_message receive FILE [FABRIC [INTERFACE]]     first process; leaves its address in FILE
 *   index_message send    FILE [FABRIC [INTERFACE]]     second process; finds the first one by FILE
 *
 * The datum is the "index datatype" of INRIA RT-0306, section 2.1: blocks of floats of different
 * lengths at different places of an array.  The sender builds a message from it piece by piece,
 * after algorithm 1 of the report; the receiver takes it apart with the mirrored calls.  The answer
 * goes the way the report wished for: the whole datum and its description in one call.
 *
 * Nothing but mad.h is used.  With an installed libmad:
 *
 *   cc index_message.c $(pkg-config --cflags --libs mad) -o index_message
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mad.h"

enum { BLOCKS = 5, ARRAY = 400000, PATIENCE_MS = 20000 };

/* In floats.  The second block is short, the others are worth being sent from where they are. */
static const uint64_t LENGTHS[BLOCKS] = {60000, 3, 40000, 80000, 20000};
static const int64_t PLACES[BLOCKS] = {0, 70000, 100000, 200000, 300000};

static void check(int status, const char* what) {
  if (status == MAD_SUCCESS) return;
  fprintf(stderr, "%s failed (%d): %s\n", what, status,
          status == MAD_IN_PROGRESS ? "nothing came in time" : mad_last_error());
  exit(1);
}

static mad_engine* open_engine(const char* fabric, const char* interface) {
  mad_config config;
  mad_engine* engine;
  mad_config_init(&config);
  config.fabric = fabric; /* NULL: the library's default */
  config.interface = interface;
  check(mad_engine_open(&config, &engine), "mad_engine_open");
  return engine;
}

/* ---- who is where: the address of an engine is a few bytes that may travel any way ---- */

static void publish_address(mad_engine* engine, const char* path) {
  char address[MAD_ADDRESS_MAX];
  char draft[4096];
  size_t size = sizeof(address);
  FILE* file;
  check(mad_engine_address(engine, address, &size), "mad_engine_address");
  snprintf(draft, sizeof(draft), "%s.draft", path);
  file = fopen(draft, "wb");
  if (file == NULL || fwrite(address, 1, size, file) != size || fclose(file) != 0 ||
      rename(draft, path) != 0) { /* the file appears whole or not at all */
    perror(path);
    exit(1);
  }
}

static mad_peer* find_peer(mad_engine* engine, const char* path) {
  const struct timespec pause = {0, 10 * 1000 * 1000};
  char address[MAD_ADDRESS_MAX];
  mad_peer* peer;
  size_t size;
  FILE* file = NULL;
  int tries;
  for (tries = 0; tries < PATIENCE_MS / 10 && file == NULL; ++tries) {
    file = fopen(path, "rb");
    if (file == NULL) nanosleep(&pause, NULL);
  }
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  size = fread(address, 1, sizeof(address), file);
  fclose(file);
  check(mad_engine_peer(engine, address, size, &peer), "mad_engine_peer");
  return peer;
}

/* ---- the message, piece by piece ---- */

static void send_in_pieces(mad_engine* engine, mad_peer* to, const float* array) {
  mad_packing* message;
  uint64_t count = BLOCKS;
  double sum = 0;
  uint64_t b, i;

  check(mad_begin_packing(engine, to, &message), "mad_begin_packing");

  /* The receiver cannot go on without these: EXPRESS.  SAFER: `count` is ours again at once. */
  check(mad_pack(message, &count, sizeof(count), MAD_SEND_SAFER, MAD_RECV_EXPRESS), "pack count");
  check(mad_pack(message, LENGTHS, sizeof(LENGTHS), MAD_SEND_CHEAPER, MAD_RECV_EXPRESS),
        "pack lengths");

  /* The blocks themselves: whatever is cheapest on both sides.  They are not copied together. */
  for (b = 0; b < BLOCKS; ++b) {
    const float* block = array + PLACES[b];
    check(mad_pack(message, block, LENGTHS[b] * sizeof(float), MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
          "pack block");
  }

  /* LATER: a place in the message for something that is not known yet. */
  check(mad_pack(message, &sum, sizeof(sum), MAD_SEND_LATER, MAD_RECV_CHEAPER), "pack sum");
  for (b = 0; b < BLOCKS; ++b) {
    for (i = 0; i < LENGTHS[b]; ++i) sum += array[PLACES[b] + (int64_t)i];
  }

  /* Now `sum` is read; when the call returns, all memory is ours again. */
  check(mad_end_packing(message), "mad_end_packing");
}

/* The mirrored calls: the same order, the same sizes, the same modes. */
static mad_peer* receive_in_pieces(mad_engine* engine, float* array) {
  mad_unpacking* message;
  mad_peer* from;
  uint64_t count = 0, lengths[BLOCKS];
  double sum = 0, own_sum = 0;
  uint64_t b, i;

  check(mad_begin_unpacking(engine, PATIENCE_MS, &from, &message), "mad_begin_unpacking");
  check(mad_unpack(message, &count, sizeof(count), MAD_SEND_SAFER, MAD_RECV_EXPRESS),
        "unpack count");
  if (count != BLOCKS) { /* known already: the piece was EXPRESS */
    fprintf(stderr, "expected %d blocks, got %llu\n", BLOCKS, (unsigned long long)count);
    exit(1);
  }
  check(mad_unpack(message, lengths, sizeof(lengths), MAD_SEND_CHEAPER, MAD_RECV_EXPRESS),
        "unpack lengths");
  for (b = 0; b < count; ++b) {
    check(mad_unpack(message, array + PLACES[b], lengths[b] * sizeof(float), MAD_SEND_CHEAPER,
                     MAD_RECV_CHEAPER),
          "unpack block");
  }
  check(mad_unpack(message, &sum, sizeof(sum), MAD_SEND_LATER, MAD_RECV_CHEAPER), "unpack sum");

  /* Only now are the CHEAPER pieces there. */
  check(mad_end_unpacking(message), "mad_end_unpacking");

  for (b = 0; b < count; ++b) {
    for (i = 0; i < lengths[b]; ++i) own_sum += array[PLACES[b] + (int64_t)i];
  }
  if (sum != own_sum) {
    fprintf(stderr, "the sum is %f, the sender's was %f\n", own_sum, sum);
    exit(1);
  }
  printf("received %llu blocks, sum %.0f\n", (unsigned long long)count, sum);
  return from;
}

/* ---- the same datum with its description, in one call ---- */

static mad_type* describe_datum(void) {
  mad_type *number, *type;
  int64_t displacements[BLOCKS]; /* in bytes */
  int b;
  for (b = 0; b < BLOCKS; ++b) displacements[b] = PLACES[b] * (int64_t)sizeof(float);
  check(mad_type_bytes(sizeof(float), &number), "mad_type_bytes");
  check(mad_type_indexed(BLOCKS, LENGTHS, displacements, number, &type), "mad_type_indexed");
  mad_type_release(number); /* `type` keeps what it needs */
  check(mad_type_commit(type), "mad_type_commit");
  return type;
}

static void send_described(mad_engine* engine, mad_peer* to, const float* array) {
  mad_type* type = describe_datum();
  mad_packing* message;
  check(mad_begin_packing(engine, to, &message), "mad_begin_packing");
  check(mad_pack_layout(message, array, 1, type, MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
        "mad_pack_layout");
  check(mad_end_packing(message), "mad_end_packing");
  mad_type_release(type);
}

/* The receiver's layout is its own affair: here the blocks are laid down without gaps. */
static void receive_contiguously(mad_engine* engine, float* row, uint64_t floats) {
  mad_unpacking* message;
  check(mad_begin_unpacking(engine, PATIENCE_MS, NULL, &message), "mad_begin_unpacking");
  check(mad_unpack(message, row, floats * sizeof(float), MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
        "unpack the row");
  check(mad_end_unpacking(message), "mad_end_unpacking");
}

/* ---- the two processes ---- */

static void run_receiver(mad_engine* engine, float* array) {
  mad_peer* from = receive_in_pieces(engine, array);
  send_described(engine, from, array);
}

static void run_sender(mad_engine* engine, mad_peer* to, float* array) {
  uint64_t floats = 0, at = 0, b;
  float* row;
  int i;
  for (i = 0; i < ARRAY; ++i) array[i] = (float)(i % 1000);
  send_in_pieces(engine, to, array);

  for (b = 0; b < BLOCKS; ++b) floats += LENGTHS[b];
  row = calloc(floats, sizeof(float));
  if (row == NULL) exit(1);
  receive_contiguously(engine, row, floats);
  for (b = 0; b < BLOCKS; ++b) {
    if (memcmp(row + at, array + PLACES[b], LENGTHS[b] * sizeof(float)) != 0) {
      fprintf(stderr, "block %llu came back changed\n", (unsigned long long)b);
      exit(1);
    }
    at += LENGTHS[b];
  }
  printf("%llu floats came back unchanged\n", (unsigned long long)floats);
  free(row);
}

int main(int argc, char** argv) {
  mad_engine* engine;
  float* array;
  int receiving;
  if (argc < 3 || argc > 5 || (strcmp(argv[1], "receive") != 0 && strcmp(argv[1], "send") != 0)) {
    fprintf(stderr, "usage: %s receive|send FILE [FABRIC [INTERFACE]]\n", argv[0]);
    return 2;
  }
  receiving = strcmp(argv[1], "receive") == 0;
  engine = open_engine(argc > 3 ? argv[3] : NULL, argc > 4 ? argv[4] : NULL);
  array = calloc(ARRAY, sizeof(float));
  if (array == NULL) return 1;
  if (receiving) {
    publish_address(engine, argv[2]);
    run_receiver(engine, array);
  } else {
    run_sender(engine, find_peer(engine, argv[2]), array);
  }
  free(array);
  mad_engine_close(engine);
  return 0;
}
