/* mad_board.c: short collective operations of one node's processes, in memory that they share.
 *
 * A communicator whose processes all share memory gets a board once it has had some such
 * operations.  An operation is a round: who has data for others writes them into its cell of the
 * round and marks that with the round's number; who needs them waits for the mark.  So there is no
 * matching, and one step whatever the number of ranks, which is why these are few.  A rank has
 * several cells, used in turns, so that who only writes may be some rounds ahead.
 *
 * A mark also says whether the data are there.  They are not where messages would say something
 * besides, values carried along or types that are checked: which is known to their sender alone.
 * What errors collective operations tell each other stands in the cell, as it does in messages.
 */
#include "mad_core.h"
#include "mad_window.h"

#define CELL_BYTES 496   /* of data; a cell is half a KiB */
#define DEPTH 32         /* cells of a rank */
#define MOST_RANKS 16    /* each of them may read a cell of every other one */
#define MOST_BOARDS 32   /* of a process */
#define FIRST_WITHOUT 16 /* operations of a communicator before it gets a board */
#define NEVER (-1)       /* instead of their number, of a communicator that gets none */

typedef struct {
  _Alignas(64) MPL_atomic_int64_t mark; /* round * 2, and 1 if the data are not here */
  int32_t bytes;
  int32_t errflag; /* MPIR_Errflag_t */
  char data[CELL_BYTES];
} cell_t;

typedef struct {
  _Alignas(64) MPL_atomic_int64_t finished; /* the last round that the rank needs nothing of */
} reader_t;

typedef struct MPIDI_MAD_board {
  reader_t* readers; /* by rank */
  cell_t* cells;     /* DEPTH times one for each rank */
  int ranks;
  int64_t round;          /* that this rank is at */
  int64_t writable_until; /* the last round in which all cells of this rank are known to be read */
} board_t;

static int boards; /* of this process */

/* ---- the board ---- */

/* As all ranks of the communicator find. */
static bool may_have_board(MPIR_Comm* comm) {
  return comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && comm->local_size <= MOST_RANKS &&
         MPIDI_MAD_whole_node(comm) != NULL;
}

/* Whether this process would send such a message through shared memory. */
static bool shares_memory(void) {
  return MPIR_CVAR_CH4_MAD_SHARED_COLLECTIVES && boards < MOST_BOARDS && MPIDI_MAD_global.engine &&
         strncmp(mad_engine_fabric(MPIDI_MAD_global.engine), "shm", 3) == 0;
}

/* Collective.  Without memory on one rank there is no board on any. */
static int make_board(MPIR_Comm* comm) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Comm* node = MPIDI_MAD_whole_node(comm);
  MPIR_Errflag_t errflag = MPIR_ERR_NONE;
  board_t* board = MPL_calloc(1, sizeof(*board), MPL_MEM_COMM);
  bool wanted = board != NULL && shares_memory(), all = false, failed = false;
  const size_t ranks = (size_t)node->local_size;
  void* memory = NULL;

  mpi_errno = MPIR_Allreduce(&wanted, &all, 1, MPI_C_BOOL, MPI_LAND, node, &errflag);
  MPIR_ERR_CHECK(mpi_errno);
  if (!all) goto fn_fail;
  mpi_errno =
      MPIDU_shm_alloc(node, ranks * (sizeof(reader_t) + DEPTH * sizeof(cell_t)), &memory, &failed);
  MPIR_ERR_CHECK(mpi_errno);
  if (failed) goto fn_fail;
  board->readers = memory;
  board->cells = (cell_t*)(board->readers + ranks);
  board->ranks = (int)ranks;
  board->writable_until = DEPTH;
  MPIDI_MAD_COMM(comm)->board = board;
  boards++;

fn_exit:
  return mpi_errno;
fn_fail: /* also without an error: messages then */
  MPL_free(board);
  goto fn_exit;
}

void MPIDI_MAD_board_free(MPIR_Comm* comm) {
  board_t* board = MPIDI_MAD_COMM(comm)->board;

  if (board == NULL) return;
  MPIDI_MAD_COMM(comm)->board = NULL;
  boards--;
  (void)MPIDU_shm_free(board->readers);
  MPL_free(board);
}

