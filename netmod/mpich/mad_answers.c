/* mad_answers.c: what waits for an answer that a dead process will not give.
 *
 * The engine completes its own operations when a peer is gone, synchronous sends among them.  It
 * cannot know of one-sided operations that wait for an acknowledgement, nor of headers that ask for
 * another message; they are kept here until the answer comes, or their peer is gone.
 */
#include "mad_far.h"
#include "utlist.h"

/* ---- one-sided operations ---- */

void MPIDI_MAD_await_acknowledgement(MPIR_Request* sreq, mad_peer* peer) {
  MPIDI_MAD_AM(sreq)->acknowledger = peer;
  DL_APPEND(MPIDI_MAD_global.unacknowledged, sreq);
}

void MPIDI_MAD_forget_acknowledgement(MPIR_Request* sreq) {
  if (MPIDI_MAD_AM(sreq)->acknowledger) {
    DL_DELETE(MPIDI_MAD_global.unacknowledged, sreq);
    MPIDI_MAD_AM(sreq)->acknowledger = NULL;
  }
}

void MPIDI_MAD_fail_unacknowledged(const mad_peer* peer, int status) {
  MPIR_Request *sreq, *next;

  DL_FOREACH_SAFE(MPIDI_MAD_global.unacknowledged, sreq, next) {
    MPIR_Comm* comm;
    int rank;

    if (MPIDI_MAD_AM(sreq)->acknowledger != peer) continue;
    MPIDI_MAD_partner(sreq, &rank, &comm);
    MPIDI_MAD_forget_acknowledgement(sreq);
    MPIDI_MAD_far_failed(sreq, MPIDI_MAD_failed_error(rank, comm, status));
  }
}

/* ---- headers that ask for another message ---- */

/* Locks of windows have no request that could end with an error; partitioned communication has one
 * that is not in any list while it waits for its partner. */
typedef struct MPIDI_MAD_question {
  struct MPIDI_MAD_question *next, *prev;
  mad_peer* peer;
  int rank;
  int answer;       /* the handler that it comes with */
  uint64_t subject; /* the window's id, or the address of the partitioned request */
} question_t;

static int ask(mad_peer* peer, int rank, int answer, uint64_t subject) {
  question_t* question = MPL_malloc(sizeof(*question), MPL_MEM_OTHER);

  if (!question)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_NO_MEM, "**nomem", 0);
  question->peer = peer;
  question->rank = rank;
  question->answer = answer;
  question->subject = subject;
  DL_PREPEND(MPIDI_MAD_global.questions, question);
  return MPI_SUCCESS;
}

static int answer_to(int handler_id) {
  switch (handler_id) {
    case MPIDIG_WIN_LOCK:
      return MPIDIG_WIN_LOCK_ACK;
    case MPIDIG_WIN_LOCKALL:
      return MPIDIG_WIN_LOCKALL_ACK;
    case MPIDIG_WIN_UNLOCK:
    case MPIDIG_WIN_UNLOCKALL:
      return MPIDIG_WIN_UNLOCK_ACK;
    case MPIDIG_PART_CTS:
      return MPIDIG_PART_SEND_DATA;
    default:
      return -1;
  }
}

int MPIDI_MAD_asked(mad_peer* peer, int rank, int handler_id, const void* am_hdr) {
  int answer = answer_to(handler_id);

  if (likely(answer < 0)) return MPI_SUCCESS;
  return ask(peer, rank, answer,
             (handler_id == MPIDIG_PART_CTS)
                 ? (uintptr_t)((const MPIDIG_part_cts_msg_t*)am_hdr)->rreq_ptr
                 : ((const MPIDIG_win_cntrl_msg_t*)am_hdr)->win_id);
}

/* This round of a partitioned request ends without data: its partner is gone, or there is none. */
void MPIDI_MAD_end_partitioned(MPIR_Request* request, int error) {
  request->status.MPI_ERROR = error;
  MPIR_cc_set(request->cc_ptr, 0);
  /* As many parts are missing as before the round; what is made ready late does no harm. */
  if (request->kind == MPIR_REQUEST_KIND__PART_SEND)
    MPIR_cc_set(&MPIDIG_PART_REQUEST(request, u.send).ready_cntr, request->u.part.partitions + 1);
  /* Waits look again only when this moves; the end of an ordinary request moves it. */
  MPL_atomic_relaxed_store_int(&MPIDI_VCI(0).progress_count,
                               MPL_atomic_relaxed_load_int(&MPIDI_VCI(0).progress_count) + 1);
}

/* What MPICH tells the members of a window one after the other: one who is gone must not keep the
 * others from hearing it, who wait for it.  The window's next synchronisation reports the error. */
static void pass_over(int rank, int handler_id, const MPIDIG_win_cntrl_msg_t* message, int error) {
  MPIR_Win* win = MPIDIU_map_lookup(MPIDI_global.win_map, message->win_id);
  const int answer = answer_to(handler_id);
  MPIDIG_win_cntrl_msg_t answer_header = {.win_id = message->win_id, .origin_rank = (uint32_t)rank};

  MPIDI_MAD_note_trouble(win, error);
  if (answer >= 0) MPIDI_MAD_window_message(answer, &answer_header);
}

