/* mad_win.c: windows are MPICH's generic ones; here are its hooks, and the epochs of fences and of
 * groups.
 *
 * Where all of a window lies in one node, who arrives at a fence, posts or completes writes a word
 * that the others read.  What it put is there by then, so that words are all that an epoch needs.
 * Otherwise fences, posts and completes are MPICH's messages.  MPICH counts those of a group's
 * members and knows no end but their full number.  So we wait before it does, and give up when a
 * member is gone.
 */
#include "mad_window.h"

#define TOUCHES_AT_ONCE 4

/* The members' ranks in the window; the caller frees them. */
static int ranks_of(MPIR_Win* win, MPIR_Group* group, int** ranks) {
  *ranks = MPL_malloc(MPL_MAX(group->size, 1) * sizeof(int), MPL_MEM_RMA);
  if (!*ranks)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_NO_MEM, "**nomem", 0);
  return MPIDIG_fill_ranks_in_win_grp(win, group, *ranks);
}

/* ---- what members say ----
 *
 * MPICH counts what came from anybody.  One who is ahead may have posted the next epoch, to another
 * group, while a member of this one's is still missing: its post would stand for the missing one,
 * or be one too many for ever.  So each rank's are counted here, and MPICH sees a full number.
 */

typedef enum { FENCES, POSTS, COMPLETES } kind_t;

/* Of whom something is awaited. */
typedef struct {
  MPIR_Win* win;
  MPIDI_MAD_shared_t* shared; /* NULL: they send messages */
  kind_t kind;
  int size;
  const int* ranks; /* NULL: all of the window, by rank */
  int64_t fences;   /* that they are to arrive at */
} members_t;

static int rank_of(const members_t* members, int i) {
  return members->ranks ? members->ranks[i] : i;
}

static int64_t* count_of(MPIR_Win* win, int rank, kind_t kind) {
  MPIDI_MAD_member_t* member = &win->dev.netmod.mad.members[rank];

  return kind == POSTS ? &member->posts : &member->completes;
}

/* What one rank says to another. */
static MPL_atomic_int64_t* word_of(const MPIDI_MAD_shared_t* shared, kind_t kind, int to,
                                   int from) {
  return MPIDI_MAD_word(shared, kind == POSTS ? shared->posts : shared->completes, to, from);
}

void MPIDI_MAD_member_spoke(int handler_id, const MPIDIG_win_cntrl_msg_t* message) {
  MPIR_Win* win = MPIDIU_map_lookup(MPIDI_global.win_map, message->win_id);

  if (MPIDI_MAD_words_of(win)) return; /* nobody of us sends it */
  ++*count_of(win, message->origin_rank, handler_id == MPIDIG_WIN_POST ? POSTS : COMPLETES);
}

static bool has_spoken(const members_t* members, int rank) {
  const MPIDI_MAD_shared_t* shared = members->shared;
  MPIR_Win* win = members->win;

  if (members->kind == FENCES)
    return MPL_atomic_acquire_load_int64(&shared->targets[rank].now.fences) >= members->fences;
  if (shared == NULL) return *count_of(win, rank, members->kind) > 0;
  return MPL_atomic_acquire_load_int64(word_of(shared, members->kind, win->comm_ptr->rank, rank)) >
         *count_of(win, rank, members->kind);
}

/* The first of them from `i` on that has not spoken, or their number. */
static int find_silent(const members_t* members, int i) {
  while (i < members->size && has_spoken(members, rank_of(members, i))) i++;
  return i;
}

/* While one is missing, the end of any other may be why. */
static int member_error(const members_t* members) {
  int mpi_errno = MPI_SUCCESS;

  if (likely(MPIDI_MAD_global.gone_peers == 0)) return MPI_SUCCESS;
  for (int i = 0; i < members->size && mpi_errno == MPI_SUCCESS; i++)
    mpi_errno = MPIDI_MAD_rank_error(rank_of(members, i), members->win->comm_ptr);
  return mpi_errno;
}

/* So that a death is noticed: of those who have not spoken.  Who writes words need not be known to
 * everybody, and the first of them are waited for anyway. */