/* NULL: there is none.  Called by all ranks, or none, for an operation. */
static board_t* board_for(MPIR_Comm* comm, int* mpi_errno) {
  MPIDI_MAD_comm_t* its = MPIDI_MAD_COMM(comm);

  if (likely(its->board != NULL) || its->short_collectives == NEVER) return its->board;
  if (its->short_collectives++ < FIRST_WITHOUT) return NULL;
  its->short_collectives = NEVER; /* also of the operations by which it is made */
  if (may_have_board(comm)) *mpi_errno = make_board(comm);
  return its->board;
}

/* ---- waiting ---- */

/* While one is missing, the end of any other may be why: it may have gone on without its data. */
static int member_error(MPIR_Comm* comm) {
  int mpi_errno = MPI_SUCCESS;

  if (likely(MPIDI_MAD_global.gone_peers == 0)) return MPI_SUCCESS;
  for (int rank = 0; rank < comm->local_size && mpi_errno == MPI_SUCCESS; rank++)
    mpi_errno = MPIDI_MAD_rank_error(rank, comm);
  return mpi_errno;
}

/* So that a death is noticed, of ranks that this one never spoke to as well. */
static void touch_members(MPIR_Comm* comm) {
  for (int rank = 0; rank < comm->local_size; rank++)
    if (rank != comm->rank) MPIDI_MAD_touch(MPIDI_MAD_peer(comm, rank));
}

