/* liar.c: an engine that knows the way in, and then says what no process of MPI says.
 *
 * Rank 1 opens an engine of its own and sends rank 0 headers of MPICH's messages, too short, too
 * long, or with addresses of requests, windows and ranks that do not exist.  Each costs the liar
 * its connection; rank 0 goes on receiving what rank 1's process of MPI sends.
 */
#include <mad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum {
  kTag = 1,
  kHandlers = 64, /* MPICH has some fewer */
  kOwn = 244,     /* the first of the device's own handlers that are of windows: */
  kOwns = 7,
  kAbort = 36,         /* MPI_Abort(), which is no lie */
  kNoHandler = 200,    /* of nobody */
  kLongest = 128,      /* bytes of a header */
  kPayload = 64,       /* bytes */
  kPatience = 60000000 /* calls */
};

static MPI_Comm comm;
static int rank;
static mad_engine* engine;
static unsigned char card[MAD_ADDRESS_MAX];
static size_t card_bytes;

static int digit(char c) {
  const char* digits = "0123456789ABCDEF";
  const char* found = c ? strchr(digits, c) : NULL;
  return found ? (int)(found - digits) : -1;
}

/* A port's name has the engine's address, in hexadecimal digits. */
static void read_card(const char* port) {
  const char* at = strstr(port, "connentry");
  at = at ? strpbrk(at, "=#") : NULL;
  while (at && digit(*at) < 0 && *at) at++;
  for (; at && card_bytes < sizeof(card) && digit(at[0]) >= 0 && digit(at[1]) >= 0; at += 2)
    card[card_bytes++] = (unsigned char)(16 * digit(at[0]) + digit(at[1]));
  CHECK(card_bytes > 0, "no address in the port's name %s", port);
}

static void on_message(void* context, mad_peer* from, uint8_t handler, void* header, size_t bytes,
                       uint64_t payload_bytes, mad_incoming* incoming) {
  (void)context, (void)from, (void)handler, (void)header, (void)bytes, (void)payload_bytes;
  if (incoming) mad_discard(engine, incoming);
}

static void on_sent(void* context, mad_op* op, int status) {
  (void)context, (void)op, (void)status;
}

static void open_engine(void) {
  mad_config config;
  mad_config_init(&config);
  config.fabric = "tcp";
  config.interface = "lo";
  config.callbacks.on_message = on_message;
  config.callbacks.on_sent = on_sent;
  CHECK(mad_engine_open(&config, &engine) == MAD_SUCCESS, "%s", mad_last_error());
}

/* Rank 0 may find nothing wrong with a header of zeros, so another lie follows each. */
static void lie(int handler, size_t bytes, int fill, size_t payload_bytes) {
  static char payload[kPayload];
  unsigned char header[kLongest];
  mad_op op;
  mad_peer* peer = NULL;

  memset(header, fill, sizeof(header));
  CHECK(mad_engine_peer(engine, card, card_bytes, &peer) == MAD_SUCCESS, "%s", mad_last_error());
  if (!peer) return;
  (void)mad_send(engine, peer, (uint8_t)handler, header, bytes, payload, payload_bytes, NULL,
                 MAD_PATH_AUTO, &op);
  (void)mad_send_header(engine, peer, kNoHandler, header, 1);
  for (long i = 0; i < kPatience && mad_peer_status(peer) == MAD_SUCCESS; i++)
    (void)mad_engine_progress(engine, NULL);
  CHECK(mad_peer_status(peer) < 0, "still connected after handler %d, %zu bytes of 0x%02x", handler,
        bytes, (unsigned)fill);
  (void)mad_peer_release(engine, peer);
}

static void lie_in_all_ways(void) {
  static const size_t kLengths[] = {0, 4, 8, 16, 24, 40, 48, 56, 64, 72, 128};
  for (int handler = 0; handler < kOwn + kOwns; handler++) {
    if (handler == kHandlers) handler = kOwn;
    for (size_t i = 0; handler != kAbort && i < sizeof(kLengths) / sizeof(kLengths[0]); i++) {
      lie(handler, kLengths[i], 0xA5, 0);
      lie(handler, kLengths[i], 0, i % 2 ? kPayload : 0);
    }
  }
}

int main(int argc, char** argv) {
  char port[MPI_MAX_PORT_NAME] = "";
  int word = 0;
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) {
    MPI_Request unanswered;
    CHECK_MPI(MPI_Open_port(MPI_INFO_NULL, port));
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, kTag, comm);
    MPI_Issend(&rank, 1, MPI_INT, 1, kTag + 1, comm, &unanswered);
    MPI_Recv(&word, 1, MPI_INT, 1, kTag, comm, MPI_STATUS_IGNORE);
    CHECK(word == 4711, "received %d", word);
    CHECK_MPI(MPI_Wait(&unanswered, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Close_port(port));
  } else {
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, kTag, comm, MPI_STATUS_IGNORE);
    read_card(port);
    open_engine();
    if (engine && card_bytes) lie_in_all_ways();
    mad_engine_close(engine);
    word = 4711;
    MPI_Send(&word, 1, MPI_INT, 0, kTag, comm);
    MPI_Recv(&word, 1, MPI_INT, 0, kTag + 1, comm, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&comm);
  return check_finish();
}
