/* mad_core.h: what the .c files of the netmod share; MPICH's core never sees it.
 *
 * The netmod is glue.  It translates MPICH's objects into libmad's (a rank into a peer, a datatype
 * into a type, a communicator into a path) and libmad's callbacks into MPICH's.  It decides nothing
 * about layouts or packets.  Everything here runs inside MPICH's critical section, but for what
 * MPI_Pack has it do (mad_pack.h).
 */
#ifndef MAD_CORE_H_INCLUDED
#define MAD_CORE_H_INCLUDED

#include <mad.h>
/* Before mad_impl.h: it includes the netmod's inline headers, which need all of MPICH's. */
#include <mpidimpl.h>

#include "mad_impl.h"
#include "mad_noinline.h"

/* Calls that hold no VCI's lock use what others change: types of few fields, boards. */
#if MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__VCI || \
    MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__LOCKFREE
#error "ch4:mad needs MPICH's one critical section: configure with --enable-thread-cs=global"
#endif

/* Handlers of the netmod's own messages; MPICH's are below MPIDI_AM_HANDLERS_MAX. */
enum {
  MPIDI_MAD_HANDLER_ACCUMULATE = 244,
  MPIDI_MAD_HANDLER_FETCH = 245,
  MPIDI_MAD_HANDLER_FETCHED = 246,
  MPIDI_MAD_HANDLER_PUT = 247,
  MPIDI_MAD_HANDLER_TAKEN = 248,
  MPIDI_MAD_HANDLER_GET = 249,
  MPIDI_MAD_HANDLER_GOT = 250,
  MPIDI_MAD_HANDLER_WATCH = 251,
  MPIDI_MAD_HANDLER_DYNAMIC = 252,
  MPIDI_MAD_HANDLER_FINALIZE = 253
};

typedef struct {
  mad_engine* engine;    /* NULL outside init .. finalize */
  char open_error[512];  /* why there is none though there should be */
  mad_path default_path; /* what the control variable says */
  bool verbose;          /* MAD_VERBOSE is set */
  bool check_types;      /* what the control variable says */
  bool connected;        /* the world's start-up data is exchanged */
  bool other_worlds;     /* there are processes that the closing barrier does not wait for */

  /* Where the ranks of the world are (mad_address.c). */
  mad_modex* modex;
  int unlocated;   /* ranks that were not looked for */
  int why_nowhere; /* the last error of looking for one */

  /* The switch (mad_switch.c). */
  int keyval;
  uint32_t generation; /* advanced by every change of an attribute of ours */

  /* Failures (mad_failure.c, mad_watch.c, mad_answers.c, mad_locks.c). */
  int gone_peers;
  bool sweep;        /* receives have to be checked against peers that are gone */
  mad_peer* gone;    /* peers that are gone and not released, linked by their contexts */
  bool release;      /* some of them may be named no more */
  int probe_touches; /* probes that may contact their source, since the last idle second */
  int touch_cursor;  /* rank that the next touching of "any source" starts from */
  bool watching;     /* this process is one of the world's ring of watchers */
  int watched;       /* rank of the world that it watches, or its own: nobody else is left */
  MPIR_Request* unacknowledged;         /* one-sided operations */
  struct MPIDI_MAD_question* questions; /* headers whose answer is not yet here */
  struct MPIDI_MAD_grant* grants;       /* locks of our windows that others hold */

  /* One-sided operations by messages (mad_far.c). */
  struct MPIDI_MAD_far* far;       /* all other members of windows that took part in one */
  struct MPIDI_MAD_far* to_answer; /* those whose puts were taken in this turn of progress */

  /* Memory of other processes, and the wait of a flush or an unlock (mad_kernel.c). */
  struct MPIDI_MAD_memory* memories;
  int64_t waits_since; /* of when polls were empty for a while; 0: there is none */

  /* Back-off (mad_progress.c). */
  bool outnumbered;     /* more ranks than cores on this node */
  bool crowded;         /* or others run on them now */
  bool tells_core;      /* to the others of this node (mad_cores.c) */
  uint32_t empty_polls; /* of all time */
  int64_t shared_until; /* others were noticed on our core a little earlier */
  int64_t shared_for;   /* the last time */
  uint32_t idle_polls;  /* since something happened */
  int64_t idle_since;   /* 0: not idle for long */
  int64_t last_idle;    /* end of the last empty poll, where crowded */

  uint32_t finalize_rounds;     /* bit k: round k's message of the closing barrier is here */
  struct MPIDI_MAD_note* notes; /* messages between processes that are being connected */
  mad_peer* acceptor;           /* who has yet to answer our request to be connected, else NULL */
  int32_t requests;             /* of ours to be connected, so far: the number of the last one */
  int32_t request_taken; /* the number of the one that we took last, which is answered next */
} MPIDI_MAD_global_t;

