/* mad_far.h: what origin (mad_far.c, mad_atomic.c) and target (mad_serve.c, mad_apply.c) of
 * operations by messages share. */
#ifndef MAD_FAR_H_INCLUDED
#define MAD_FAR_H_INCLUDED

#include "mad_window.h"

/* Layouts of a window that have a number at each of two processes, the number of a layout that is
 * for its operation alone, and the bytes of a description at most. */
enum { MPIDI_MAD_LAYOUTS = 16, MPIDI_MAD_LAYOUT_ONCE = 17, MPIDI_MAD_MOST_DESCRIBED = 4096 };

/* Bytes of a piece of an atomic operation at most: in a header with its description, or behind it;
 * and how many of an origin's a target may have that are not done. */
enum {
  MPIDI_MAD_MOST_ATOMIC_HEADER = 16 * 1024,
  MPIDI_MAD_MOST_PIECE = 64 * 1024,
  MPIDI_MAD_MOST_OWED = 512 * 1024
};

typedef struct MPIDI_MAD_far {
  struct MPIDI_MAD_far *next, *prev; /* of all windows and ranks */
  MPIR_Win* win;
  int rank;
  mad_peer* peer; /* NULL: gone */

  /* It as a target. */
  uint32_t pending;    /* operations that are not complete */
  uint32_t unanswered; /* puts and accumulates that it has not said it took */
  MPIR_cc_t* local;    /* MPICH's counter of them */
  mad_type* sent[MPIDI_MAD_LAYOUTS];
  unsigned next_sent;               /* whose number is given to another */
  struct MPIDI_MAD_update* waiting; /* atomic operations, of which not all is under way, in order */
  uint64_t owed;                    /* bytes of those that are under way and not done */

  /* It as an origin. */
  uint32_t serving;                  /* its operations that are not complete here */
  uint32_t taken, refused;           /* puts and accumulates, since it was told of them */
  uint32_t done;                     /* bytes of accumulates, likewise */
  bool part_refused;                 /* a piece of the accumulate that is coming in */
  struct MPIDI_MAD_arrival* arrived; /* pieces that wait for data, of theirs or of one before */
  uint64_t held;                     /* bytes of these */
  bool to_answer;
  struct MPIDI_MAD_far* next_to_answer;
  mad_type* known[MPIDI_MAD_LAYOUT_ONCE]; /* the last one for its operation alone */
} MPIDI_MAD_far_t;

/* The header of a put and of a get. */
typedef struct {
  uint64_t window;
  int64_t displacement; /* in the target's units */
  int64_t skip;         /* bytes from there to where the layout begins */
  int64_t count;        /* elements of the layout, or bytes */
  uint64_t request;     /* a get's, which comes back with the data */
  int32_t rank;         /* the origin's */
  uint16_t layout;      /* its number, from 1 on; 0: one run of bytes */
  uint16_t described;   /* bytes of a layout that follow, which has this number from now on; or 0 */
} MPIDI_MAD_operation_t;

typedef struct {
  MPIDI_MAD_operation_t operation;
  char layout[MPIDI_MAD_MOST_DESCRIBED];
} MPIDI_MAD_operation_header_t;

/* The header of a piece of an atomic operation, which fetches what was there or does not.  A
 * description follows, padded to 8 bytes, and the data, if they are not the payload. */
typedef struct {
  MPIDI_MAD_operation_t operation;
  uint64_t first;   /* byte of the target's data, packed, that the piece begins with */
  uint32_t bytes;   /* of it: whole elements */
  uint32_t element; /* an MPI_Datatype, predefined */
  uint32_t op;      /* an MPI_Op, predefined; MPI_OP_NULL: compare and swap */
  uint16_t begins;  /* 1: with this one its operation begins */
  uint16_t more;    /* 1: another piece of it follows */
} MPIDI_MAD_atomic_header_t;

/* Data of a piece of so many bytes: none for MPI_NO_OP; to compare and swap the new and the
 * compared ones. */
static inline uint32_t MPIDI_MAD_data_bytes(uint32_t op, uint32_t bytes) {
  switch ((MPI_Op)op) {
    case MPI_NO_OP:
      return 0;
    case MPI_OP_NULL:
      return 2 * bytes;
    default:
      return bytes;
  }
}

/* What it counts for of what is under way; of one that fetches in proportion to its bytes, since an
 * answer may be one to a part of it. */
static inline uint32_t MPIDI_MAD_piece_bytes(uint32_t op, uint32_t bytes, bool fetches) {
  return MPIDI_MAD_data_bytes(op, bytes) +
         (fetches ? bytes : (uint32_t)sizeof(MPIDI_MAD_atomic_header_t));
}

/* The answer to one that fetches, or to a part of it, which what was there follows. */
typedef struct {
  uint64_t request;
  uint32_t bytes;   /* of those that were asked for and are not here the next ones */
  uint32_t refused; /* 1: and nothing follows */
} MPIDI_MAD_fetched_t;

typedef struct {
  MPIDI_MAD_fetched_t fetched;
  char data[MPIDI_MAD_MOST_ATOMIC_HEADER];
} MPIDI_MAD_fetched_message_t;

static inline size_t MPIDI_MAD_padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