static void touch(const members_t* members) {
  MPIR_Comm* comm = members->win->comm_ptr;
  int left = members->shared ? TOUCHES_AT_ONCE : members->size;

  for (int i = find_silent(members, 0); i < members->size && left > 0;
       i = find_silent(members, i + 1)) {
    if (rank_of(members, i) == comm->rank) continue;
    MPIDI_MAD_touch(MPIDI_MAD_peer(comm, rank_of(members, i)));
    left--;
  }
}

/* Returns when all have spoken, or not all can any more. */
static int await(const members_t* members) {
  int mpi_errno = MPI_SUCCESS;
  uint32_t looks = 0;
  /* A word wakes nobody, a message does. */
  uint32_t polls = members->shared ? 0 : MPIDI_MAD_AWAKE_POLLS;

  if (members->shared == NULL) touch(members);
  for (int i = 0; (i = find_silent(members, i)) < members->size;) {
    if (members->shared && !MPIDI_MAD_global.crowded && ++looks % MPIDI_MAD_LOOKS != 0) continue;
    mpi_errno = member_error(members);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_MAD_poll_awake(&polls);
    MPIR_ERR_CHECK(mpi_errno);
    if (polls % MPIDI_MAD_TOUCH_INTERVAL == 0) touch(members);
  }
  if (polls == 0 && members->shared) mpi_errno = MPIDI_MAD_poll_sometimes();

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* ---- fences ---- */

int MPIDI_MAD_win_fence(int mode, MPIR_Win* win) {
  MPIDI_MAD_shared_t* shared = MPIDI_MAD_words_of(win);
  members_t members = {.win = win, .shared = shared, .kind = FENCES};
  int mpi_errno = MPI_SUCCESS;
  MPL_atomic_int64_t* mine;

  if (!shared) return MPIDI_MAD_or_trouble(win, MPIDIG_mpi_win_fence(mode, win));
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIDIG_FENCE_EPOCH_CHECK(win, mpi_errno, goto fn_fail);
  (void)MPIDI_MAD_complete_direct(win);
  MPIDIG_EPOCH_FENCE_EVENT(win, mode);
  /* Whatever is asserted: operations need no target, so those of the next epoch have to wait for
   * what others stored before it. */
  mine = &shared->targets[win->comm_ptr->rank].now.fences;
  members.size = shared->ranks;
  members.fences = MPL_atomic_relaxed_load_int64(mine) + 1;
  MPL_atomic_release_store_int64(mine, members.fences);
  mpi_errno = await(&members);

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* ---- groups ---- */

/* One of each member is for this epoch, and MPICH's count is complete. */
static void take(const members_t* members) {
  const int step = members->shared ? 1 : -1;

  for (int i = 0; i < members->size; i++)
    *count_of(members->win, rank_of(members, i), members->kind) += step;
  if (members->kind == POSTS)
    MPIDIG_WIN(members->win, sync).pw.count = members->size;
  else
    MPIDIG_WIN(members->win, sync).sc.count = members->size;
}

/* `waits`: until all have spoken; else it is for MPICH to see whether they have. */
static int hear(MPIR_Win* win, MPIR_Group* group, kind_t kind, bool waits) {
  int mpi_errno = MPI_SUCCESS;
  int* ranks = NULL;
  members_t members = {
      .win = win, .shared = MPIDI_MAD_words_of(win), .kind = kind, .size = group->size};

  mpi_errno = ranks_of(win, group, &ranks);
  MPIR_ERR_CHECK(mpi_errno);
  members.ranks = ranks;
  if (waits) {
    mpi_errno = await(&members);
    MPIR_ERR_CHECK(mpi_errno);
    take(&members);
  } else if (find_silent(&members, 0) == members.size) {
    take(&members);
  } else {
    if (members.shared) MPIDI_MAD_stay_awake();
    mpi_errno = member_error(&members);
  }

fn_exit:
  MPL_free(ranks);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* What is wrong with the call is MPICH's to say, hence nothing is waited for then. */
int MPIDI_MAD_win_start(MPIR_Group* group, int mode, MPIR_Win* win) {
  const int epoch = MPIDIG_WIN(win, sync).access_epoch_type;
  int mpi_errno = MPI_SUCCESS;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  if (!(mode & MPI_MODE_NOCHECK) &&
      (epoch == MPIDIG_EPOTYPE_NONE || epoch == MPIDIG_EPOTYPE_REFENCE))
    mpi_errno = hear(win, group, POSTS, true);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return (mpi_errno == MPI_SUCCESS) ? MPIDIG_mpi_win_start(group, mode, win) : mpi_errno;
}

static int hear_completes(MPIR_Win* win, bool waits) {
  int mpi_errno = MPI_SUCCESS;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  if (MPIDIG_WIN(win, sync).exposure_epoch_type == MPIDIG_EPOTYPE_POST)
    mpi_errno = hear(win, MPIDIG_WIN(win, sync).pw.group, COMPLETES, waits);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
}

int MPIDI_MAD_win_wait(MPIR_Win* win) {
  const int mpi_errno = hear_completes(win, true);

  return (mpi_errno == MPI_SUCCESS) ? MPIDIG_mpi_win_wait(win) : mpi_errno;
}

int MPIDI_MAD_win_test(MPIR_Win* win, int* flag) {
  const int mpi_errno = hear_completes(win, false);

  return (mpi_errno == MPI_SUCCESS) ? MPIDIG_mpi_win_test(win, flag) : mpi_errno;
}

/* An error if a member of the group is gone. */
static int group_error(MPIR_Win* win, const int* ranks, int size) {
  const members_t members = {.win = win, .size = size, .ranks = ranks};

  return member_error(&members);
}

/* To all members of a group, with all that was written before.  `*told` is whether they were: a
 * post is not, if one of them is gone, as nothing would take it; a complete is, since they wait. */
static int speak(MPIR_Win* win, MPIR_Group* group, kind_t kind, bool* told) {
  const MPIDI_MAD_shared_t* shared = MPIDI_MAD_words_of(win);
  int mpi_errno = MPI_SUCCESS;
  int* ranks = NULL;

  *told = false;
  mpi_errno = ranks_of(win, group, &ranks);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = group_error(win, ranks, group->size);
  if (mpi_errno && kind == POSTS) goto fn_exit;
  (void)MPIDI_MAD_complete_direct(win);
  for (int i = 0; i < group->size; i++) {
    MPL_atomic_int64_t* word = word_of(shared, kind, ranks[i], win->comm_ptr->rank);
    MPL_atomic_release_store_int64(word, MPL_atomic_relaxed_load_int64(word) + 1);
  }
  *told = true;

fn_exit:
  MPL_free(ranks);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* MPICH would have told those before the dead, and would hold the group for posted. */
static int post_by_messages(MPIR_Group* group, int mode, MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  int* ranks = NULL;

  if (unlikely(MPIDI_MAD_global.gone_peers > 0) && !(mode & MPI_MODE_NOCHECK)) {
    mpi_errno = ranks_of(win, group, &ranks);
    if (mpi_errno == MPI_SUCCESS) mpi_errno = group_error(win, ranks, group->size);
    MPL_free(ranks);
  }
  return mpi_errno ? mpi_errno : MPIDIG_mpi_win_post(group, mode, win);
}

int MPIDI_MAD_win_post(MPIR_Group* group, int mode, MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  bool told;

  if (!MPIDI_MAD_words_of(win)) return post_by_messages(group, mode, win);
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIDIG_EXPOSURE_EPOCH_CHECK_NONE(win, mpi_errno, goto fn_fail);
  MPIR_ERR_CHKANDJUMP(MPIDIG_WIN(win, sync).pw.group != NULL, mpi_errno, MPI_ERR_GROUP, "**group");
  if (!(mode & MPI_MODE_NOCHECK)) {
    mpi_errno = speak(win, group, POSTS, &told);
    MPIR_ERR_CHECK(mpi_errno);
  }
  MPIR_Group_add_ref(group);
  MPIDIG_WIN(win, sync).pw.group = group;
  MPIDIG_WIN(win, sync).exposure_epoch_type = MPIDIG_EPOTYPE_POST;

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

int MPIDI_MAD_win_complete(MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  bool told;

  if (!MPIDI_MAD_words_of(win)) return MPIDI_MAD_or_trouble(win, MPIDIG_mpi_win_complete(win));
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIDIG_ACCESS_EPOCH_CHECK(win, MPIDIG_EPOTYPE_START, mpi_errno, goto fn_fail);
  mpi_errno = speak(win, MPIDIG_WIN(win, sync).sc.group, COMPLETES, &told);
  if (!told) goto fn_fail;
  if (mpi_errno == MPI_SUCCESS) mpi_errno = MPIDI_MAD_poll_sometimes();
  /* Also with an error, since the others were told. */
  if (MPIR_CVAR_CH4_RMA_MEM_EFFICIENT) MPIDIG_win_target_cleanall(win);
  MPIDIG_WIN(win, sync).access_epoch_type = MPIDIG_EPOTYPE_NONE;
  MPIR_Group_release(MPIDIG_WIN(win, sync).sc.group);
  MPIDIG_WIN(win, sync).sc.group = NULL;

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* ---- hooks ---- */

void MPIDI_MAD_window_message(int handler_id, MPIDIG_win_cntrl_msg_t* message) {
  if (MPIDIU_map_lookup(MPIDI_global.win_map, message->win_id) != MPIDIU_MAP_NOT_FOUND)
    MPIDIG_global.target_msg_cbs[handler_id](message, NULL, 0, 0, NULL);
}

/* Before the barrier that ends the window's creation, so before anybody posts. */
static int make_members(MPIR_Win* win) {
  win->dev.netmod.mad.trouble = MPI_SUCCESS;
  win->dev.netmod.mad.remotes = NULL;
  win->dev.netmod.mad.region = NULL;
  win->dev.netmod.mad.neighbors = NULL;
  win->dev.netmod.mad.members =
      MPL_calloc(win->comm_ptr->local_size, sizeof(MPIDI_MAD_member_t), MPL_MEM_RMA);
  if (win->dev.netmod.mad.members) return MPI_SUCCESS;
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_NO_MEM,
                              "**nomem", 0);
}

static int share_with_members(MPIR_Win* win) {
  int mpi_errno = make_members(win);

  if (mpi_errno == MPI_SUCCESS) mpi_errno = MPIDI_MAD_share_window(win);
  return (mpi_errno == MPI_SUCCESS) ? MPIDI_MAD_share_memory(win) : mpi_errno;
}

int MPIDI_MAD_mpi_win_create_hook(MPIR_Win* win) {
  int mpi_errno = make_members(win);

  if (mpi_errno == MPI_SUCCESS) mpi_errno = MPIDI_MAD_tell_neighbors(win);
  return (mpi_errno == MPI_SUCCESS) ? MPIDI_MAD_share_memory(win) : mpi_errno;
}

int MPIDI_MAD_mpi_win_allocate_hook(MPIR_Win* win) { return share_with_members(win); }

int MPIDI_MAD_mpi_win_allocate_shared_hook(MPIR_Win* win) { return share_with_members(win); }

int MPIDI_MAD_mpi_win_create_dynamic_hook(MPIR_Win* win) { return make_members(win); }

int MPIDI_MAD_mpi_win_attach_hook(MPIR_Win* win, void* base, MPI_Aint size) { return MPI_SUCCESS; }

int MPIDI_MAD_mpi_win_detach_hook(MPIR_Win* win, const void* base) { return MPI_SUCCESS; }

int MPIDI_MAD_mpi_win_free_hook(MPIR_Win* win) {
  /* Also of a window that could not be made, before its hook was called: of what was before. */
  if (win->dev.netmod.mad.members) {
    MPIDI_MAD_far_free(win);
    MPIDI_MAD_unshare_memory(win);
  }
  MPL_free(win->dev.netmod.mad.members);
  win->dev.netmod.mad.members = NULL;
  MPIDI_MAD_forget_neighbors(win);
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