extern MPIDI_MAD_global_t MPIDI_MAD_global;

/* A wait that is short so far (waits_since). */
#define MPIDI_MAD_SHORT_WAIT (-1)

#define MPIDI_MAD_AM(req) (&(req)->dev.ch4.am.netmod_am.mad)
#define MPIDI_MAD_AV(av) (&(av)->netmod.mad)
#define MPIDI_MAD_COMM(comm) (&(comm)->dev.ch4.netmod.mad)

/* mad_address.c: looks for a rank of the world that is not located.  NULL: it is not found, and
 * MPIDI_MAD_global.why_nowhere says why. */
mad_peer* MPIDI_MAD_locate(MPIDI_av_entry_t* av);

static inline mad_peer* MPIDI_MAD_peer_at(MPIDI_av_entry_t* av) {
  mad_peer* peer = MPIDI_MAD_AV(av)->peer;
  return likely(peer) ? peer : MPIDI_MAD_locate(av);
}

/* Waits for a request of MPIC_Isend() or MPIC_Irecv(), and frees it; its error. */
static inline int MPIDI_MAD_finish(MPIR_Request* request, MPIR_Errflag_t* errflag) {
  const int waited = MPIC_Wait(request, errflag);
  const int mpi_errno = waited ? waited : request->status.MPI_ERROR;

  MPIR_Request_free(request);
  return mpi_errno;
}

/* The communicator of a node that has the same processes; NULL: they are of several nodes. */
static inline MPIR_Comm* MPIDI_MAD_whole_node(MPIR_Comm* comm) {
  MPIR_Comm* const node =
      comm->hierarchy_kind == MPIR_COMM_HIERARCHY_KIND__NODE ? comm : comm->node_comm;
  return node != NULL && node->local_size == comm->local_size ? node : NULL;
}

/* NULL: as MPIDI_MAD_locate(). */
static inline mad_peer* MPIDI_MAD_peer(MPIR_Comm* comm, int rank) {
  return MPIDI_MAD_peer_at(MPIDIU_comm_rank_to_av(comm, rank));
}

/* How it went with a rank; one that was never looked for is alive as far as we know. */
static inline int MPIDI_MAD_status_at(MPIDI_av_entry_t* av) {
  const mad_peer* peer = MPIDI_MAD_AV(av)->peer;
  return peer ? mad_peer_status(peer) : MAD_SUCCESS;
}
static inline int MPIDI_MAD_status(MPIR_Comm* comm, int rank) {
  return MPIDI_MAD_status_at(MPIDIU_comm_rank_to_av(comm, rank));
}

/* mad_am.c, mad_recv.c, mad_failure.c: the engine's callbacks. */
void MPIDI_MAD_on_sent(void* context, mad_op* op, int status);
void MPIDI_MAD_on_message(void* context, mad_peer* from, uint8_t handler, void* header,
                          size_t header_bytes, uint64_t payload_bytes, mad_incoming* incoming);
/* All `*bytes` of a message are here: in `buffer`, from where they go to where the receive wants
 * them, or, if that is NULL, there.  An error if the message is of another type. */