typedef struct {
  uint64_t window;
  int32_t rank; /* the target's */
  uint32_t taken, refused;
  uint32_t done; /* bytes of accumulates */
} MPIDI_MAD_answer_t;

typedef struct {
  uint64_t request;
  uint64_t refused; /* 1: and there are no data */
} MPIDI_MAD_got_t;

/* What is kept of a rank, from now on; NULL: no memory. */
MPIDI_MAD_far_t* MPIDI_MAD_far_of(MPIR_Win* win, int rank, mad_peer* peer);

/* A request of ours about a rank, complete after `parts` calls of MPID_Request_complete(); NULL:
 * there are none.  `of_program`: the program gets it, too. */
MPIR_Request* MPIDI_MAD_far_request(MPIR_Win* win, int rank, uint8_t handler, int parts,
                                    bool of_program);

static inline mad_op* MPIDI_MAD_op_of(MPIR_Request* request, MPIDI_MAD_slot_t* slot) {
  mad_op* op = (mad_op*)slot;

  op->context = request;
  op->group = request->u.rma.win->comm_ptr->context_id;
  return op;
}

static inline MPIDI_MAD_far_t* MPIDI_MAD_far_of_request(const MPIR_Request* request) {
  return request->u.rma.win->dev.netmod.mad.members[MPIDIG_REQUEST(request, u.origin.target_rank)]
      .far;
}

/* mad_far.c: an operation to the target begins, or so many have ended, for MPICH's counters. */
void MPIDI_MAD_far_begin(MPIDI_MAD_far_t* far);
void MPIDI_MAD_far_end(MPIDI_MAD_far_t* far, uint32_t operations);
/* What the window's next synchronisation returns. */
void MPIDI_MAD_note_trouble(MPIR_Win* win, int error);
int MPIDI_MAD_range_error(void);
/* The layout's number at the target, and its description in `room` bytes if the target has none
 * yet.  False: there is no room for it. */
bool MPIDI_MAD_name_layout(MPIDI_MAD_far_t* far, mad_type* type, MPIDI_MAD_operation_t* operation,
                           void* description, size_t room);
/* The operation was not sent, hence the target has not the layout that is described in it. */
void MPIDI_MAD_unname_layout(MPIDI_MAD_far_t* far, const MPIDI_MAD_operation_t* operation);

/* Whether the layout has a number at the target, or a description of at most `room` bytes. */
bool MPIDI_MAD_can_name(const MPIDI_MAD_far_t* far, const mad_type* type, size_t room);
/* mad_atomic.c: what the target of an atomic operation fetched. */
const char* MPIDI_MAD_fetched_came(mad_peer* from, const MPIDI_MAD_fetched_t* fetched,
                                   size_t header_bytes);
/* As many of those that wait as may be under way. */
void MPIDI_MAD_send_updates(MPIDI_MAD_far_t* far);
/* Its message has left, or could not; its target is gone. */
void MPIDI_MAD_update_sent(MPIR_Request* request, int status);
void MPIDI_MAD_update_failed(MPIR_Request* request, int error);
void MPIDI_MAD_updates_gone(MPIDI_MAD_far_t* far, int error);

/* mad_far.c, mad_serve.c and mad_apply.c: a message came; what is wrong with it, as the end of "it
 * sent ...", or NULL. */
const char* MPIDI_MAD_data_came(mad_peer* from, const MPIDI_MAD_got_t* got, uint64_t payload_bytes,
                                mad_incoming* incoming);
const char* MPIDI_MAD_answer_came(mad_peer* from, const MPIDI_MAD_answer_t* answer);
const char* MPIDI_MAD_operation_came(mad_peer* from, int handler,
                                     const MPIDI_MAD_operation_t* operation, size_t header_bytes,
                                     uint64_t payload_bytes, mad_incoming* incoming);
const char* MPIDI_MAD_atomic_came(mad_peer* from, int handler,
                                  const MPIDI_MAD_atomic_header_t* header, size_t header_bytes,
                                  uint64_t payload_bytes, mad_incoming* incoming);
/* A piece that waited for its payload has it, or never will. */
void MPIDI_MAD_piece_came(MPIR_Request* request, int status);
/* mad_serve.c: the origin is told what was done, once a turn. */
void MPIDI_MAD_answer_later(MPIDI_MAD_far_t* far);
/* Where in the window an operation is; false: not in it. */
bool MPIDI_MAD_find_target(const MPIR_Win* win, const MPIDI_MAD_operation_t* operation,
                           const mad_type* type, MPIDI_MAD_layout_t* out);
/* The layout that it names, which may be described with it; NULL, or what is wrong. */
const char* MPIDI_MAD_find_layout(MPIDI_MAD_far_t* far, const MPIDI_MAD_operation_t* operation,
                                  const void* description, mad_type** type);
/* A get or a put that waited for its data has them, or never will. */
void MPIDI_MAD_finish_get(MPIR_Request* request, int error);
void MPIDI_MAD_put_taken(MPIR_Request* request, int status);
/* The path of a window's messages. */
mad_path MPIDI_MAD_far_path(MPIR_Win* win);

#endif /* MAD_FAR_H_INCLUDED */
