/* mad_init.c: start and end of the device. */
#include <pthread.h>
#include <unistd.h>

#include "mad_core.h"

/* For the other ranks of this node to get as far as one that fails. */
#define START_UP_MICROSECONDS 1000000
/* Processes of other worlds may compute before they look for what was sent to them. */
#define GOODBYE_MILLISECONDS 60000

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

categories :
    - name : CH4_MAD
      description : A category for CH4 MAD netmod variables

cvars:
    - name        : MPIR_CVAR_CH4_MAD_DATATYPE_PATH
      category    : CH4_MAD
      type        : string
      default     : "auto"
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        How noncontiguous data is sent and received where neither the communicator's attribute nor
        its info hint mad_datatype_path says it. One of auto (planned from the layout and the
        fabric), gather (every block referenced in place), hybrid (short blocks copied together,
        long ones referenced), pipeline (everything copied, chunk by chunk), pack (one buffer of
        the whole message), off (one buffer of the whole message, packed by MPICH as without this
        device). Where this variable is off, MPI_Pack, MPI_Unpack and what is copied within the
        process are left to MPICH, too.

    - name        : MPIR_CVAR_CH4_MAD_FABRIC
      category    : CH4_MAD
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL
      description : >-
        The fabric to communicate over. One of auto (shared memory with processes of the same host,
        ofi:verbs with hosts whose RDMA device passes a self-test, as ours does, tcp with all
        others), tcp, shm (shared memory of one host), ofi:verbs (RDMA), ofi:PROVIDER of libfabric,
        e.g. ofi:tcp, its layers behind +, as in ofi:tcp+ofi_rxm, ucx (shared memory on one host,
        else RDMA or tcp), or ucx: and some of posix, cma, rc, ud, tcp with commas; or several with
        semicolons between, e.g. shm;tcp, of which the first that reaches a process is used for it.
        If empty, auto. Ranks that communicate must have one in common.

    - name        : MPIR_CVAR_CH4_MAD_INTERFACE
      category    : CH4_MAD
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        The network interface to use, e.g. eth0 or lo. If empty, the fabric chooses.

    - name        : MPIR_CVAR_CH4_MAD_EAGER_LIMIT
      category    : CH4_MAD
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of a message that may be sent before its receive is known. 0 is the fabric's default.

    - name        : MPIR_CVAR_CH4_MAD_FLUSH_THRESHOLD
      category    : CH4_MAD
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of a message that are prepared before a packet is sent. 0 is libmad's default.

    - name        : MPIR_CVAR_CH4_MAD_MAX_BLOCKS
      category    : CH4_MAD
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Blocks of a message above which the path auto copies instead of referencing them in
        place, whatever that costs. 0 is no such limit.

    - name        : MPIR_CVAR_CH4_MAD_COSTS_FILE
      category    : CH4_MAD
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        A file of measured costs of the fabrics, as `tools/mad calibrate` writes it, which the path
        auto decides by. If empty, $XDG_CONFIG_HOME/mad/costs.json or ~/.config/mad/costs.json if
        there is one, else built-in numbers.

    - name        : MPIR_CVAR_CH4_MAD_CONNECT_TIMEOUT
      category    : CH4_MAD
      type        : int
      default     : 600
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Seconds for which attempts to connect to a process may fail for reasons that may pass before
        the process is taken for unreachable: its host does not answer, or one of the two has no
        file descriptor, port or shared memory left. 0 is for ever. A process whose host has
        answered is waited for however long it computes, as is one whose host says that it is gone
        not at all.

    - name        : MPIR_CVAR_CH4_MAD_SILENCE_TIMEOUT
      category    : CH4_MAD
      type        : int
      default     : 20
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Seconds that the host of another process may answer nothing, as when its cable is pulled,
        before the process counts as failed. A process that computes or is stopped has a host that
        answers. 0 leaves it to the system's TCP settings, which may take hours. Of the fabrics tcp,
        ucx:tcp and ofi:verbs; devices by ucx:rc and ucx:ud give up by themselves.

    - name        : MPIR_CVAR_CH4_MAD_CHECK_TYPES
      category    : CH4_MAD
      type        : boolean
      default     : false
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        If true, messages say of what type they are, and a receive of another type fails with
        MPI_ERR_TYPE, those of collective operations too. A communicator's info hint
        mad_check_types, true or false, goes before it. Messages to oneself, one-sided and
        partitioned communication are not checked.

    - name        : MPIR_CVAR_CH4_MAD_CHECKSUM
      category    : CH4_MAD
      type        : boolean
      default     : false
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        If true, this process sends all payload with a CRC32C, which whoever receives it checks; a
        receive of bytes that changed on their way fails. The processes need not agree.

    - name        : MPIR_CVAR_CH4_MAD_SHARED_COLLECTIVES
      category    : CH4_MAD
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL
      description : >-
        If true, barriers, broadcasts, gathers, scatters, allgathers, alltoalls, reductions,
        allreduces and scans of up to 496 bytes and 16 processes of one node, where these use the
        fabric shm, go through memory that they share.  If false on any of them, they are messages.

    - name        : MPIR_CVAR_CH4_MAD_SHARED_WINDOWS
      category    : CH4_MAD
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        If true, one-sided operations on memory of MPI_Win_allocate and MPI_Win_allocate_shared
        whose target is on this node, and those on one's own memory, are done at once, without the
        target and without the fabric; so are, through the kernel where that lets a process write
        another's memory, puts and gets in memory of MPI_Win_create whose target has kept a flush or
        an unlock waiting; and contiguous ones in memory that an RDMA device reaches are done by the
        devices. If false, they are messages. Windows in shared memory are used so where all
        processes of their node say true.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

