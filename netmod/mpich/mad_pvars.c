/* mad_pvars.c: the engine's counters as performance variables of MPI_T.
 *
 * They are read from the engine when somebody asks.  After MPI_Finalize they keep their last
 * values.
 */
#include "mad_core.h"

#define CATEGORY "CH4_MAD"

/* What remains when the engine is closed. */
static mad_counters last;
static mad_fabric_counters last_of_fabrics[MAD_FABRICS_MAX];

/* `place` is the counter's offset in mad_counters. */
static void read_counter(void* place, void* object, int count, void* value) {
  const mad_counters* counters =
      MPIDI_MAD_global.engine ? mad_engine_counters(MPIDI_MAD_global.engine) : NULL;

  if (counters == NULL) counters = &last;
  memcpy(value, (const char*)counters + (uintptr_t)place, sizeof(unsigned long long));
}

static void read_local_bytes(void* place, void* object, int count, void* value) {
  const unsigned long long bytes = __atomic_load_n(&MPIDI_MAD_local_bytes, __ATOMIC_RELAXED);

  memcpy(value, &bytes, sizeof(bytes));
}

/* It needs no engine. */
static void add_local_bytes(void) {
  MPIR_T_PVAR_REGISTER_impl(
      MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, "mad_local_bytes", NULL, 1, MPI_T_ENUM_NULL,
      MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,
      MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, read_local_bytes, NULL, CATEGORY,
      "payload bytes packed, unpacked and copied within this process");
}

static void add_as(MPIR_T_pvar_class_t class, const char* name, size_t offset,
                   const char* description) {
  MPIR_T_PVAR_REGISTER_impl(class, MPI_UNSIGNED_LONG_LONG, name, (void*)offset, 1, MPI_T_ENUM_NULL,
                            MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,
                            MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, read_counter,
                            NULL, CATEGORY, description);
}

static void add(const char* name, size_t offset, const char* description) {
  add_as(MPI_T_PVAR_CLASS_COUNTER, name, offset, description);
}

static void read_fabrics(mad_fabric_counters* out) {
  memset(out, 0, MAD_FABRICS_MAX * sizeof(*out));
  for (int i = 0; i < MAD_FABRICS_MAX; i++)
    if (mad_engine_fabric_counters(MPIDI_MAD_global.engine, i, &out[i]) < 0) break;
}

/* `place` is the counter's offset in mad_fabric_counters. */
static void read_fabric_counter(void* place, void* object, int count, void* value) {
  mad_fabric_counters now[MAD_FABRICS_MAX];
  const mad_fabric_counters* fabrics = last_of_fabrics;
  unsigned long long* values = value;

  if (MPIDI_MAD_global.engine) {
    read_fabrics(now);
    fabrics = now;
  }
  for (int i = 0; i < count; i++)
    memcpy(&values[i], (const char*)&fabrics[i] + (uintptr_t)place, sizeof(values[i]));
}

/* One counter for each fabric, in the order of the list of fabrics. */
static void add_by_fabric(const char* name, size_t offset, const char* description) {
  MPIR_T_PVAR_REGISTER_impl(MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, name, (void*)offset,
                            MAD_FABRICS_MAX, MPI_T_ENUM_NULL, MPI_T_VERBOSITY_USER_BASIC,
                            MPI_T_BIND_NO_OBJECT,
                            MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS,
                            read_fabric_counter, NULL, CATEGORY, description);
}

/* A family of counters, one for each path.  The engine counts what needs no path under the first.
 */
static void add_by_path(const char* family, size_t offset, const char* what) {
  static char names[4 * MAD_PATH_COUNT][48]; /* MPI_T keeps the pointers */
  static int used;

  for (int path = 0; path < MAD_PATH_COUNT; path++) {
    const char* path_name = (path == MAD_PATH_AUTO) ? "contiguous" : mad_path_name((mad_path)path);
    char* name = names[used++];
    char description[160];
    MPL_snprintf(name, sizeof(names[0]), "mad_%s_%s", family, path_name);
    MPL_snprintf(description, sizeof(description), "%s on the data path \"%s\"", what, path_name);
    add(name, offset + path * sizeof(uint64_t), description);
  }
}

static void add_all(void) {
  add_by_path("send_messages", offsetof(mad_counters, sends), "messages with payload sent");
  add_by_path("send_bytes", offsetof(mad_counters, send_bytes), "payload bytes sent");
  add_by_path("recv_messages", offsetof(mad_counters, recvs), "messages with payload received");
  add_by_path("recv_bytes", offsetof(mad_counters, recv_bytes), "payload bytes received");
  add("mad_headers_sent", offsetof(mad_counters, headers), "messages without payload sent");
  add("mad_packets_sent", offsetof(mad_counters, packets_sent), "packets sent");
  add("mad_packets_received", offsetof(mad_counters, packets_received), "packets received");
  add("mad_staged_bytes", offsetof(mad_counters, staged_bytes),
      "payload bytes copied into packets on their way out");
  add("mad_referenced_bytes", offsetof(mad_counters, referenced_bytes),
      "payload bytes that the fabric gathered from the user's memory");
  add("mad_written_bytes", offsetof(mad_counters, written_bytes),
      "payload bytes placed in the receiver's memory by remote writes, or by remote reads here");
  add("mad_unexpected_bytes", offsetof(mad_counters, unexpected_bytes),
      "payload bytes kept for messages that no receive waited for");
  add("mad_checked_bytes", offsetof(mad_counters, checked_bytes),
      "payload bytes received with a checksum");
  add_as(MPI_T_PVAR_CLASS_LEVEL, "mad_waiting_receives", offsetof(mad_counters, waiting_receives),
         "receives that wait for their message");
  add_as(MPI_T_PVAR_CLASS_LEVEL, "mad_waiting_messages", offsetof(mad_counters, waiting_messages),
         "messages that wait for their receive");
  add("mad_self_messages", offsetof(mad_counters, self_messages),
      "messages of this process to itself received, in communicators of several");
  add("mad_self_bytes", offsetof(mad_counters, self_bytes), "payload bytes of these, copied");
  add_local_bytes();
  add_by_fabric("mad_fabric_packets_sent", offsetof(mad_fabric_counters, packets_sent),
                "packets sent by each fabric of the list");
  add_by_fabric("mad_fabric_bytes_sent", offsetof(mad_fabric_counters, bytes_sent),
                "bytes sent by each fabric of the list, with those of remote writes");
  add_by_fabric("mad_fabric_packets_received", offsetof(mad_fabric_counters, packets_received),
                "packets received by each fabric of the list");
  add_by_fabric("mad_fabric_bytes_received", offsetof(mad_fabric_counters, bytes_received),
                "bytes received by each fabric of the list, without those of remote writes");
}

void MPIDI_MAD_pvars_init(void) {
  static bool added; /* MPI_T outlives MPI_Finalize */

  if (!added) PVAR_GATED_ACTION(MAD, add_all());
  added = true;
}

void MPIDI_MAD_pvars_finalize(void) {
  const mad_counters* counters = mad_engine_counters(MPIDI_MAD_global.engine);

  if (counters) last = *counters;
  read_fabrics(last_of_fabrics);
}