int MPIDI_MAD_check_received(MPIR_Request* rreq, void* buffer, MPI_Aint* bytes);
void MPIDI_MAD_on_received(void* context, mad_op* op, uint64_t bytes, int status);
/* A request's error for what libmad says of its data; the end of the job if those of a one-sided
 * operation are not what was sent. */
int MPIDI_MAD_receive_error(MPIR_Request* rreq, int status);
void MPIDI_MAD_on_peer_gone(void* context, mad_peer* peer, int status, const char* why);

/* mad_pt2pt.c */
void MPIDI_MAD_on_tagged(void* context, mad_op* op, const mad_arrival* arrival, int status);
void MPIDI_MAD_send_done(MPIR_Request* sreq, int status);
/* Whether a receive waited for its message, and is to wait no more. */
bool MPIDI_MAD_withdraw(MPIR_Request* rreq);
/* Ends a receive that was withdrawn. */
void MPIDI_MAD_fail_receive(MPIR_Request* rreq, int error);

/* mad_types.c: a buffer as libmad sees it.  `type` is NULL for one run of bytes. */
typedef struct {
  void* base;
  uint64_t count;
  const mad_type* type;
  uint64_t bytes;
} MPIDI_MAD_layout_t;
int MPIDI_MAD_layout(const void* buf, MPI_Aint count, MPI_Datatype datatype,
                     MPIDI_MAD_layout_t* out);

/* memcpy(), of short words without a call. */
static inline void MPIDI_MAD_copy_run(const void* from, void* to, size_t bytes) {
  switch (bytes) { /* the compiler makes one load and one store of each of these */
    case 1:
      memcpy(to, from, 1);
      break;
    case 2:
      memcpy(to, from, 2);
      break;
    case 4:
      memcpy(to, from, 4);
      break;
    case 8:
      memcpy(to, from, 8);
      break;
    default:
      memcpy(to, from, bytes);
  }
}

/* mad_am.c: what MPICH does without us, one buffer of the whole message, which the layout is then.
 */
int MPIDI_MAD_pack_whole(const void* data, MPI_Aint count, MPI_Datatype datatype,
                         MPIDI_MAD_layout_t* layout, void** buffer);

#define MPIDI_MAD_DT(dt) (&(dt)->dev.netmod.mad)
static inline bool MPIDI_MAD_is_compiled(const MPIR_Datatype* datatype) {
  return __atomic_load_n(&MPIDI_MAD_DT(datatype)->seal, __ATOMIC_ACQUIRE) ==
         (const void*)MPIDI_MAD_DT(datatype);
}

/* mad_types.c: the compiled layout of a type, made now if this is its first use. */
int MPIDI_MAD_type_of(MPIR_Datatype* datatype, mad_type** out);
/* Payload that libmad's engine packed, unpacked or copied for MPICH within this process. */
extern uint64_t MPIDI_MAD_local_bytes;
/* What MPICH does without us, on a communicator's path "off". */
int MPIDI_MAD_pack_by_mpich(const void* buf, MPI_Aint count, MPI_Datatype datatype, void* packed,
                            MPI_Aint room, MPI_Aint* bytes);
int MPIDI_MAD_unpack_by_mpich(const void* packed, MPI_Aint size, void* buf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Aint* bytes);
/* A struct or list of few fields, of which nothing is compiled before it is needed (mad_struct.c).
 */
static inline bool MPIDI_MAD_has_fields(const MPIR_Datatype* datatype) {
  return MPIDI_MAD_DT(datatype)->fields == (const void*)MPIDI_MAD_DT(datatype);
}

/* mad_fields.c: short messages of such data are copied field by field (MPIDI_MAD_by_fields()). */
enum { MPIDI_MAD_FIELDS = 64, MPIDI_MAD_FIELDS_BYTES = 1024 };
int MPIDI_MAD_pack_fields(const void* buf, MPI_Aint count, MPI_Datatype datatype, void* packed,
                          MPI_Aint* bytes);