int MPIDI_MAD_not_asked(int rank, bool gone, int handler_id, const void* am_hdr, int error) {
  switch (handler_id) {
    case MPIDIG_PART_CTS:
      MPIDI_MAD_end_partitioned(((const MPIDIG_part_cts_msg_t*)am_hdr)->rreq_ptr, error);
      return error;
    case MPIDIG_WIN_POST:
    case MPIDIG_WIN_COMPLETE:
    case MPIDIG_WIN_LOCKALL:
    case MPIDIG_WIN_UNLOCKALL:
    case MPIDIG_WIN_UNLOCK:
      if (!gone) return error; /* it may be told yet */
      pass_over(rank, handler_id, am_hdr, error);
      return MPI_SUCCESS;
    default:
      return error;
  }
}

static bool has_partner(MPIR_Request* request) {
  return (request->kind == MPIR_REQUEST_KIND__PART_SEND
              ? MPIDI_PART_REQUEST(request, u.send.dest)
              : MPIDI_PART_REQUEST(request, u.recv.source)) != MPI_PROC_NULL;
}

/* A round with nobody is over as it begins. */
static int end_round(MPIR_Request* request) {
  MPIR_Status_set_procnull(&request->status);
  MPIDI_MAD_end_partitioned(request, MPI_SUCCESS);
  return MPI_SUCCESS;
}

/* A send waits for its receiver's clearance, unless that came before the start: then the counter of
 * what is missing says so. */
int MPIDI_MAD_part_started(MPIR_Request* request) {
  int mpi_errno = MPI_SUCCESS, error, rank;

  if (unlikely(!has_partner(request))) return end_round(request);
  if (request->kind != MPIR_REQUEST_KIND__PART_SEND) return MPI_SUCCESS;
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  rank = MPIDI_PART_REQUEST(request, u.send.dest);
  error = MPIDI_MAD_rank_error(rank, request->comm);
  if (error)
    MPIDI_MAD_end_partitioned(request, error);
  else if (MPIR_cc_get(MPIDIG_PART_REQUEST(request, u.send).ready_cntr) >
           request->u.part.partitions) {
    mad_peer* peer = MPIDI_MAD_peer(request->comm, rank);
    mpi_errno =
        peer ? ask(peer, rank, MPIDIG_PART_CTS, (uintptr_t)request) : MPIDI_MAD_global.why_nowhere;
  }
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
}

static question_t* find_question(const mad_peer* peer, int answer, uint64_t subject) {
  question_t* question;

  DL_FOREACH(MPIDI_MAD_global.questions, question) {
    if (question->peer == peer && question->answer == answer && question->subject == subject) break;
  }
  return question;
}

bool MPIDI_MAD_is_asked(const mad_peer* peer, int answer, uint64_t subject) {
  return find_question(peer, answer, subject) != NULL;
}

static void forget_question(const mad_peer* peer, int answer, uint64_t subject) {
  question_t* question = find_question(peer, answer, subject);

  if (!question) return;
  DL_DELETE(MPIDI_MAD_global.questions, question);
  MPL_free(question);
}

void MPIDI_MAD_answered(mad_peer* peer, int handler_id, const void* am_hdr) {
  switch (handler_id) {
    case MPIDIG_PART_CTS:
      forget_question(peer, handler_id,
                      (uintptr_t)((const MPIDIG_part_cts_msg_t*)am_hdr)->sreq_ptr);
      break;
    case MPIDIG_PART_SEND_DATA:
      forget_question(peer, handler_id,
                      (uintptr_t)((const MPIDIG_part_send_data_msg_t*)am_hdr)->rreq_ptr);
      break;
    case MPIDIG_WIN_LOCK_ACK:
    case MPIDIG_WIN_LOCKALL_ACK:
    case MPIDIG_WIN_UNLOCK_ACK:
      forget_question(peer, handler_id, ((const MPIDIG_win_cntrl_msg_t*)am_hdr)->win_id);
      break;
    default:
      break;
  }
}

/* Answers for the dead where a window is concerned: MPICH waits for nothing else, and has no way to
 * be told of an error.  What the window is used for next reports it. */
void MPIDI_MAD_answer_questions(const mad_peer* peer, int status) {
  question_t *question, *next;

  DL_FOREACH_SAFE(MPIDI_MAD_global.questions, question, next) {
    question_t asked = *question;

    if (asked.peer != peer) continue;
    DL_DELETE(MPIDI_MAD_global.questions, question);
    MPL_free(question);
    if (asked.answer == MPIDIG_PART_SEND_DATA || asked.answer == MPIDIG_PART_CTS) {
      MPIR_Request* request = (MPIR_Request*)(uintptr_t)asked.subject;
      MPIDI_MAD_end_partitioned(request, MPIDI_MAD_failed_error(asked.rank, request->comm, status));
    } else {
      MPIDIG_win_cntrl_msg_t answer = {.win_id = asked.subject,
                                       .origin_rank = (uint32_t)asked.rank};
      MPIDI_MAD_window_message(asked.answer, &answer);
    }
  }
}