MPIDI_MAD_global_t MPIDI_MAD_global;

static mad_config configuration; /* of the engine */

static int read_size(const char* name, int value, uint64_t* out) {
  if (value < 0)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_FATAL, __func__, __LINE__, MPI_ERR_OTHER,
                                "**mad_cvar", "**mad_cvar %s %d", name, value);
  *out = (uint64_t)value;
  return MPI_SUCCESS;
}

static const char* non_empty(const char* value) { return (value && *value) ? value : NULL; }

static int read_configuration(mad_config* config) {
  int mpi_errno = MPI_SUCCESS;
  const char* path = non_empty(MPIR_CVAR_CH4_MAD_DATATYPE_PATH);
  const char* verbose = getenv("MAD_VERBOSE");
  uint64_t silence_seconds = 0;

  mad_config_init(config);
  config->fabric = non_empty(MPIR_CVAR_CH4_MAD_FABRIC);
  config->interface = non_empty(MPIR_CVAR_CH4_MAD_INTERFACE);
  config->costs_file = non_empty(MPIR_CVAR_CH4_MAD_COSTS_FILE);
  mpi_errno = read_size("MPIR_CVAR_CH4_MAD_EAGER_LIMIT", MPIR_CVAR_CH4_MAD_EAGER_LIMIT,
                        &config->eager_limit);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = read_size("MPIR_CVAR_CH4_MAD_FLUSH_THRESHOLD", MPIR_CVAR_CH4_MAD_FLUSH_THRESHOLD,
                        &config->flush_threshold);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno =
      read_size("MPIR_CVAR_CH4_MAD_MAX_BLOCKS", MPIR_CVAR_CH4_MAD_MAX_BLOCKS, &config->max_blocks);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = read_size("MPIR_CVAR_CH4_MAD_CONNECT_TIMEOUT", MPIR_CVAR_CH4_MAD_CONNECT_TIMEOUT,
                        &config->connect_timeout);
  MPIR_ERR_CHECK(mpi_errno);
  config->checksum = MPIR_CVAR_CH4_MAD_CHECKSUM;
  mpi_errno = read_size("MPIR_CVAR_CH4_MAD_SILENCE_TIMEOUT", MPIR_CVAR_CH4_MAD_SILENCE_TIMEOUT,
                        &silence_seconds);
  MPIR_ERR_CHECK(mpi_errno);
  config->silence_ms = (uint32_t)MPL_MIN(silence_seconds, UINT32_MAX / 1000) * 1000;
  config->goodbye_ms = GOODBYE_MILLISECONDS;

  MPIDI_MAD_global.verbose = (verbose && *verbose && strcmp(verbose, "0") != 0);
  MPIDI_MAD_global.default_path = MAD_PATH_AUTO;
  if (path && mad_path_parse(path, &MPIDI_MAD_global.default_path) < 0)
    MPIR_ERR_SETANDJUMP2(mpi_errno, MPI_ERR_OTHER, "**mad_path", "**mad_path %s %s", path,
                         mad_path_names());

  config->callbacks.on_message = MPIDI_MAD_on_message;
  config->callbacks.on_sent = MPIDI_MAD_on_sent;
  config->callbacks.on_received = MPIDI_MAD_on_received;
  config->callbacks.on_tagged = MPIDI_MAD_on_tagged;
  config->callbacks.on_peer_gone = MPIDI_MAD_on_peer_gone;

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* After an error MPICH aborts, and mpiexec's proxy ends all ranks.  If another is in the middle of
 * asking the proxy something, the proxy dies of the broken pipe and takes this rank's error text
 * along. */
static void let_others_come(void) { usleep(START_UP_MICROSECONDS); }

/* The other ranks are told of an error, so that all of them say who cannot take part. */
static void open_engine(void) {
  size_t room = sizeof(MPIDI_MAD_global.open_error);

  if (MPIR_CVAR_CH4_NUM_VCIS > 1)
    MPL_snprintf(MPIDI_MAD_global.open_error, room,
                 "MPIR_CVAR_CH4_NUM_VCIS is %d, and the mad device has one VCI; unset it",
                 MPIR_CVAR_CH4_NUM_VCIS);
  else if (mad_engine_open(&configuration, &MPIDI_MAD_global.engine) < 0)
    MPL_strncpy(MPIDI_MAD_global.open_error, mad_last_error(), room);
}

/* A child of fork() calls no MPI, and is not to keep our connections open. */
static void leave_to_parent(void) {
  mad_engine_after_fork(MPIDI_MAD_global.engine);
  MPIDI_MAD_global.engine = NULL;
}

static void handle_forks(void) { (void)pthread_atfork(NULL, NULL, leave_to_parent); }

int MPIDI_MAD_init_local(int* tag_bits) {
  static pthread_once_t once = PTHREAD_ONCE_INIT; /* handlers stay for ever */
  int mpi_errno = MPI_SUCCESS;

  pthread_once(&once, handle_forks);
  memset(&MPIDI_MAD_global, 0, sizeof(MPIDI_MAD_global));
  mpi_errno = read_configuration(&configuration);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = MPIDI_MAD_switch_init();
  MPIR_ERR_CHECK(mpi_errno);
  MPIDI_MAD_check_init();
  MPIDI_MAD_pvars_init();
  MPIDI_MAD_progress_init();
  *tag_bits = MPIR_TAG_BITS_DEFAULT;

fn_exit:
  return mpi_errno;
fn_fail:
  let_others_come();
  goto fn_exit;
}

/* The engine is opened here, since the processes of a node can speak to each other only now. */
int MPIDI_MAD_init_world(void) {
  int mpi_errno = MPIDI_MAD_common_secret(&configuration.common_secret);

  MPIR_ERR_CHECK(mpi_errno);
  open_engine();
  mpi_errno = MPIDI_MAD_exchange_addresses();
  MPIR_ERR_CHECK(mpi_errno);
  MPIDI_MAD_global.connected = true;
  MPIDI_MAD_cores_init();

fn_exit:
  return mpi_errno;
fn_fail:
  let_others_come();
  goto fn_exit;
}

int MPIDI_MAD_post_init(void) { return MPI_SUCCESS; }

/* The closing barrier goes up a tree and down again: the ranks rank + 1, + 2, + 4, ... below the
 * lowest bit of `rank` tell it that theirs have come, each with that number, and it tells the rank
 * without that bit; from there all hear that everybody has. */
#define ALL_HAVE_COME (UINT32_C(1) << 31)

static void tell(int rank, uint32_t what) {
  (void)mad_send_header(MPIDI_MAD_global.engine, MPIDI_MAD_peer_at(&MPIDIU_get_av(0, rank)),
                        MPIDI_MAD_HANDLER_FINALIZE, &what, sizeof(what));
}

/* Waits for a message of the closing barrier, or until its sender is gone. */
static void await(int rank, uint32_t what) {
  mad_peer* from;

  if (MPIDI_MAD_global.finalize_rounds & what) return; /* and the sender may have left since */
  from = MPIDI_MAD_peer_at(&MPIDIU_get_av(0, rank));
  (void)mad_peer_touch(MPIDI_MAD_global.engine, from);
  while (!(MPIDI_MAD_global.finalize_rounds & what) && mad_peer_status(from) == MAD_SUCCESS) {
    if (MPIDI_MAD_progress(0) != MPI_SUCCESS) return;
  }
}

/* Nobody leaves before all have come, so that an orderly end never looks like a death to those who
 * still wait.  A process that is gone is not waited for.  A tree has as many connections as there
 * are ranks, where each connection takes memory and work of both. */
void MPIDI_MAD_closing_barrier(void) {
  const int rank = MPIR_Process.rank, size = MPIR_Process.size;
  int bit = 1;

  for (; bit < size && !(rank & bit); bit *= 2)
    if (rank + bit < size) await(rank + bit, (uint32_t)bit);
  if (rank != 0) {
    tell(rank - bit, (uint32_t)bit);
    await(rank - bit, ALL_HAVE_COME);
  }
  while ((bit /= 2) > 0)
    if (rank + bit < size) tell(rank + bit, ALL_HAVE_COME);
}

/* What was sent to processes of other worlds has to arrive, also when they take long to notice;
 * that ends with their deaths at the latest.  It is not enough that it left: what is still in this
 * host when the process is gone is lost with the first answer that finds nobody.  Of a message that
 * nobody receives only the first packet is waited for. */
static void let_leave(void) {
  const mad_engine* const engine = MPIDI_MAD_global.engine;

  while (!mad_engine_flushed(engine) ||
         (MPIDI_MAD_global.other_worlds && !mad_engine_arrived(engine))) {
    if (MPIDI_MAD_progress(0) != MPI_SUCCESS) return;
  }
}

int MPIDI_MAD_mpi_finalize_hook(void) {
  if (MPIDI_MAD_global.engine == NULL) return MPI_SUCCESS;
  if (MPIDI_MAD_global.connected) MPIDI_MAD_closing_barrier();
  let_leave();
  MPIDI_MAD_pvars_finalize();
  mad_engine_close(MPIDI_MAD_global.engine);
  MPIDI_MAD_global.engine = NULL;
  MPIDI_MAD_global.tells_core = false;
  MPIDI_MAD_global.gone = NULL;
  MPIDI_MAD_global.connected = false;
  MPIDI_MAD_forget_addresses();
  MPIDI_MAD_check_finalize();
  MPIDI_MAD_piggyback_finalize();
  MPIDI_MAD_apply_finalize();
  MPIDI_MAD_close_memories();
  MPIDI_MAD_struct_finalize();
  MPIDI_MAD_switch_finalize();
  MPIDI_MAD_dynamic_finalize();
  return MPI_SUCCESS;
}