/* Packs elements of a type whose fields are of basic types, which cannot fail.  A mad_writer. */
typedef struct {
  const void* buf;
  MPI_Aint count;
  const MPIR_Datatype* datatype;
} MPIDI_MAD_elements_t;
void MPIDI_MAD_write_fields(const void* elements, void* packed);
/* As many fields as `bytes` have. */
int MPIDI_MAD_unpack_fields(const void* packed, MPI_Aint bytes, void* buf, MPI_Aint count,
                            MPI_Datatype datatype);
/* mad_struct.c: a type is freed; the memory of lists is given back. */
void MPIDI_MAD_free_fields(MPIR_Datatype* datatype);
void MPIDI_MAD_struct_finalize(void);
/* mad_check.c: the description of a basic type, which keeps the reference; libmad's status. */
int MPIDI_MAD_basic_type(MPI_Datatype handle, mad_type** type);
/* A datatype of any sort with the kinds of its elements; NULL: nothing is known of them.  The
 * datatype keeps the reference. */
mad_type* MPIDI_MAD_kinds_of(MPI_Datatype handle);
/* Whether a message on its way out is to have a note of its type, and that. */
bool MPIDI_MAD_note(MPIR_Comm* comm, int context_offset, int tag, MPI_Aint count,
                    MPI_Datatype datatype, uint64_t note[2]);
/* An error if a message with a note is not of the type that its receive wants; a collective
 * operation's is told at its end. */
int MPIDI_MAD_check_types(MPIR_Request* rreq, const mad_arrival* arrival);
void MPIDI_MAD_check_init(void);
void MPIDI_MAD_check_finalize(void);
/* mad_translate.c: describes a type; a new reference. */
int MPIDI_MAD_translate(MPIR_Datatype* datatype, mad_type** out);

/* mad_piggyback.c: whether any message may take a value along, and whether anybody may want to be
 * told of each message; neither ends before the process. */
extern bool MPIDI_MAD_values_carried, MPIDI_MAD_values_wanted;
/* What a message on its way out takes along, if anything; `room` is for MPIX_MAD_PIGGYBACK_MAX
 * bytes. */
int MPIDI_MAD_read_value(MPIR_Comm* comm, int context_offset, void* room, mad_extension* out);
/* A message's receive, whose status is set, is about to be complete. */
void MPIDI_MAD_value_came(MPIR_Comm* comm, const mad_arrival* arrival, MPI_Status* status);
/* A probe found a message with a value; the status is set. */
void MPIDI_MAD_value_of_probe(const mad_arrival* arrival, MPI_Status* status);
void MPIDI_MAD_piggyback_comm_free(MPIR_Comm* comm);
void MPIDI_MAD_piggyback_finalize(void);

/* mad_switch.c */
/* The communicator that a user's handle is. */
int MPIDI_MAD_get_comm(MPI_Comm handle, MPIR_Comm** comm);
/* Whether the communicator's hint has messages of collective operations take values along: 1, 0, or
 * -1 for no such hint. */
int MPIDI_MAD_collectives_hint(const MPIR_Comm* comm);
int MPIDI_MAD_switch_init(void);
void MPIDI_MAD_switch_finalize(void);
void MPIDI_MAD_comm_init(MPIR_Comm* comm);
void MPIDI_MAD_comm_hints(MPIR_Comm* comm, MPIR_Info* info);
extern int MPIDI_MAD_path_hint; /* its place among a communicator's hints */
/* What a communicator's attribute says, if it has one of ours; as MPIDI_MAD_comm_path(). */
int MPIDI_MAD_attribute_path(MPIR_Comm* comm, mad_path* path);
/* The path in effect; comm NULL: the default.  Fails, with the default in *path, if the attribute's
 * value names none. */
