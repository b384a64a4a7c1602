/* mad_failure.c: receives and probes that wait for processes that are gone.
 *
 * What the engine and mad_answers.c cannot know of are receives that wait for a message of a peer;
 * those are found here.  A peer's death shows on its connection, so the peers of waiting receives
 * are contacted once a process has been idle for a while; where that may be anyone of the world,
 * the ranks watch each other (mad_watch.c).
 */
#include "mad_core.h"
#include "utlist.h"

/* Ranks of other worlds contacted in one go on behalf of receives from any source, and probes that
 * contact theirs, which may be different ones in turn. */
#define TOUCHES_AT_ONCE 64

void MPIDI_MAD_on_peer_gone(void* context, mad_peer* peer, int status, const char* why) {
  if (MPIDI_MAD_global.verbose && status != MAD_ERR_CLOSED)
    fprintf(stderr, "ch4:mad: a process is gone: %s\n", why);
  MPIDI_MAD_global.gone_peers++;
  MPIDI_MAD_global.sweep = true;
  MPIDI_MAD_fail_unacknowledged(peer, status);
  MPIDI_MAD_far_gone(peer, status);
  MPIDI_MAD_answer_questions(peer, status);
  MPIDI_MAD_forget_notes(peer);
  mad_peer_set_context(peer, MPIDI_MAD_global.gone);
  MPIDI_MAD_global.gone = peer;
  MPIDI_MAD_global.release = true;
}

/* Some that are gone may be ranks of the world that came to us and were not looked for. */
void MPIDI_MAD_recognize_gone(void) {
  uint64_t gpid;

  for (mad_peer* peer = MPIDI_MAD_global.gone; peer; peer = mad_peer_context(peer)) {
    if (mad_peer_status(peer) != MAD_ERR_CLOSED && !MPIDI_MAD_find_gpid(peer, &gpid))
      MPIDI_MAD_recognize(peer);
  }
}

/* Clients come and go: what is kept of one that is gone, and of no communicator any more, is given
 * back. */
static void release_gone(void) {
  mad_peer *peer = MPIDI_MAD_global.gone, *next, *kept = NULL;
  uint64_t gpid;

  MPIDI_MAD_global.release = false;
  for (; peer; peer = next) {
    next = mad_peer_context(peer);
    if (MPIDI_MAD_find_gpid(peer, &gpid)) {
      mad_peer_set_context(peer, kept);
      kept = peer;
    } else {
      (void)mad_peer_release(MPIDI_MAD_global.engine, peer);
    }
  }
  MPIDI_MAD_global.gone = kept;
}

/* An error if a message from `source` cannot come any more.  One death suffices to end "any
 * source", since the message may have been the dead process's; a process that left in good order
 * owes nothing. */
static int source_error(int source, MPIR_Comm* comm) {
  int status;

  if (source >= 0) return MPIDI_MAD_rank_error(source, comm);
  for (int rank = 0; rank < comm->remote_size; rank++) {
    status = MPIDI_MAD_status(comm, rank);
    if (status < 0 && status != MAD_ERR_CLOSED) return MPIDI_MAD_failed_error(rank, comm, status);
  }
  return MPI_SUCCESS;
}

static void withdraw_if_failed(void* context, mad_receive* receive, mad_op* op) {
  MPIR_Request** failed = context;
  MPIR_Request* rreq = op->context;
  int error = source_error(MPIDIG_REQUEST(rreq, u.recv.source), rreq->comm);

  if (error == MPI_SUCCESS || !MPIDI_MAD_withdraw(rreq)) return;
  rreq->status.MPI_ERROR = error;
  DL_APPEND(*failed, rreq);
}

/* Their ends come when all were looked at: with the last request of a communicator its attributes
 * are deleted, by functions of the program's. */
