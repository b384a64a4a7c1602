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

/* ---- posts and completes ----
 *
 * MPICH counts what came from anybody.  One who is ahead may have posted the next epoch, to another
 * group, while a member of this one's is still missing: its post would stand for the missing one,
 * or be one too many for ever.  So each rank's are counted here, and MPICH sees a full number.
 */

typedef MPIDI_MAD_member_t member_t;

typedef enum { POSTS, COMPLETES } kind_t;

static unsigned* count_of(MPIR_Win* win, int rank, kind_t kind) {
  member_t* member = &win->dev.netmod.mad.members[rank];

  return kind == POSTS ? &member->posts : &member->completes;
}

void MPIDI_MAD_member_spoke(int handler_id, const MPIDIG_win_cntrl_msg_t* message) {
  MPIR_Win* win = MPIDIU_map_lookup(MPIDI_global.win_map, message->win_id);

  ++*count_of(win, message->origin_rank, handler_id == MPIDIG_WIN_POST ? POSTS : COMPLETES);
}

static bool all_spoke(MPIR_Win* win, const int* ranks, int size, kind_t kind) {
  for (int i = 0; i < size; i++)
    if (*count_of(win, ranks[i], kind) == 0) return false;
  return true;
}

/* One of each member is for this epoch, and MPICH's count is complete. */
static void take(MPIR_Win* win, const int* ranks, int size, kind_t kind) {
  for (int i = 0; i < size; i++) --*count_of(win, ranks[i], kind);
  if (kind == POSTS)
    MPIDIG_WIN(win, sync).pw.count = size;
  else
    MPIDIG_WIN(win, sync).sc.count = size;
}

static int await_members(MPIR_Win* win, MPIR_Group* group, kind_t kind) {
  int mpi_errno = MPI_SUCCESS, error = MPI_SUCCESS;
  int* ranks = NULL;

  mpi_errno = ranks_of(win, group, &ranks);
  MPIR_ERR_CHECK(mpi_errno);
  for (int i = 0; i < group->size; i++) /* so that a death is noticed */
    (void)mad_peer_touch(MPIDI_MAD_global.engine, MPIDI_MAD_peer(win->comm_ptr, ranks[i]));
  MPIDIU_PROGRESS_WHILE(!all_spoke(win, ranks, group->size, kind) &&
                            (error = member_error(win, ranks, group->size)) == MPI_SUCCESS,
                        0);
  mpi_errno = error;
  if (mpi_errno == MPI_SUCCESS) take(win, ranks, group->size, kind);

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
    mpi_errno = await_members(win, group, POSTS);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
}

int MPIDI_MAD_await_completes(MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  if (MPIDIG_WIN(win, sync).exposure_epoch_type == MPIDIG_EPOTYPE_POST)
    mpi_errno = await_members(win, MPIDIG_WIN(win, sync).pw.group, COMPLETES);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
}

int MPIDI_MAD_look_for_completes(MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Group* group = MPIDIG_WIN(win, sync).pw.group;
  int* ranks = NULL;

  if (MPIDIG_WIN(win, sync).exposure_epoch_type != MPIDIG_EPOTYPE_POST) return MPI_SUCCESS;
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  mpi_errno = ranks_of(win, group, &ranks);
  if (mpi_errno == MPI_SUCCESS) {
    if (all_spoke(win, ranks, group->size, COMPLETES))
      take(win, ranks, group->size, COMPLETES);
    else
      mpi_errno = member_error(win, ranks, group->size);
  }
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  MPL_free(ranks);
  return mpi_errno;
}

void MPIDI_MAD_window_message(int handler_id, MPIDIG_win_cntrl_msg_t* message) {
  if (MPIDIU_map_lookup(MPIDI_global.win_map, message->win_id) != MPIDIU_MAP_NOT_FOUND)
    MPIDIG_global.target_msg_cbs[handler_id](message, NULL, 0, 0, NULL);
}

/* Before the barrier that ends the window's creation, so before anybody posts. */
static int make_members(MPIR_Win* win) {
  win->dev.netmod.mad.trouble = MPI_SUCCESS;
  win->dev.netmod.mad.members =
      MPL_calloc(win->comm_ptr->local_size, sizeof(member_t), MPL_MEM_RMA);
  if (win->dev.netmod.mad.members) return MPI_SUCCESS;
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_NO_MEM,
                              "**nomem", 0);
}

static int share_with_members(MPIR_Win* win) {
  const int mpi_errno = make_members(win);

  return (mpi_errno == MPI_SUCCESS) ? MPIDI_MAD_share_window(win) : mpi_errno;
}

int MPIDI_MAD_mpi_win_create_hook(MPIR_Win* win) { return make_members(win); }

int MPIDI_MAD_mpi_win_allocate_hook(MPIR_Win* win) { return share_with_members(win); }

int MPIDI_MAD_mpi_win_allocate_shared_hook(MPIR_Win* win) { return share_with_members(win); }

int MPIDI_MAD_mpi_win_create_dynamic_hook(MPIR_Win* win) { return make_members(win); }

int MPIDI_MAD_mpi_win_attach_hook(MPIR_Win* win, void* base, MPI_Aint size) { return MPI_SUCCESS; }

int MPIDI_MAD_mpi_win_detach_hook(MPIR_Win* win, const void* base) { return MPI_SUCCESS; }

int MPIDI_MAD_mpi_win_free_hook(MPIR_Win* win) {
  /* Also of a window that could not be made, before its hook was called: of what was before. */
  if (win->dev.netmod.mad.members) MPIDI_MAD_far_free(win);
  MPL_free(win->dev.netmod.mad.members);
  win->dev.netmod.mad.members = NULL;
  return MPIDI_MAD_unshare_window(win);
}

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