static inline int MPIDI_MAD_comm_path(MPIR_Comm* comm, mad_path* path) {
  *path = MPIDI_MAD_global.default_path;
  if (comm == NULL) return MPI_SUCCESS;
  if (comm->hints[MPIDI_MAD_path_hint] >= 0) *path = (mad_path)comm->hints[MPIDI_MAD_path_hint];
  return likely(comm->attributes == NULL) ? MPI_SUCCESS : MPIDI_MAD_attribute_path(comm, path);
}
/* To the communicators of nodes that MPICH's collective operations use inside. */
void MPIDI_MAD_pass_hints_on(MPIR_Comm* comm);
/* Whether the communicator's hint wants types checked: 1, 0, or -1 for no such hint. */
int MPIDI_MAD_check_hint(const MPIR_Comm* comm);

/* mad_errors.c */
int MPIDI_MAD_error(int status);
/* Of communication with a rank; below 0: which one is not known. */
int MPIDI_MAD_peer_error(int status, int rank, MPIR_Comm* comm);
/* Of a request on its way to a rank, or from one. */
int MPIDI_MAD_request_error(MPIR_Request* req, int status);
/* Who is on the other side of a request; *comm NULL: not known. */
void MPIDI_MAD_partner(MPIR_Request* req, int* rank, MPIR_Comm** comm);
/* For a process that is gone; `status` says how it went. */
int MPIDI_MAD_failed_error(int rank, MPIR_Comm* comm, int status);
/* An error if the process is known to be gone. */
int MPIDI_MAD_rank_error(int rank, MPIR_Comm* comm);

/* mad_answers.c */
void MPIDI_MAD_await_acknowledgement(MPIR_Request* sreq, mad_peer* peer);
void MPIDI_MAD_forget_acknowledgement(MPIR_Request* sreq);
/* The header has left, or could not, as its receiver is `gone` or for another reason.  Both return
 * what is to be returned to who sent it. */
int MPIDI_MAD_asked(mad_peer* peer, int rank, int handler_id, const void* am_hdr);
int MPIDI_MAD_not_asked(int rank, bool gone, int handler_id, const void* am_hdr, int error);
/* Whether this answer of the peer is awaited. */
bool MPIDI_MAD_is_asked(const mad_peer* peer, int answer, uint64_t subject);
/* A message is here, which may be an answer. */
void MPIDI_MAD_answered(mad_peer* peer, int handler_id, const void* am_hdr);
/* The peer is gone. */
void MPIDI_MAD_fail_unacknowledged(const mad_peer* peer, int status);
void MPIDI_MAD_answer_questions(const mad_peer* peer, int status);
void MPIDI_MAD_end_partitioned(MPIR_Request* request, int error);

/* mad_far.c: a message of operations on windows; what is wrong with it, as mad_headers.c has it. */
const char* MPIDI_MAD_far_message(mad_peer* from, int handler, const void* header,
                                  size_t header_bytes, uint64_t payload_bytes,
                                  mad_incoming* incoming);
void MPIDI_MAD_far_sent(MPIR_Request* request, int status);
void MPIDI_MAD_far_received(MPIR_Request* request, int status);
/* Its target is gone, and with it the data that the request waits for. */
void MPIDI_MAD_far_failed(MPIR_Request* request, int error);
void MPIDI_MAD_far_gone(const mad_peer* peer, int status);
/* mad_serve.c: tells origins what was taken of theirs, once a turn of progress. */
void MPIDI_MAD_answer_puts(void);
/* mad_apply.c: gives back the memory that it kept. */
void MPIDI_MAD_apply_finalize(void);
/* mad_kernel.c: of other processes. */
void MPIDI_MAD_close_memories(void);

/* mad_headers.c: what is wrong with the header of an active message of MPICH's, as the end of "it
 * sent ..."; NULL: MPICH may read it.  An answer that was right once is not so again. */
const char* MPIDI_MAD_wrong_header(const mad_peer* from, int handler, const void* header,
                                   size_t header_bytes, uint64_t payload_bytes);
