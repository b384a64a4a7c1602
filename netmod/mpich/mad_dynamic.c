/* mad_dynamic.c: processes that meet at run time (MPI_Comm_connect, MPI_Comm_accept,
 * MPI_Comm_spawn).
 *
 * A process is known to others by its engine's address, its "upid"; the engine gives the same peer
 * for the same address, so peers tell whether a process is known already.  Before there is a
 * communicator the two roots exchange short notes with a tag (the port's), which wait here until
 * somebody asks for them.  Who has waited for an answer as long as it would takes its request back,
 * by a note of nothing, so that nobody accepts it afterwards; if that crosses the answer, the one
 * who accepted waits for a process that does not come.  Requests have numbers, so that such an
 * answer is not taken for that of the next one.
 */
#include "mad_core.h"

typedef MPIDI_MAD_note_header_t header_t;

typedef struct MPIDI_MAD_note {
  struct MPIDI_MAD_note* next;
  mad_peer* from;
  header_t header;
  size_t size;
  char content[];
} note_t;

int MPIDI_MAD_get_local_upids(MPIR_Comm* comm, int** sizes_out, char** upids_out) {
  int mpi_errno = MPI_SUCCESS;
  int* sizes = MPL_malloc(comm->local_size * sizeof(int), MPL_MEM_ADDRESS);
  char* upids = MPL_malloc((size_t)comm->local_size * MAD_ADDRESS_MAX, MPL_MEM_ADDRESS);
  char* end = upids;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIR_ERR_CHKANDJUMP(!sizes || !upids, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  for (int i = 0; i < comm->local_size; i++) {
    size_t size = MAD_ADDRESS_MAX;
    const mad_peer* peer = MPIDI_MAD_peer(comm, i);
    int status;
    if (!peer) {
      mpi_errno = MPIDI_MAD_global.why_nowhere;
      goto fn_fail;
    }
    status = mad_peer_address(peer, end, &size);
    if (status < 0) {
      mpi_errno = MPIDI_MAD_error(status);
      goto fn_fail;
    }
    sizes[i] = (int)size;
    end += size;
  }
  *sizes_out = sizes;
  *upids_out = upids;

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  MPL_free(sizes);
  MPL_free(upids);
  goto fn_exit;
}

bool MPIDI_MAD_find_gpid(const mad_peer* peer, uint64_t* gpid) {
  for (int avtid = 0; avtid < MPIDIU_get_n_avts(); avtid++) {
    MPIDI_av_table_t* table = MPIDIU_get_av_table(avtid);
    for (int lpid = 0; table && lpid < table->size; lpid++) {
      if (MPIDI_MAD_AV(&table->table[lpid])->peer == peer) {
        *gpid = MPIDIU_GPID_CREATE(avtid, lpid);
        return true;
      }
    }
  }
  return false;
}

/* Finds the processes that are known; the others become a new table. */
static int peers_to_gpids(int size, mad_peer** peers, uint64_t* gpids) {
  int mpi_errno = MPI_SUCCESS;
  int avtid, strangers = 0;
  int* places = MPL_malloc(size * sizeof(int), MPL_MEM_ADDRESS);

  MPIR_ERR_CHKANDJUMP(!places, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  for (int i = 0; i < size; i++) {
    if (MPIDI_MAD_find_gpid(peers[i], &gpids[i])) continue;
    MPIDI_MAD_recognize(peers[i]);
    if (!MPIDI_MAD_find_gpid(peers[i], &gpids[i])) places[strangers++] = i;
  }
  if (strangers > 0) {
    MPIDI_MAD_global.other_worlds = true;
    mpi_errno = MPIDIU_new_avt(strangers, &avtid);
    MPIR_ERR_CHECK(mpi_errno);
    for (int lpid = 0; lpid < strangers; lpid++) {
      MPIDI_MAD_AV(&MPIDIU_get_av(avtid, lpid))->peer = peers[places[lpid]];
      gpids[places[lpid]] = MPIDIU_GPID_CREATE(avtid, lpid);
    }
  }

fn_exit:
  MPL_free(places);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* What is no address at all was a port's name, which people type. */
static int no_peer(int status) {
  if (status != MAD_ERR_ARGUMENT) return MPIDI_MAD_error(status);
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_PORT,
                              "**mad", "**mad %s", mad_last_error());
}

int MPIDI_MAD_upids_to_gpids(int size, int* upid_sizes, char* upids, uint64_t* gpids) {
  int mpi_errno = MPI_SUCCESS;
  mad_peer** peers = MPL_malloc(size * sizeof(mad_peer*), MPL_MEM_ADDRESS);
  const char* upid = upids;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIR_ERR_CHKANDJUMP(!peers, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  for (int i = 0; i < size; i++) {
    int status = mad_engine_peer(MPIDI_MAD_global.engine, upid, upid_sizes[i], &peers[i]);
    if (status < 0) {
      mpi_errno = no_peer(status);
      goto fn_fail;
    }
    upid += upid_sizes[i];
  }
  mpi_errno = peers_to_gpids(size, peers, gpids);
  MPIR_ERR_CHECK(mpi_errno);

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  MPL_free(peers);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* A request to be connected carries its sender's address, an answer only a context id. */
static bool is_request(size_t size) { return size > sizeof(MPIR_Context_id_t); }

int MPIDI_MAD_dynamic_send(uint64_t remote_gpid, int tag, const void* buf, int size, int timeout) {
  struct {
    header_t header;
    char content[MPI_MAX_PORT_NAME + 64];
  } note;
  const bool asks = is_request((size_t)size);
  mad_peer* peer;
  int status;

  MPIR_Assert(size >= 0 && (size_t)size <= sizeof(note.content));
  memcpy(note.content, buf, size);
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  note.header.tag = tag;
  note.header.request = asks ? ++MPIDI_MAD_global.requests : MPIDI_MAD_global.request_taken;
  peer = MPIDI_MAD_peer_at(
      &MPIDIU_get_av(MPIDIU_GPID_GET_AVTID(remote_gpid), MPIDIU_GPID_GET_LPID(remote_gpid)));
  status = mad_send_header(MPIDI_MAD_global.engine, peer, MPIDI_MAD_HANDLER_DYNAMIC, &note,
                           offsetof(__typeof__(note), content) + size);
  /* After a request there is one process who can answer, and whose death ends the wait. */
  MPIDI_MAD_global.acceptor = (status >= 0 && asks) ? peer : NULL;
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return status < 0 ? MPIDI_MAD_error(status) : MPI_SUCCESS;
}

static void free_note(note_t** link) {
  note_t* note = *link;

  *link = note->next;
  MPL_free(note);
}

static bool is_same(const header_t* header, const header_t* other) {
  return header->tag == other->tag && header->request == other->request;
}

/* Its request has not been taken yet, or this comes too late. */
static void withdraw(const mad_peer* from, const header_t* header) {
  note_t** link = &MPIDI_MAD_global.notes;

  while (*link) {
    if ((*link)->from == from && is_request((*link)->size) && is_same(&(*link)->header, header))
      return free_note(link);
    link = &(*link)->next;
  }
}

void MPIDI_MAD_dynamic_message(mad_peer* from, const void* header, size_t header_bytes) {
  size_t size = header_bytes - sizeof(header_t);
  note_t *note, **end = &MPIDI_MAD_global.notes;

  if (size == 0) return withdraw(from, header);
  note = MPL_malloc(sizeof(*note) + size, MPL_MEM_BUFFER);
  MPIR_Assert(note);
  note->next = NULL;
  note->from = from;
  note->size = size;
  memcpy(&note->header, header, sizeof(header_t));
  memcpy(note->content, (const char*)header + sizeof(header_t), size);
  while (*end) end = &(*end)->next;
  *end = note;
}

/* What a process waits for: an answer, if it has an acceptor, or any request. */
typedef struct {
  mad_peer* acceptor;
  header_t header; /* of its request; of any the tag */
} wanted_t;

/* Tags are each process's own, so the same one may come with a request to us, for our port, and
 * with the answer to our own request, for another's. */
static bool is_awaited(const note_t* note, const wanted_t* wanted) {
  if (wanted->acceptor == NULL)
    return is_request(note->size) && note->header.tag == wanted->header.tag;
  return !is_request(note->size) && note->from == wanted->acceptor &&
         is_same(&note->header, &wanted->header);
}

/* Takes the first that is. */
static bool take_note(const wanted_t* wanted, void* buf, size_t room) {
  note_t** link = &MPIDI_MAD_global.notes;

  while (*link && !is_awaited(*link, wanted)) link = &(*link)->next;
  if (!*link) return false;
  memcpy(buf, (*link)->content, MPL_MIN((*link)->size, room));
  if (wanted->acceptor == NULL) MPIDI_MAD_global.request_taken = (*link)->header.request;
  free_note(link);
  return true;
}

void MPIDI_MAD_forget_notes(const mad_peer* peer) {
  note_t** link = &MPIDI_MAD_global.notes;

  while (*link) {
    if ((*link)->from == peer)
      free_note(link);
    else
      link = &(*link)->next;
  }
}

/* As far as there are the acceptor and memory to tell it. */
static void take_back(const wanted_t* wanted) {
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  (void)mad_send_header(MPIDI_MAD_global.engine, wanted->acceptor, MPIDI_MAD_HANDLER_DYNAMIC,
                        &wanted->header, sizeof(wanted->header));
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
}

int MPIDI_MAD_dynamic_recv(int tag, void* buf, int size, int timeout) {
  int mpi_errno = MPI_SUCCESS;
  const wanted_t wanted = {MPIDI_MAD_global.acceptor, {tag, MPIDI_MAD_global.requests}};
  MPL_time_t start, now;
  double elapsed = 0;
  bool found = false;

  MPIDI_MAD_global.acceptor = NULL;
  MPL_wtime(&start);
  do {
    int acceptor_status;

    mpi_errno = MPID_Progress_test(NULL);
    MPIR_ERR_CHECK(mpi_errno);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    found = take_note(&wanted, buf, (size_t)size);
    acceptor_status = wanted.acceptor ? mad_peer_status(wanted.acceptor) : MAD_SUCCESS;
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    if (found) break; /* before another thread takes a request: what is answered next is this one */
    if (acceptor_status < 0) {
      mpi_errno = MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                       MPI_ERR_PORT, "**mad_failed", 0);
      goto fn_fail;
    }
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPL_wtime(&now);
    MPL_wtime_diff(&start, &now, &elapsed);
  } while (timeout == 0 || elapsed < timeout);
  MPIR_ERR_CHKANDJUMP1(!found, mpi_errno, MPI_ERR_PORT, "**mad_dynamic", "**mad_dynamic %d",
                       timeout);

fn_exit:
  return mpi_errno;
fn_fail:
  if (wanted.acceptor) take_back(&wanted);
  goto fn_exit;
}

void MPIDI_MAD_dynamic_finalize(void) {
  while (MPIDI_MAD_global.notes) free_note(&MPIDI_MAD_global.notes);
}
