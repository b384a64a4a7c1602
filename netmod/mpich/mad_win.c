/* mad_win.c: windows are MPICH's generic ones; here are its hooks and its waits for groups.
 *
 * MPICH counts the posts and completes of a group's members and knows no end but their full number.
 * So we wait before it does, and give up when a member is gone.
 */
#include "mad_window.h"

/* The members' ranks in the window; the caller frees them. */
static int ranks_of(MPIR_Win* win, MPIR_Group* group, int** ranks) {
  *ranks = MPL_malloc(MPL_MAX(group->size, 1) * sizeof(int), MPL_MEM_RMA);
  if (!*ranks)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_NO_MEM, "**nomem", 0);
  return MPIDIG_fill_ranks_in_win_grp(win, group, *ranks);
}

static int member_error(MPIR_Win* win, const int* ranks, int size) {
  int mpi_errno = MPI_SUCCESS;

  if (likely(MPIDI_MAD_global.gone_peers == 0)) return MPI_SUCCESS;
  for (int i = 0; i < size && mpi_errno == MPI_SUCCESS; i++)
    mpi_errno = MPIDI_MAD_rank_error(ranks[i], win->comm_ptr);
  return mpi_errno;
}

static int await_members(MPIR_Win* win, MPIR_Group* group, const volatile unsigned* count) {
  int mpi_errno = MPI_SUCCESS, error = MPI_SUCCESS;
  int* ranks = NULL;

  mpi_errno = ranks_of(win, group, &ranks);
  MPIR_ERR_CHECK(mpi_errno);
  for (int i = 0; i < group->size; i++) /* so that a death is noticed */
    (void)mad_peer_touch(MPIDI_MAD_global.engine, MPIDI_MAD_peer(win->comm_ptr, ranks[i]));
  MPIDIU_PROGRESS_WHILE(
      (int)*count != group->size && (error = member_error(win, ranks, group->size)) == MPI_SUCCESS,
      0);
  mpi_errno = error;

fn_exit:
  MPL_free(ranks);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* What is wrong with the call is MPICH's to say, hence nothing is waited for then. */
int MPIDI_MAD_await_posts(MPIR_Group* group, int mode, MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  int epoch = MPIDIG_WIN(win, sync).access_epoch_type;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  if (!(mode & MPI_MODE_NOCHECK) &&
      (epoch == MPIDIG_EPOTYPE_NONE || epoch == MPIDIG_EPOTYPE_REFENCE))
    mpi_errno = await_members(win, group, &MPIDIG_WIN(win, sync).pw.count);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
}

int MPIDI_MAD_await_completes(MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  if (MPIDIG_WIN(win, sync).exposure_epoch_type == MPIDIG_EPOTYPE_POST)
    mpi_errno = await_members(win, MPIDIG_WIN(win, sync).pw.group, &MPIDIG_WIN(win, sync).sc.count);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
}

int MPIDI_MAD_completes_missed(MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Group* group = MPIDIG_WIN(win, sync).pw.group;
  int* ranks = NULL;

  if (likely(MPIDI_MAD_global.gone_peers == 0 || group == NULL)) return MPI_SUCCESS;
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  /* The last of them may have come since MPICH looked. */
  if ((int)MPIDIG_WIN(win, sync).sc.count != group->size) {
    mpi_errno = ranks_of(win, group, &ranks);
    if (mpi_errno == MPI_SUCCESS) mpi_errno = member_error(win, ranks, group->size);
  }
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  MPL_free(ranks);
  return mpi_errno;
}

void MPIDI_MAD_window_message(int handler_id, MPIDIG_win_cntrl_msg_t* message) {
  if (MPIDIU_map_lookup(MPIDI_global.win_map, message->win_id) != MPIDIU_MAP_NOT_FOUND)
    MPIDIG_global.target_msg_cbs[handler_id](message, NULL, 0, 0, NULL);
}

int MPIDI_MAD_mpi_win_create_hook(MPIR_Win* win) { return MPI_SUCCESS; }

int MPIDI_MAD_mpi_win_allocate_hook(MPIR_Win* win) { return MPIDI_MAD_share_window(win); }

int MPIDI_MAD_mpi_win_allocate_shared_hook(MPIR_Win* win) { return MPIDI_MAD_share_window(win); }

int MPIDI_MAD_mpi_win_create_dynamic_hook(MPIR_Win* win) { return MPI_SUCCESS; }

int MPIDI_MAD_mpi_win_attach_hook(MPIR_Win* win, void* base, MPI_Aint size) { return MPI_SUCCESS; }

int MPIDI_MAD_mpi_win_detach_hook(MPIR_Win* win, const void* base) { return MPI_SUCCESS; }

int MPIDI_MAD_mpi_win_free_hook(MPIR_Win* win) { return MPIDI_MAD_unshare_window(win); }

int MPIDI_MAD_mpi_win_set_info(MPIR_Win* win, MPIR_Info* info) {
  return MPIDIG_mpi_win_set_info(win, info);
}

int MPIDI_MAD_mpi_win_get_info(MPIR_Win* win, MPIR_Info** info) {
  return MPIDIG_mpi_win_get_info(win, info);
}

int MPIDI_MAD_mpi_win_free(MPIR_Win** win) { return MPIDIG_mpi_win_free(win); }

int MPIDI_MAD_mpi_win_create(void* base, MPI_Aint length, int disp_unit, MPIR_Info* info,
                             MPIR_Comm* comm, MPIR_Win** win) {
  return MPIDIG_mpi_win_create(base, length, disp_unit, info, comm, win);
}

int MPIDI_MAD_mpi_win_attach(MPIR_Win* win, void* base, MPI_Aint size) {
  return MPIDIG_mpi_win_attach(win, base, size);
}

int MPIDI_MAD_mpi_win_detach(MPIR_Win* win, const void* base) {
  return MPIDIG_mpi_win_detach(win, base);
}

int MPIDI_MAD_mpi_win_allocate_shared(MPI_Aint size, int disp_unit, MPIR_Info* info,
                                      MPIR_Comm* comm, void** base, MPIR_Win** win) {
  return MPIDIG_mpi_win_allocate_shared(size, disp_unit, info, comm, base, win);
}

int MPIDI_MAD_mpi_win_allocate(MPI_Aint size, int disp_unit, MPIR_Info* info, MPIR_Comm* comm,
                               void* base, MPIR_Win** win) {
  return MPIDIG_mpi_win_allocate(size, disp_unit, info, comm, base, win);
}

int MPIDI_MAD_mpi_win_create_dynamic(MPIR_Info* info, MPIR_Comm* comm, MPIR_Win** win) {
  return MPIDIG_mpi_win_create_dynamic(info, comm, win);
}
