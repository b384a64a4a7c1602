/* mad_address.c: where the ranks of the world are.
 *
 * Every process sends its engine's address as start-up data (mad.h), and looks for another one's
 * when it first needs it.  Before anybody talks all ranks make sure that any two of them can, and
 * say which one cannot take part.  Only names are exchanged: the engine connects to a peer at the
 * first message.
 */
#include <sys/random.h>
#include <unistd.h>

#include "mad_core.h"
#include "mpidu_init_shm.h"

#define HOST_BYTES 64 /* of a host's name, which may be cut */

/* The names of what is sent. */
static uint32_t card_name, fabrics_name, host_name;

static int launcher_error; /* MPICH's */

/* ---- the launcher ---- */

static int launcher_put(void* context, const char* key, const char* value) {
  MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
  launcher_error = MPIR_pmi_kvs_put(key, value);
  MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
  return launcher_error;
}

static int launcher_get(void* context, int rank, const char* key, char* value, size_t room) {
  MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
  launcher_error = MPIR_pmi_kvs_get(rank, key, value, (int)room);
  MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
  return launcher_error;
}

static int launcher_fence(void* context) {
  MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
  launcher_error = MPIR_pmi_barrier();
  MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
  return launcher_error;
}

/* What fits the blocks that MPICH keeps for its own start goes by these. */
static int gather_in_blocks(const void* own, size_t bytes, char* all) {
  int mpi_errno = MPIDU_Init_shm_put((void*)own, bytes);

  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = MPIDU_Init_shm_barrier();
  MPIR_ERR_CHECK(mpi_errno);
  for (int i = 0; i < MPIR_Process.local_size; i++) {
    mpi_errno = MPIDU_Init_shm_get(i, bytes, all + i * bytes);
    MPIR_ERR_CHECK(mpi_errno);
  }
  mpi_errno = MPIDU_Init_shm_barrier(); /* the blocks may be written again */

fn_fail:
  return mpi_errno;
}

static int gather_in_segment(const void* own, size_t bytes, char* all) {
  int mpi_errno = MPI_SUCCESS, free_error;
  size_t length = bytes * (size_t)MPIR_Process.local_size;
  void* segment = NULL;

  mpi_errno = MPIDU_Init_shm_alloc(length, &segment);
  if (mpi_errno != MPI_SUCCESS) return mpi_errno;
  memcpy((char*)segment + (size_t)MPIR_Process.local_rank * bytes, own, bytes);
  mpi_errno = MPIDU_Init_shm_barrier();
  if (mpi_errno == MPI_SUCCESS) memcpy(all, segment, length);
  free_error = MPIDU_Init_shm_free(segment);
  return mpi_errno != MPI_SUCCESS ? mpi_errno : free_error;
}

static int launcher_gather(void* context, const void* own, size_t bytes, void* all) {
  if (MPIR_Process.local_size == 1)
    memcpy(all, own, bytes);
  else if (bytes <= MPIDU_INIT_SHM_BLOCK_SIZE)
    launcher_error = gather_in_blocks(own, bytes, all);
  else
    launcher_error = gather_in_segment(own, bytes, all);
  return launcher_error;
}

/* The end of what mad_modex_*() returned: an error of the launcher's is MPICH's own. */
static int modex_error(int status) {
  const int error = launcher_error;

  launcher_error = MPI_SUCCESS;
  if (status >= 0) return MPI_SUCCESS;
  return error != MPI_SUCCESS ? error : MPIDI_MAD_error(status);
}

