/* mad.h is C: this is what a C program makes of it. */
#include <stdio.h>
#include <string.h>

#include "netmod/abi/mad.h"

static int failures;

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "FAIL: %s (%s)\n", what, mad_last_error());
  ++failures;
}

/* The types of a C caller's own callback. */
static void on_message(void* context, mad_peer* from, uint8_t handler, void* header,
                       size_t header_bytes, uint64_t payload_bytes, mad_incoming* incoming) {
  int* greeted = context;
  check(from && handler == 7 && payload_bytes == 0 && incoming == NULL,
        "the message is the one sent");
  *greeted = header_bytes == 5 && memcmp(header, "hello", 5) == 0;
}

int main(void) {
  char address[MAD_ADDRESS_MAX];
  size_t size = sizeof(address);
  int greeted = 0, i;
  mad_engine* engine = NULL;
  mad_peer* self = NULL;
  mad_config config;

  mad_config_init(&config);
  config.fabric = "loopback";
  config.context = &greeted;
  config.callbacks.on_message = on_message;
  check(mad_engine_open(&config, &engine) == MAD_SUCCESS, "the engine opens");
  if (engine == NULL) return 1;
  check(mad_engine_address(engine, address, &size) == MAD_SUCCESS, "it has an address");
  check(mad_engine_peer(engine, address, size, &self) == MAD_SUCCESS, "it is its own peer");
  check(mad_send_header(engine, self, 7, "hello", 5) == MAD_SUCCESS, "it greets itself");
  for (i = 0; i < 100000 && !greeted; ++i) mad_engine_progress(engine, NULL);
  check(greeted, "the greeting arrives");
  mad_engine_close(engine);
  return failures != 0;
}
