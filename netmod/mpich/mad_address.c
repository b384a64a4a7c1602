/* mad_address.c: where the ranks of the world are.
 *
 * Every process publishes its engine's address as ch4's business card, or that it has none, so that
 * all ranks say which one cannot take part.  Only names are exchanged: the engine connects to a
 * peer at the first message.
 */
#include <unistd.h>

#include "mad_core.h"
#include "mpidu_bc.h"

#define HOST_BYTES 64 /* of a host's name, which may be cut */

/* All cards have one size, so that the table of a big world stays small. */
typedef struct {
  uint16_t size; /* 0: the process has no engine */
  char address[MAD_ADDRESS_MAX];
  char host[HOST_BYTES];
} card_t;

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

/* What keeps the two from talking to each other; false: nothing. */
static bool explain(const card_t* own, const card_t* card, int rank, char* why, size_t room) {
  const char* ours = own->size ? mad_engine_fabric(MPIDI_MAD_global.engine) : "";
  char theirs[MAD_FABRICS_BYTES];

  if (own->size == 0) {
    MPL_snprintf(why, room, "rank %d on %s cannot take part: %s", MPIR_Process.rank, own->host,
                 MPIDI_MAD_global.open_error);
  } else if (card->size == 0) {
    MPL_snprintf(why, room, "rank %d on %s cannot take part, and says why", rank, card->host);
  } else if (mad_address_fabrics(card->address, card->size, theirs, sizeof(theirs)) < 0) {
    MPL_snprintf(why, room, "rank %d on %s: %s", rank, card->host, mad_last_error());
  } else if (!have_one_in_common(ours, theirs)) {
    MPL_snprintf(why, room,
                 "rank %d on %s has the fabric %s, rank %d on %s has %s; "
                 "MPIR_CVAR_CH4_MAD_FABRIC must choose one that is the same on all ranks",
                 MPIR_Process.rank, own->host, ours, rank, card->host, theirs);
  } else {
    return false;
  }
  return true;
}

/* Every rank says what it knows at once: whichever aborts first takes the others along. */
static int check(const card_t* own, const card_t* card, int rank) {
  char why[MPI_MAX_ERROR_STRING];

  if (!explain(own, card, rank, why, sizeof(why))) return MPI_SUCCESS;
  if (MPIR_Process.size > 1) fprintf(stderr, "[%d] ch4:mad: %s\n", MPIR_Process.rank, why);
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_FATAL, __func__, __LINE__, MPI_ERR_OTHER,
                              "**mad", "**mad %s", why);
}

static int insert(const card_t* own, const card_t* card, int rank) {
  int mpi_errno = check(own, card, rank);
  int status;

  if (mpi_errno != MPI_SUCCESS) return mpi_errno;
  status = mad_engine_peer(MPIDI_MAD_global.engine, card->address, card->size,
                           &MPIDI_MAD_AV(&MPIDIU_get_av(0, rank))->peer);
  return status < 0 ? MPIDI_MAD_peer_error(status, rank, MPIR_Process.comm_world) : MPI_SUCCESS;
}

/* The table has the first process of every node; those processes gather the other cards by
 * messages. */
static int exchange_through_roots(const card_t* own, const card_t* roots) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Comm* roots_comm = NULL;
  void* table;
  int* places;
  int card_bytes;

  mpi_errno = MPIDI_create_init_comm(&roots_comm);
  MPIR_ERR_CHECK(mpi_errno);
  for (int node = 0; node < MPIR_Process.num_nodes; node++) {
    if (own->size == 0 && !roots_comm) continue; /* the others are to see that first */
    mpi_errno = insert(own, &roots[node], MPIR_Process.node_root_map[node]);
    MPIR_ERR_CHECK(mpi_errno);
  }
  mpi_errno =
      MPIDU_bc_allgather(roots_comm, (void*)own, sizeof(*own), TRUE, &table, &places, &card_bytes);
  MPIR_ERR_CHECK(mpi_errno);
  for (int rank = 0; rank < MPIR_Process.size; rank++) {
    if (places[rank] < 0) continue; /* a root */
    mpi_errno = insert(own, (const card_t*)table + places[rank], rank);
    MPIR_ERR_CHECK(mpi_errno);
  }

fn_exit:
  if (roots_comm) MPIDI_destroy_init_comm(&roots_comm);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

int MPIDI_MAD_exchange_addresses(void) {
  int mpi_errno = MPI_SUCCESS;
  card_t own;
  size_t size = sizeof(own.address);
  void* table = NULL;
  int status;

  memset(&own, 0, sizeof(own));
  /* MPICH leaves the table of the world as malloc() gave it. */
  for (int rank = 0; rank < MPIR_Process.size; rank++)
    MPIDI_MAD_AV(&MPIDIU_get_av(0, rank))->peer = NULL;

  if (gethostname(own.host, sizeof(own.host) - 1) != 0) MPL_strncpy(own.host, "?", HOST_BYTES);
  if (MPIDI_MAD_global.engine) {
    status = mad_engine_address(MPIDI_MAD_global.engine, own.address, &size);
    if (status < 0) {
      mpi_errno = MPIDI_MAD_error(status);
      goto fn_fail;
    }
    own.size = (uint16_t)size;
  }
  mpi_errno =
      MPIDU_bc_table_create(MPIR_Process.rank, MPIR_Process.size, MPIR_Process.node_map, &own,
                            sizeof(own), TRUE, MPIR_CVAR_CH4_ROOTS_ONLY_PMI, &table, NULL);
  MPIR_ERR_CHECK(mpi_errno);
  if (MPIR_CVAR_CH4_ROOTS_ONLY_PMI) {
    mpi_errno = exchange_through_roots(&own, table);
    MPIR_ERR_CHECK(mpi_errno);
  } else {
    for (int rank = 0; rank < MPIR_Process.size; rank++) {
      mpi_errno = insert(&own, (const card_t*)table + rank, rank);
      MPIR_ERR_CHECK(mpi_errno);
    }
  }
  mpi_errno = MPIDU_bc_table_destroy();
  MPIR_ERR_CHECK(mpi_errno);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}