/* The window, if the peer is its member of that rank; else NULL. */
MPIR_Win* MPIDI_MAD_window_of(uint64_t win_id, int64_t rank, const mad_peer* peer);
/* Whether it is a one-sided operation of ours, begun by such a message, whose end is up to this
 * peer. */
bool MPIDI_MAD_waits_for(const MPIR_Request* request, const mad_peer* peer, int begun_by);

/* mad_locks.c */
void MPIDI_MAD_lock_granted(mad_peer* peer, int rank, uint64_t win_id);
bool MPIDI_MAD_holds_lock(const mad_peer* peer, uint64_t win_id);
void MPIDI_MAD_lock_returned(const mad_peer* peer, uint64_t win_id);
void MPIDI_MAD_release_locks_of_gone(void);

/* mad_failure.c */
void MPIDI_MAD_recognize_gone(void);
void MPIDI_MAD_sweep(void);
/* A probe found nothing: an error if nothing can come any more. */
int MPIDI_MAD_probe_missed(int source, MPIR_Comm* comm);
/* Makes sure that a process that is not known to be gone is noticed when it dies. */
void MPIDI_MAD_touch(mad_peer* peer);
void MPIDI_MAD_touch_awaited(void);

/* mad_watch.c */
/* From now on the deaths of all ranks of the world are heard of. */
void MPIDI_MAD_watch(void);
/* Some rank is gone: it may be the watched one. */
void MPIDI_MAD_keep_watch(void);
typedef struct {
  int32_t dead; /* rank to look at; negative: watch the next rank, no more */
  int32_t hops; /* ranks that are still to hear of it */
} MPIDI_MAD_word_t;
void MPIDI_MAD_watch_message(const MPIDI_MAD_word_t* word);

/* mad_win.c: a message of one-sided synchronisation that a process which is gone would have sent.
 */
void MPIDI_MAD_window_message(int handler_id, MPIDIG_win_cntrl_msg_t* message);
/* A post or a complete came. */
void MPIDI_MAD_member_spoke(int handler_id, const MPIDIG_win_cntrl_msg_t* message);

/* mad_address.c, mad_dynamic.c, mad_pvars.c, mad_progress.c */
/* Random, and the same for all processes of this node; collective over them. */
int MPIDI_MAD_common_secret(uint64_t* secret);
int MPIDI_MAD_exchange_addresses(void);
/* A peer that came to us may be a rank of the world that was not looked for: then it is located. */
void MPIDI_MAD_recognize(mad_peer* peer);
void MPIDI_MAD_forget_addresses(void);
void MPIDI_MAD_closing_barrier(void);
void MPIDI_MAD_dynamic_message(mad_peer* from, const void* header, size_t header_bytes);
/* Nobody answers the dead. */
void MPIDI_MAD_forget_notes(const mad_peer* peer);
/* What a note between processes that are being connected begins with: the port's tag, and the
 * number of the request, of its sender's, that it is, answers or takes back. */
typedef struct {
  int32_t tag, request;
} MPIDI_MAD_note_header_t;
/* Whether a process of any communicator is this peer. */
bool MPIDI_MAD_find_gpid(const mad_peer* peer, uint64_t* gpid);
void MPIDI_MAD_dynamic_finalize(void);
void MPIDI_MAD_pvars_init(void);
void MPIDI_MAD_pvars_finalize(void);
void MPIDI_MAD_progress_init(void);

/* mad_cores.c: moves this process to another core if one of its node is on this one and there is
 * one for each.  For the start; */
void MPIDI_MAD_cores_init(void);
/* and now and then, with whether others had the core of late. */
void MPIDI_MAD_mind_core(bool was_taken);

int64_t MPIDI_MAD_nanoseconds(void);
/* For one that waits for what others do without a message: the next poll may give way to others,
 * and does not sleep. */
void MPIDI_MAD_stay_awake(void);

#endif /* MAD_CORE_H_INCLUDED */
