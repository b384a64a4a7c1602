/* mad_remote.c: windows whose memory the fabric puts to and gets from, without their targets.
 *
 * Where a fabric can, as those of RDMA devices, each member shares its memory on it when the window
 * is made, and tells all others how it is reached.  Windows that lie in one node and have their
 * memory shared there need no fabric; dynamic ones have no memory yet.
 */
#include "mad_window.h"

/* Bytes that all have access to; 0: none are to be shared. */
static MPI_Aint bytes_of(const MPIR_Win* win) {
  return MPIR_CVAR_CH4_MAD_SHARED_WINDOWS && win->base != NULL ? win->size : 0;
}

/* What of it cannot be shared, for lack of a fabric or of memory that may be locked, is reached by
 * messages. */
static MPIDI_MAD_remote_t share(MPIR_Win* win) {
  MPIDI_MAD_remote_t mine = {.bytes = bytes_of(win), .unit = win->disp_unit};
  int status;

  if (mine.bytes == 0) return mine;
  status = mad_region_share(MPIDI_MAD_global.engine, win->base, (size_t)mine.bytes,
                            &win->dev.netmod.mad.region);
  if (status == MAD_SUCCESS)
    mad_region_get_key(win->dev.netmod.mad.region, &mine.key);
  else if (status < 0 && MPIDI_MAD_global.verbose)
    fprintf(stderr, "ch4:mad: puts and gets in its windows are messages: %s\n", mad_last_error());
  return mine;
}

static bool is_reached(const MPIDI_MAD_remote_t* remote) { return remote->key.fabric[0] != '\0'; }

static bool any_reached(const MPIDI_MAD_remote_t* remotes, int members) {
  for (int rank = 0; rank < members; rank++)
    if (is_reached(&remotes[rank])) return true;
  return false;
}

int MPIDI_MAD_share_memory(MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  const int members = win->comm_ptr->local_size;
  MPIR_Errflag_t errflag = MPIR_ERR_NONE;
  MPIDI_MAD_remote_t mine;
  MPIDI_MAD_remote_t* remotes = NULL;

  if (MPIDI_MAD_words_of(win)) return MPI_SUCCESS; /* as on all of it */
  remotes = MPL_calloc(members, sizeof(*remotes), MPL_MEM_RMA);
  MPIR_ERR_CHKANDJUMP(remotes == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  mine = share(win);
  mpi_errno = MPIR_Allgather(&mine, sizeof(mine), MPI_BYTE, remotes, sizeof(mine), MPI_BYTE,
                             win->comm_ptr, &errflag);
  MPIR_ERR_CHECK(mpi_errno);
  if (!any_reached(remotes, members)) goto fn_fail;
  win->dev.netmod.mad.remotes = remotes;

fn_exit:
  return mpi_errno;
fn_fail: /* also without an error: messages then */
  MPL_free(remotes);
  goto fn_exit;
}

void MPIDI_MAD_unshare_memory(MPIR_Win* win) {
  mad_region_unshare(MPIDI_MAD_global.engine, win->dev.netmod.mad.region);
  MPL_free(win->dev.netmod.mad.remotes);
  win->dev.netmod.mad.region = NULL;
  win->dev.netmod.mad.remotes = NULL;
}

const MPIDI_MAD_remote_t* MPIDI_MAD_remote_of(const MPIR_Win* win, int rank, MPI_Aint displacement,
                                              MPI_Aint skip, uint64_t bytes, uint64_t* offset) {
  const MPIDI_MAD_remote_t* remotes = win->dev.netmod.mad.remotes;
  MPI_Aint first;

  if (remotes == NULL || !is_reached(&remotes[rank])) return NULL;
  if (__builtin_mul_overflow(displacement, (MPI_Aint)remotes[rank].unit, &first) ||
      __builtin_add_overflow(first, skip, &first) || first < 0 || first > remotes[rank].bytes ||
      bytes > (uint64_t)(remotes[rank].bytes - first))
    return NULL; /* for the target to say */
  *offset = (uint64_t)first;
  return &remotes[rank];
}
