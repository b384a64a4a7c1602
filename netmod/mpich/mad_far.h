/* mad_far.h: what origin (mad_far.c) and target (mad_serve.c) of operations by messages share. */
#ifndef MAD_FAR_H_INCLUDED
#define MAD_FAR_H_INCLUDED

#include "mad_window.h"

/* Layouts of a window that have a number at each of two processes, and the bytes of a longer
 * description than which MPICH's active messages take. */
enum { MPIDI_MAD_LAYOUTS = 16, MPIDI_MAD_MOST_DESCRIBED = 4096 };

typedef struct MPIDI_MAD_far {
  struct MPIDI_MAD_far *next, *prev; /* of all windows and ranks */
  MPIR_Win* win;
  int rank;
  mad_peer* peer; /* NULL: gone */

  /* It as a target. */
  uint32_t pending;    /* operations that are not complete */
  uint32_t unanswered; /* puts of these that it has not said it took */
  MPIR_cc_t* local;    /* MPICH's counter of them */
  mad_type* sent[MPIDI_MAD_LAYOUTS];
  unsigned next_sent; /* whose number is given to another */

  /* It as an origin. */
  uint32_t serving;        /* its operations that are not complete here */
  uint32_t taken, refused; /* puts, since it was told of them */
  bool to_answer;
  struct MPIDI_MAD_far* next_to_answer;
  mad_type* known[MPIDI_MAD_LAYOUTS];
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

typedef struct {
  uint64_t window;
  int32_t rank; /* the target's */
  uint32_t taken, refused;
  uint32_t unused;
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

/* mad_far.c and mad_serve.c: a message came; what is wrong with it, as the end of "it sent ...", or
 * NULL. */
const char* MPIDI_MAD_data_came(mad_peer* from, const MPIDI_MAD_got_t* got, uint64_t payload_bytes,
                                mad_incoming* incoming);
const char* MPIDI_MAD_answer_came(mad_peer* from, const MPIDI_MAD_answer_t* answer);
const char* MPIDI_MAD_operation_came(mad_peer* from, int handler,
                                     const MPIDI_MAD_operation_t* operation, size_t header_bytes,
                                     uint64_t payload_bytes, mad_incoming* incoming);
/* A get or a put that waited for its data has them, or never will. */
void MPIDI_MAD_finish_get(MPIR_Request* request, int error);
void MPIDI_MAD_put_taken(MPIR_Request* request, int status);
/* The path of a window's messages. */
mad_path MPIDI_MAD_far_path(MPIR_Win* win);

#endif /* MAD_FAR_H_INCLUDED */