int MPIDI_MAD_common_secret(uint64_t* secret) {
  uint64_t own = 0;
  uint64_t* all = MPL_malloc((size_t)MPIR_Process.local_size * sizeof(own), MPL_MEM_ADDRESS);
  int mpi_errno = MPI_SUCCESS;

  MPIR_ERR_CHKANDJUMP(!all, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  /* Without a random number each engine makes one of its own. */
  if (MPIR_Process.local_rank == 0 && getrandom(&own, sizeof(own), 0) != sizeof(own)) own = 0;
  mpi_errno = launcher_gather(NULL, &own, sizeof(own), all);
  MPIR_ERR_CHECK(mpi_errno);
  *secret = all[0];

fn_fail:
  MPL_free(all);
  return mpi_errno;
}

/* ---- who can talk to whom ---- */

/* Whether two lists of fabrics, with semicolons between, name one alike. */
static bool have_one_in_common(const char* ours, const char* theirs) {
  size_t own_length, length;
  const char* each;

  for (; *ours != '\0'; ours += own_length + (ours[own_length] == ';')) {
    own_length = strcspn(ours, ";");
    for (each = theirs; *each != '\0'; each += length + (each[length] == ';')) {
      length = strcspn(each, ";");
      if (length == own_length && strncmp(ours, each, length) == 0) return true;
    }
  }
  return false;
}

/* Lists are sent with their end; who has no engine sends none. */
static int lists_agree(const void* one, size_t one_size, const void* other, size_t other_size) {
  return one_size > 0 && other_size > 0 && have_one_in_common(one, other);
}

static int receive_text(int (*receive)(mad_modex*, int, uint32_t, void*, size_t*), int rank,
                        uint32_t name, char* text, size_t room) {
  size_t size = room - 1;
  int status = receive(MPIDI_MAD_global.modex, rank, name, text, &size);

  text[status == MAD_SUCCESS ? size : 0] = '\0';
  return status == MAD_ERR_NOT_FOUND ? MPI_SUCCESS : modex_error(status);
}

/* What keeps this process and another, or itself, from talking to each other; empty: nothing. */
static int explain(int rank, char* why, size_t room) {
  int mpi_errno = MPI_SUCCESS;
  int own_rank = MPIR_Process.rank;
  const char* ours = MPIDI_MAD_global.engine ? mad_engine_fabric(MPIDI_MAD_global.engine) : "";
  char theirs[MAD_FABRICS_BYTES + 1], own_host[HOST_BYTES + 1], host[HOST_BYTES + 1];

  why[0] = '\0';
  mpi_errno = receive_text(mad_modex_proc_receive, rank, fabrics_name, theirs, sizeof(theirs));
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = receive_text(mad_modex_node_receive, rank, host_name, host, sizeof(host));
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = receive_text(mad_modex_node_receive, own_rank, host_name, own_host, sizeof(own_host));
  MPIR_ERR_CHECK(mpi_errno);
  if (MPIDI_MAD_global.engine == NULL)
    MPL_snprintf(why, room, "rank %d on %s cannot take part: %s", own_rank, own_host,
                 MPIDI_MAD_global.open_error);
  else if (theirs[0] == '\0')
    MPL_snprintf(why, room, "rank %d on %s cannot take part, and says why", rank, host);
  else if (!have_one_in_common(ours, theirs))
    MPL_snprintf(why, room,
                 "rank %d on %s has the fabric %s, rank %d on %s has %s; "
                 "MPIR_CVAR_CH4_MAD_FABRIC must choose one that is the same on all ranks",
                 own_rank, own_host, ours, rank, host, theirs);

fn_fail:
  return mpi_errno;
}

/* Every rank says what it knows at once: whichever aborts first takes the others along. */
static int complain(void) {
  char why[MPI_MAX_ERROR_STRING];

  for (int rank = 0; rank < MPIR_Process.size; rank++) {
    int mpi_errno = explain(rank, why, sizeof(why));
    if (mpi_errno != MPI_SUCCESS) return mpi_errno;
    if (why[0] == '\0') continue;
    if (MPIR_Process.size > 1) fprintf(stderr, "[%d] ch4:mad: %s\n", MPIR_Process.rank, why);
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_FATAL, __func__, __LINE__, MPI_ERR_OTHER,
                                "**mad", "**mad %s", why);
  }
  return MPI_SUCCESS;
}

/* ---- the exchange ---- */

static int open_modex(void) {
  static uint32_t epoch = 0; /* the launcher keeps what it was given */
  const mad_modex_config config = {
      MPIR_Process.rank,
      MPIR_Process.size,
      MPIR_Process.node_map,
      epoch++,
      {NULL, (size_t)MPIR_pmi_max_val_size() - 2, /* with an end, and room for a line's */
       launcher_put, launcher_get, launcher_fence, launcher_gather}};
  int status = mad_modex_open(&config, &MPIDI_MAD_global.modex);

  if (status == MAD_SUCCESS)
    status = mad_modex_register(MPIDI_MAD_global.modex, "mad.card", &card_name);
  if (status == MAD_SUCCESS)
    status = mad_modex_register(MPIDI_MAD_global.modex, "mad.fabrics", &fabrics_name);
  if (status == MAD_SUCCESS)
    status = mad_modex_register(MPIDI_MAD_global.modex, "mad.host", &host_name);
  return modex_error(status);
}