/* Returns when somebody has written as much into the word, or a member is gone. */
static int await(MPIR_Comm* comm, const MPL_atomic_int64_t* word, int64_t value) {
  int mpi_errno = MPI_SUCCESS;
  uint32_t polls = 0, looks = 0;

  while (MPL_atomic_acquire_load_int64(word) < value) {
    if (!MPIDI_MAD_global.crowded && ++looks % MPIDI_MAD_LOOKS != 0) continue;
    mpi_errno = member_error(comm);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_MAD_poll_awake(&polls);
    MPIR_ERR_CHECK(mpi_errno);
    if (polls % MPIDI_MAD_TOUCH_INTERVAL == 0) touch_members(comm);
  }

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* ---- a round ---- */

/* One operation of this rank. */
typedef struct {
  MPIR_Comm* comm;
  board_t* board;
  MPI_Aint bytes; /* in each cell */
  MPIR_Errflag_t* errflag;
  bool withholds; /* this rank's data are not here, */
  bool absent;    /* those of some rank that was waited for */
} round_t;

/* What a message would say that a cell does not. */
static bool says_more(void) { return MPIDI_MAD_types_checked || MPIDI_MAD_values_carried; }

static cell_t* cell_of(const round_t* round, int rank) {
  const board_t* board = round->board;

  return &board->cells[(board->round % DEPTH) * board->ranks + rank];
}

static void set_errflag(MPIR_Errflag_t* errflag, int mpi_errno) {
  *errflag =
      MPIX_ERR_PROC_FAILED == MPIR_ERR_GET_CLASS(mpi_errno) ? MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER;
}

/* Whether there is one for an operation with `bytes` bytes in each cell; it ends with end_round().
 * Without data MPICH returns early on some ranks: those that have plain types. */
static bool begin_round(round_t* round, MPIR_Comm* comm, MPI_Aint bytes, MPIR_Errflag_t* errflag,
                        int* mpi_errno) {
  *mpi_errno = MPI_SUCCESS;
  if (bytes == 0 || bytes > CELL_BYTES) return false;
  *round = (round_t){comm, board_for(comm, mpi_errno), bytes, errflag, says_more(), false};
  if (likely(round->board)) round->board->round++;
  if (unlikely(*mpi_errno)) set_errflag(errflag, *mpi_errno);
  return round->board != NULL;
}

/* Whether the operation is done, or failed, rather than to be done by messages.  Where it failed
 * but others may send messages, this rank goes on by messages, too, which say that it failed. */
static bool end_round(round_t* round, int* mpi_errno) {
  const board_t* board = round->board;

  MPL_atomic_release_store_int64(&board->readers[round->comm->rank].finished, board->round);
  if (*mpi_errno == MPI_SUCCESS) *mpi_errno = MPIDI_MAD_poll_sometimes();
  if (unlikely(*mpi_errno)) set_errflag(round->errflag, *mpi_errno);
  return !round->absent;
}

/* Returns when everybody has read what this rank's cell had before. */
static int await_cell(const round_t* round) {
  board_t* board = round->board;
  int mpi_errno = MPI_SUCCESS;
  int64_t least = board->round;

  if (likely(board->round <= board->writable_until)) return MPI_SUCCESS;
  for (int rank = 0; rank < board->ranks; rank++) {
    const MPL_atomic_int64_t* finished = &board->readers[rank].finished;
    int64_t theirs;
    if (rank == round->comm->rank) continue;
    mpi_errno = await(round->comm, finished, board->round - DEPTH);
    MPIR_ERR_CHECK(mpi_errno);
    theirs = MPL_atomic_acquire_load_int64(finished); /* once: it grows */
    least = MPL_MIN(least, theirs);
  }
  board->writable_until = least + DEPTH;

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static MPI_Aint bytes_of(MPI_Aint count, MPI_Datatype datatype) {
  MPI_Aint size;

  MPIR_Datatype_get_size_macro(datatype, size);
  return size * count;
}

static void* part(const void* buffer, int i, MPI_Aint count, MPI_Datatype datatype) {
  MPI_Aint extent;

  MPIR_Datatype_get_extent_macro(datatype, extent);
  return (char*)buffer + i * count * extent;
}

/* Between a buffer and the bytes that it has in a cell. */
static int pack(const void* buffer, MPI_Aint count, MPI_Datatype datatype, void* data,
                MPI_Aint bytes) {
  if (!HANDLE_IS_BUILTIN(datatype))
    return MPIR_Localcopy(buffer, count, datatype, data, bytes, MPI_BYTE);
  memcpy(data, buffer, (size_t)MPL_MIN(bytes, bytes_of(count, datatype)));
  return MPI_SUCCESS;
}

static int unpack(const void* data, MPI_Aint bytes, void* buffer, MPI_Aint count,
                  MPI_Datatype datatype) {
  if (!HANDLE_IS_BUILTIN(datatype))
    return MPIR_Localcopy(data, bytes, MPI_BYTE, buffer, count, datatype);
  memcpy(buffer, data, (size_t)MPL_MIN(bytes, bytes_of(count, datatype)));
  return MPI_SUCCESS;
}

/* This rank's data, `count` of `datatype`. */
static int write_cell(const round_t* round, const void* buffer, MPI_Aint count,
                      MPI_Datatype datatype) {
  cell_t* cell = cell_of(round, round->comm->rank);
  int mpi_errno = await_cell(round);

  MPIR_ERR_CHECK(mpi_errno);
  if (likely(!round->withholds))
    mpi_errno = pack(buffer, count, datatype, cell->data, round->bytes);
  MPIR_ERR_CHECK(mpi_errno);
  cell->bytes = (int32_t)round->bytes;
  cell->errflag = *round->errflag;
  MPL_atomic_release_store_int64(&cell->mark, round->board->round * 2 + round->withholds);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* Returns when the rank's data are there, or it says that they are not, or that it failed. */
static int await_data(round_t* round, int rank) {
  const cell_t* cell = cell_of(round, rank);
  int mpi_errno = await(round->comm, &cell->mark, round->board->round * 2);

  MPIR_ERR_CHECK(mpi_errno);
  round->absent = MPL_atomic_relaxed_load_int64(&cell->mark) % 2 != 0;
  if (unlikely(cell->errflag != MPIR_ERR_NONE)) {
    MPIR_ERR_SET(mpi_errno, cell->errflag, "**coll_fail");
    goto fn_fail;
  }
  MPIR_ERR_CHKANDJUMP2(cell->bytes != round->bytes, mpi_errno, MPI_ERR_TRUNCATE, "**truncate",
                       "**truncate %d %d", (int)cell->bytes, (int)round->bytes);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* Those of all ranks; absent is what some rank's are. */
static int await_all(round_t* round) {
  int mpi_errno = MPI_SUCCESS;
  bool absent = round->withholds;

  for (int rank = 0; rank < round->board->ranks && mpi_errno == MPI_SUCCESS; rank++) {
    mpi_errno = await_data(round, rank);
    absent |= round->absent;
  }
  round->absent = absent;
  return mpi_errno;
}

/* ---- from all to all ---- */

bool MPIDI_MAD_board_barrier(MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno) {
  const char nothing = 0;
  round_t round;

  if (!begin_round(&round, comm, 1, errflag, mpi_errno)) return *mpi_errno != MPI_SUCCESS;
  *mpi_errno = write_cell(&round, &nothing, 1, MPI_BYTE);
  if (*mpi_errno == MPI_SUCCESS) *mpi_errno = await_all(&round);
  return end_round(&round, mpi_errno);
}

bool MPIDI_MAD_board_allgather(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                               void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                               MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno) {
  const MPI_Aint bytes = bytes_of(recvcount, recvtype);
  round_t round;

  if (!begin_round(&round, comm, bytes, errflag, mpi_errno)) return *mpi_errno != MPI_SUCCESS;
  *mpi_errno =
      sendbuf == MPI_IN_PLACE
          ? write_cell(&round, part(recvbuf, comm->rank, recvcount, recvtype), recvcount, recvtype)
          : write_cell(&round, sendbuf, sendcount, sendtype);
  if (*mpi_errno == MPI_SUCCESS) *mpi_errno = await_all(&round);
  for (int i = 0; *mpi_errno == MPI_SUCCESS && !round.absent && i < comm->local_size; i++)
    *mpi_errno = unpack(cell_of(&round, i)->data, bytes, part(recvbuf, i, recvcount, recvtype),
                        recvcount, recvtype);
  return end_round(&round, mpi_errno);
}

bool MPIDI_MAD_board_alltoall(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                              MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno) {
  const MPI_Aint bytes = bytes_of(recvcount, recvtype);
  round_t round;

  if (!begin_round(&round, comm, bytes * comm->local_size, errflag, mpi_errno))
    return *mpi_errno != MPI_SUCCESS;
  *mpi_errno = sendbuf == MPI_IN_PLACE
                   ? write_cell(&round, recvbuf, recvcount * comm->local_size, recvtype)
                   : write_cell(&round, sendbuf, sendcount * comm->local_size, sendtype);
  if (*mpi_errno == MPI_SUCCESS) *mpi_errno = await_all(&round);
  for (int i = 0; *mpi_errno == MPI_SUCCESS && !round.absent && i < comm->local_size; i++)
    *mpi_errno = unpack(cell_of(&round, i)->data + comm->rank * bytes, bytes,
                        part(recvbuf, i, recvcount, recvtype), recvcount, recvtype);
  return end_round(&round, mpi_errno);
}

/* ---- from one to all ---- */

bool MPIDI_MAD_board_bcast(void* buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                           MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno) {
  round_t round;

  if (!begin_round(&round, comm, bytes_of(count, datatype), errflag, mpi_errno))
    return *mpi_errno != MPI_SUCCESS;
  if (comm->rank == root) *mpi_errno = write_cell(&round, buffer, count, datatype);
  if (*mpi_errno == MPI_SUCCESS) *mpi_errno = await_data(&round, root);
  if (*mpi_errno == MPI_SUCCESS && !round.absent && comm->rank != root)
    *mpi_errno = unpack(cell_of(&round, root)->data, round.bytes, buffer, count, datatype);
  return end_round(&round, mpi_errno);
}

bool MPIDI_MAD_board_scatter(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                             MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno) {
  const bool sends = comm->rank == root;
  const MPI_Aint bytes = sends ? bytes_of(sendcount, sendtype) : bytes_of(recvcount, recvtype);
  round_t round;

  if (!begin_round(&round, comm, bytes * comm->local_size, errflag, mpi_errno))
    return *mpi_errno != MPI_SUCCESS;
  if (sends) *mpi_errno = write_cell(&round, sendbuf, sendcount * comm->local_size, sendtype);
  if (*mpi_errno == MPI_SUCCESS) *mpi_errno = await_data(&round, root);
  if (*mpi_errno == MPI_SUCCESS && !round.absent && recvbuf != MPI_IN_PLACE)
    *mpi_errno = unpack(cell_of(&round, root)->data + comm->rank * bytes, bytes, recvbuf, recvcount,
                        recvtype);
  return end_round(&round, mpi_errno);
}

/* ---- from all to one ---- */

/* Data that are not in the rank's cell: it has sent them to the root. */
static int receive_instead(round_t* round, int rank, void* buffer, MPI_Aint count,
                           MPI_Datatype datatype, int tag) {
  round->absent = false;
  return MPIC_Recv(buffer, count, datatype, rank, tag, round->comm, MPI_STATUS_IGNORE,
                   round->errflag);
}

/* To the root: by the cell, or by a message. */
static int give(round_t* round, const void* buffer, MPI_Aint count, MPI_Datatype datatype,
                int root) {
  int mpi_errno = write_cell(round, buffer, count, datatype);

  if (mpi_errno == MPI_SUCCESS && round->withholds)
    mpi_errno =
        MPIC_Send(buffer, count, datatype, root, MPIR_GATHER_TAG, round->comm, round->errflag);
  return mpi_errno;
}

static int take(round_t* round, int rank, void* buffer, MPI_Aint count, MPI_Datatype datatype) {
  int mpi_errno = await_data(round, rank);

  if (mpi_errno != MPI_SUCCESS) return mpi_errno;
  if (unlikely(round->absent))
    return receive_instead(round, rank, buffer, count, datatype, MPIR_GATHER_TAG);
  return unpack(cell_of(round, rank)->data, round->bytes, buffer, count, datatype);
}

bool MPIDI_MAD_board_gather(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                            MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno) {
  const bool receives = comm->rank == root;
  round_t round;

  if (!begin_round(&round, comm,
                   receives ? bytes_of(recvcount, recvtype) : bytes_of(sendcount, sendtype),
                   errflag, mpi_errno))
    return *mpi_errno != MPI_SUCCESS;
  if (!receives)
    *mpi_errno = give(&round, sendbuf, sendcount, sendtype, root);
  else if (sendbuf != MPI_IN_PLACE)
    *mpi_errno = MPIR_Localcopy(sendbuf, sendcount, sendtype,
                                part(recvbuf, root, recvcount, recvtype), recvcount, recvtype);
  for (int i = 0; receives && *mpi_errno == MPI_SUCCESS && i < comm->local_size; i++) {
    if (i == root) continue;
    *mpi_errno = take(&round, i, part(recvbuf, i, recvcount, recvtype), recvcount, recvtype);
  }
  return end_round(&round, mpi_errno);
}

/* ---- reductions ---- */

/* As on all ranks. */
static bool is_reducible(MPI_Datatype datatype, MPI_Op op) {
  return MPIR_DATATYPE_IS_PREDEFINED(datatype) && HANDLE_IS_BUILTIN(op);
}

/* Of elements as they are in memory: those of MPI_DOUBLE_INT and its kin have holes. */
static MPI_Aint bytes_in_memory(MPI_Aint count, MPI_Datatype datatype) {
  MPIR_Datatype* pair;

  if (likely(HANDLE_IS_BUILTIN(datatype)) || count == 0) return bytes_of(count, datatype);
  MPIR_Datatype_get_ptr(datatype, pair);
  return (count - 1) * pair->extent + pair->true_ub;
}

/* The elements of the ranks up to `last`, from that one on, on whichever rank: so the bits are the
 * same.  `own` are this rank's. */
static int reduce_up_to(int last, round_t* round, const void* own, void* recvbuf, MPI_Aint count,
                        MPI_Datatype datatype, MPI_Op op) {
  _Alignas(64) char sent[CELL_BYTES], pairs[CELL_BYTES];
  void* into = likely(HANDLE_IS_BUILTIN(datatype)) ? recvbuf : pairs;
  int mpi_errno = MPI_SUCCESS;

  for (int rank = last; rank >= 0; rank--) {
    const void* theirs = own;
    if (rank != round->comm->rank) {
      mpi_errno = await_data(round, rank);
      MPIR_ERR_CHECK(mpi_errno);
      theirs = round->absent ? sent : cell_of(round, rank)->data;
    }
    if (unlikely(round->absent)) {
      mpi_errno = receive_instead(round, rank, sent, count, datatype, MPIR_REDUCE_TAG);
      MPIR_ERR_CHECK(mpi_errno);
    }
    if (rank == last)
      memcpy(into, theirs, (size_t)round->bytes);
    else
      mpi_errno = MPIR_Reduce_local(theirs, into, count, datatype, op);
    MPIR_ERR_CHECK(mpi_errno);
  }
  if (into == pairs && last >= 0)
    mpi_errno = MPIR_Localcopy(pairs, count, datatype, recvbuf, count, datatype);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

bool MPIDI_MAD_board_reduce(const void* sendbuf, void* recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm* comm,
                            MPIR_Errflag_t* errflag, int* mpi_errno) {
  _Alignas(64) char kept[CELL_BYTES]; /* of a root in place, whose buffer has the sum first */
  round_t round;

  if (!is_reducible(datatype, op)) return false;
  if (!begin_round(&round, comm, bytes_in_memory(count, datatype), errflag, mpi_errno))
    return *mpi_errno != MPI_SUCCESS;
  if (comm->rank != root) {
    *mpi_errno = write_cell(&round, sendbuf, round.bytes, MPI_BYTE);
    if (*mpi_errno == MPI_SUCCESS && round.withholds)
      *mpi_errno = MPIC_Send(sendbuf, count, datatype, root, MPIR_REDUCE_TAG, comm, errflag);
  } else {
    if (sendbuf == MPI_IN_PLACE) sendbuf = memcpy(kept, recvbuf, (size_t)round.bytes);
    *mpi_errno = reduce_up_to(comm->local_size - 1, &round, sendbuf, recvbuf, count, datatype, op);
  }
  return end_round(&round, mpi_errno);
}

/* To each rank the reduction of those up to `last`. */
static bool reduce_to_each(const void* sendbuf, void* recvbuf, MPI_Aint count,
                           MPI_Datatype datatype, MPI_Op op, int last, MPIR_Comm* comm,
                           MPIR_Errflag_t* errflag, int* mpi_errno) {
  round_t round;

  if (!is_reducible(datatype, op)) return false;
  if (!begin_round(&round, comm, bytes_in_memory(count, datatype), errflag, mpi_errno))
    return *mpi_errno != MPI_SUCCESS;
  *mpi_errno =
      write_cell(&round, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, round.bytes, MPI_BYTE);
  if (*mpi_errno == MPI_SUCCESS) *mpi_errno = await_all(&round);
  if (*mpi_errno == MPI_SUCCESS && !round.absent)
    *mpi_errno =
        reduce_up_to(last, &round, cell_of(&round, comm->rank)->data, recvbuf, count, datatype, op);
  return end_round(&round, mpi_errno);
}

bool MPIDI_MAD_board_allreduce(const void* sendbuf, void* recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm* comm,
                               MPIR_Errflag_t* errflag, int* mpi_errno) {
  return reduce_to_each(sendbuf, recvbuf, count, datatype, op, comm->local_size - 1, comm, errflag,
                        mpi_errno);
}

bool MPIDI_MAD_board_scan(const void* sendbuf, void* recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno) {
  return reduce_to_each(sendbuf, recvbuf, count, datatype, op, comm->rank, comm, errflag,
                        mpi_errno);
}

bool MPIDI_MAD_board_exscan(const void* sendbuf, void* recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm* comm,
                            MPIR_Errflag_t* errflag, int* mpi_errno) {
  return reduce_to_each(sendbuf, recvbuf, count, datatype, op, comm->rank - 1, comm, errflag,
                        mpi_errno);
}