static void sweep_receives(void) {
  MPIR_Request *failed = NULL, *rreq, *next;

  (void)mad_tagged_each(MPIDI_MAD_global.engine, withdraw_if_failed, &failed);
  DL_FOREACH_SAFE(failed, rreq, next) {
    DL_DELETE(failed, rreq);
    MPIDI_MAD_fail_receive(rreq, rreq->status.MPI_ERROR);
  }
}

/* Receives of partitioned communication whose partner has not shown up.  They stay in their list,
 * which every later start of theirs comes to an end in. */
static void sweep_partitioned(void) {
  MPIR_Request* rreq;

  DL_FOREACH(MPIDI_global.part_posted_list, rreq) {
    int error = MPIR_Part_request_is_active(rreq) && !MPIR_Request_is_complete(rreq)
                    ? source_error(MPIDI_PART_REQUEST(rreq, u.recv.source), rreq->comm)
                    : MPI_SUCCESS;
    if (error) MPIDI_MAD_end_partitioned(rreq, error);
  }
}

void MPIDI_MAD_sweep(void) {
  MPIDI_MAD_global.sweep = false;
  if (MPIDI_MAD_global.release && MPIDI_MAD_global.unlocated > 0) MPIDI_MAD_recognize_gone();
  MPIDI_MAD_keep_watch();
  sweep_receives();
  sweep_partitioned();
  MPIDI_MAD_release_locks_of_gone();
  if (MPIDI_MAD_global.release) release_gone();
}

void MPIDI_MAD_touch(mad_peer* peer) {
  if (mad_peer_status(peer) == MAD_SUCCESS && mad_peer_touch(MPIDI_MAD_global.engine, peer) < 0)
    MPIDI_MAD_global.sweep = true;
}

/* Processes of another world are in no ring of ours. */
static void touch_foreigner(MPIR_Comm* comm, int rank) {
  int index, table;

  MPIDIU_comm_rank_to_pid(comm, rank, &index, &table);
  if (table != 0) MPIDI_MAD_touch(MPIDI_MAD_peer(comm, rank));
}

static void touch_source(int source, MPIR_Comm* comm) {
  int touches = MPL_MIN(comm->remote_size, TOUCHES_AT_ONCE);

  if (source >= 0) {
    MPIDI_MAD_touch(MPIDI_MAD_peer(comm, source));
    return;
  }
  MPIDI_MAD_watch();
  for (int i = 0; i < touches; i++)
    touch_foreigner(comm, (MPIDI_MAD_global.touch_cursor + i) % comm->remote_size);
}

static void touch_awaited_by(void* context, mad_receive* receive, mad_op* op) {
  MPIR_Request* rreq = op->context;

  touch_source(MPIDIG_REQUEST(rreq, u.recv.source), rreq->comm);
}

void MPIDI_MAD_touch_awaited(void) {
  MPIR_Request* rreq;

  (void)mad_tagged_each(MPIDI_MAD_global.engine, touch_awaited_by, NULL);
  DL_FOREACH(MPIDI_global.part_posted_list, rreq) {
    if (MPIR_Part_request_is_active(rreq))
      touch_source(MPIDI_PART_REQUEST(rreq, u.recv.source), rreq->comm);
  }
  MPIDI_MAD_global.probe_touches = TOUCHES_AT_ONCE;
  MPIDI_MAD_global.touch_cursor = (MPIDI_MAD_global.touch_cursor + TOUCHES_AT_ONCE) % (1 << 30);
}

int MPIDI_MAD_probe_missed(int source, MPIR_Comm* comm) {
  int mpi_errno = MPI_SUCCESS;

  if (likely(MPIDI_MAD_global.gone_peers == 0 && MPIDI_MAD_global.probe_touches == 0))
    return MPI_SUCCESS;
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  if (MPIDI_MAD_global.probe_touches > 0) {
    MPIDI_MAD_global.probe_touches--;
    touch_source(source, comm);
  }
  mpi_errno = source_error(source, comm);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
}