static int send_own(void) {
  mad_modex* modex = MPIDI_MAD_global.modex;
  char host[HOST_BYTES], card[MAD_ADDRESS_MAX];
  size_t size = sizeof(card);
  int status;

  memset(host, 0, sizeof(host));
  if (gethostname(host, sizeof(host) - 1) != 0) MPL_strncpy(host, "?", sizeof(host));
  status = mad_modex_node_send(modex, host_name, host, strlen(host));
  if (status == MAD_SUCCESS && MPIDI_MAD_global.engine) {
    const char* fabrics = mad_engine_fabric(MPIDI_MAD_global.engine);
    status = mad_modex_proc_send(modex, fabrics_name, fabrics, strlen(fabrics) + 1);
    if (status == MAD_SUCCESS) status = mad_engine_address(MPIDI_MAD_global.engine, card, &size);
    if (status == MAD_SUCCESS) status = mad_modex_proc_send(modex, card_name, card, size);
  }
  return modex_error(status);
}

int MPIDI_MAD_exchange_addresses(void) {
  int mpi_errno = MPI_SUCCESS;
  int all_agree = 0;

  /* MPICH leaves the table of the world as malloc() gave it. */
  for (int rank = 0; rank < MPIR_Process.size; rank++)
    MPIDI_MAD_AV(&MPIDIU_get_av(0, rank))->peer = NULL;
  MPIDI_MAD_global.unlocated = MPIR_Process.size;
  mpi_errno = open_modex();
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = send_own();
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = modex_error(mad_modex_exchange(MPIDI_MAD_global.modex));
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno =
      modex_error(mad_modex_agree(MPIDI_MAD_global.modex, fabrics_name, lists_agree, &all_agree));
  MPIR_ERR_CHECK(mpi_errno);
  if (!all_agree) {
    mpi_errno = complain();
    MPIR_ERR_CHECK(mpi_errno);
  }

fn_fail:
  return mpi_errno;
}

static int receive_card(int rank, char* card, size_t* size) {
  *size = MAD_ADDRESS_MAX;
  return modex_error(mad_modex_proc_receive(MPIDI_MAD_global.modex, rank, card_name, card, size));
}

mad_peer* MPIDI_MAD_locate(MPIDI_av_entry_t* av) {
  int rank = (int)(av - &MPIDIU_get_av(0, 0));
  char card[MAD_ADDRESS_MAX];
  size_t size;
  int status;

  /* It may be one that came to us and is gone: its address would give another peer. */
  if (MPIDI_MAD_global.release) MPIDI_MAD_recognize_gone();
  if (MPIDI_MAD_AV(av)->peer) return MPIDI_MAD_AV(av)->peer;
  MPIDI_MAD_global.why_nowhere = receive_card(rank, card, &size);
  if (MPIDI_MAD_global.why_nowhere != MPI_SUCCESS) return NULL;
  status = mad_engine_peer(MPIDI_MAD_global.engine, card, size, &MPIDI_MAD_AV(av)->peer);
  if (status < 0) {
    MPIDI_MAD_global.why_nowhere = MPIDI_MAD_peer_error(status, rank, MPIR_Process.comm_world);
    return NULL;
  }
  MPIDI_MAD_global.unlocated--;
  return MPIDI_MAD_AV(av)->peer;
}

void MPIDI_MAD_recognize(mad_peer* peer) {
  char card[MAD_ADDRESS_MAX];
  size_t size;

  if (MPIDI_MAD_global.unlocated == 0 || !MPIDI_MAD_global.connected) return;
  for (int rank = 0; rank < MPIR_Process.size; rank++) {
    MPIDI_MAD_addr_t* av = MPIDI_MAD_AV(&MPIDIU_get_av(0, rank));
    if (av->peer || receive_card(rank, card, &size) != MPI_SUCCESS) continue;
    if (mad_peer_is_at(peer, card, size) != 1) continue;
    av->peer = peer;
    MPIDI_MAD_global.unlocated--;
    return;
  }
}

void MPIDI_MAD_forget_addresses(void) {
  mad_modex_close(MPIDI_MAD_global.modex);
  MPIDI_MAD_global.modex = NULL;
}
