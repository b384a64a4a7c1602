/* mad_impl.h: the functions that the netmod's inline headers forward to.
 *
 * Nothing here depends on libmad.  What is behind these functions may change without rebuilding
 * MPICH's core; the signatures are those of MPICH's MPIDI_NM_* functions.
 */
#ifndef MAD_IMPL_H_INCLUDED
#define MAD_IMPL_H_INCLUDED

#include <mpidimpl.h>

#include "ch4_impl.h"
#include "mpidch4r.h"

int MPIDI_MAD_progress(int vci);

int MPIDI_MAD_am_isend(int rank, MPIR_Comm* comm, int handler_id, const void* am_hdr,
                       MPI_Aint am_hdr_sz, const void* data, MPI_Aint count, MPI_Datatype datatype,
                       MPIR_Request* sreq);
/* A reply answers a message of that rank: when the rank is gone nobody misses it. */
int MPIDI_MAD_am_send_hdr(int rank, MPIR_Comm* comm, int handler_id, const void* am_hdr,
                          MPI_Aint am_hdr_sz, bool reply);
MPI_Aint MPIDI_MAD_am_hdr_max_sz(void);

/* `synchronous`: the request ends when the message has its receive.  `errflag`: what a collective
 * operation has to say of itself. */
int MPIDI_MAD_isend(const void* buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                    MPIR_Comm* comm, int context_offset, MPIDI_av_entry_t* addr, bool synchronous,
                    MPIR_Errflag_t errflag, MPIR_Request** request);
int MPIDI_MAD_irecv(void* buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                    MPIR_Comm* comm, int context_offset, MPIR_Request** request);
int MPIDI_MAD_imrecv(void* buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request* message);
int MPIDI_MAD_cancel_recv(MPIR_Request* rreq);
/* Those that find nothing fail if nothing can come any more. */
int MPIDI_MAD_iprobe(int source, int tag, MPIR_Comm* comm, int context_offset, int* flag,
                     MPI_Status* status);
int MPIDI_MAD_improbe(int source, int tag, MPIR_Comm* comm, int context_offset, int* flag,
                      MPIR_Request** message, MPI_Status* status);

/* Whether any communicator's types may be checked.  A blocking collective operation whose messages
 * say of what type it is is known to its communicator from begin to end; the end returns the
 * operation's error, or that its types do not match. */
extern bool MPIDI_MAD_types_checked;
#define MPIDI_MAD_TYPE_TEXT 64
typedef struct {
  int source; /* of the message, or below 0: the types match */
  char sent[MPIDI_MAD_TYPE_TEXT], wanted[MPIDI_MAD_TYPE_TEXT];
} MPIDI_MAD_mismatch_t;
typedef struct MPIDI_MAD_collective {
  MPIR_Comm* comm;
  struct MPIDI_MAD_collective* outer;
  struct mad_type* type; /* NULL: they do not say it */
  uint64_t count;
  MPIDI_MAD_mismatch_t mismatch; /* the first */
} MPIDI_MAD_collective_t;
void MPIDI_MAD_collective_begin(MPIR_Comm* comm, MPI_Aint count, MPI_Datatype datatype,
                                MPIDI_MAD_collective_t* collective);
/* What this rank sends itself in it, which MPICH copies. */
void MPIDI_MAD_collective_own(MPIDI_MAD_collective_t* collective, MPI_Aint sendcount,
                              MPI_Datatype sendtype, MPI_Aint recvcount, MPI_Datatype recvtype);
int MPIDI_MAD_collective_end(MPIDI_MAD_collective_t* collective, int mpi_errno);

/* What a neighbourhood collective operation sends or receives: of neighbour n `counts[n]` elements
 * of `types[n]`, from `base` plus `apart` bytes times `displs[n]` on. */
typedef struct {
  char* base;
  const MPI_Aint* displs; /* NULL: n */
  MPI_Aint apart;
  const MPI_Aint* counts; /* NULL: `count` */
  MPI_Aint count;
  const MPI_Datatype* types; /* NULL: `type` */
  MPI_Datatype type;
} MPIDI_MAD_blocks_t;
/* Returns when all is sent and received; the first error, if there are any. */
int MPIDI_MAD_neighbor_exchange(const MPIDI_MAD_blocks_t* out, const MPIDI_MAD_blocks_t* in,
                                MPIR_Comm* comm);

/* A partitioned request is started. */
int MPIDI_MAD_part_started(MPIR_Request* request);

/* MPICH calls this when it has the place for a message that is here. */
int MPIDI_MAD_am_ready(MPIR_Request* rreq);

void MPIDI_MAD_am_request_init(MPIR_Request* req);
void MPIDI_MAD_am_request_finalize(MPIR_Request* req);

int MPIDI_MAD_comm_get_gpid(MPIR_Comm* comm, int idx, uint64_t* gpid, bool is_remote);

#endif /* MAD_IMPL_H_INCLUDED */
