/* mad_window.h: what this process keeps of a window, and what the processes of a node share of it
 * beside its memory.
 *
 * MPICH allocates the memory of MPI_Win_allocate and MPI_Win_allocate_shared so that all processes
 * of a node have it, and keeps where everybody's part is (MPIDIG_WIN(win, shared_table)).  Beside
 * that we share, in a segment of our own, what makes operations atomic, locks exclude each other,
 * and epochs begin and end.
 */
#ifndef MAD_WINDOW_H_INCLUDED
#define MAD_WINDOW_H_INCLUDED

#include <pthread.h>

#include "mad_core.h"

/* In shared memory; two lines of the cache of its own, of which others wait for the second. */
typedef union MPIDI_MAD_target {
  struct {
    /* Held for every atomic operation on the target's memory, whoever does it.  Robust: the kernel
     * releases that of a process that died. */
    pthread_mutex_t mutex;
    MPL_atomic_int64_t tickets;             /* for its lock, given so far (mad_turns.c) */
    _Alignas(64) MPL_atomic_int64_t fences; /* that it has arrived at (mad_win.c) */
  } now;
  char room[128];
} MPIDI_MAD_target_t;

typedef struct MPIDI_MAD_shared {
  int ranks;                   /* processes of this node */
  MPIDI_MAD_target_t* targets; /* one each, by their ranks there */
  /* Tables of `ranks` words for each rank, one for each other; NULL: the window has processes of
   * other nodes, too. */
  MPL_atomic_int64_t* turns;     /* for a target's lock, by its origins */
  MPL_atomic_int64_t* posts;     /* to a rank, so far, by those who posted */
  MPL_atomic_int64_t* completes; /* likewise */
  /* This process's puts and gets that wait for others beside them, where there are such tables;
   * NULL: none does. */
  mad_copies* copies;
  bool copies_wait;
} MPIDI_MAD_shared_t;

/* NULL: the window's memory is not shared. */
static inline MPIDI_MAD_shared_t* MPIDI_MAD_shared_of(MPIR_Win* win) {
  return (MPIDI_WIN(win, winattr) & MPIDI_WINATTR_SHM_ALLOCATED) ? win->dev.netmod.mad.shared
                                                                 : NULL;
}

/* NULL: synchronisation of the window is MPICH's, by messages. */
static inline MPIDI_MAD_shared_t* MPIDI_MAD_words_of(MPIR_Win* win) {
  MPIDI_MAD_shared_t* shared = MPIDI_MAD_shared_of(win);

  return shared && shared->turns ? shared : NULL;
}

/* Of one of the tables. */
static inline MPL_atomic_int64_t* MPIDI_MAD_word(const MPIDI_MAD_shared_t* shared,
                                                 MPL_atomic_int64_t* table, int to, int from) {
  return &table[(size_t)to * (size_t)shared->ranks + (size_t)from];
}

/* A buffer as MPI describes it. */
typedef struct {
  const void* address;
  MPI_Aint count;
  MPI_Datatype datatype;
} MPIDI_MAD_buffer_t;

/* An atomic operation: accumulate, the fetching ones, compare and swap. */
typedef struct {
  MPIDI_MAD_buffer_t origin; /* unless `op` is MPI_NO_OP */
  MPIDI_MAD_buffer_t result; /* if it fetches */
  MPIDI_MAD_buffer_t target; /* without an address */
  MPI_Aint displacement;
  const void* compare; /* NULL: what is there is not compared */
  MPI_Op op;           /* MPI_OP_NULL: compare and swap */
  bool fetches;
  bool is_put; /* which may have less data than the target has room for */
} MPIDI_MAD_atomic_t;

/* By rank, what this process keeps of another member of the window. */
typedef struct MPIDI_MAD_member {
  /* That came and no epoch has waited for yet; or, where words in shared memory say how many came,
   * that epochs have waited for (mad_win.c). */
  int64_t posts, completes;
  struct MPIDI_MAD_far* far; /* operations by messages, from the first one on, else NULL */
} MPIDI_MAD_member_t;

/* What each member tells all others of its memory when the window is made. */
typedef struct MPIDI_MAD_remote {
  mad_region_key key; /* without a fabric: messages are sent */
  int64_t bytes;
  int64_t unit; /* of displacements, in bytes */
} MPIDI_MAD_remote_t;

/* mad_kernel.c: a window over the user's memory is made, which is collective, and freed. */
int MPIDI_MAD_tell_neighbors(MPIR_Win* win);
void MPIDI_MAD_forget_neighbors(MPIR_Win* win);
/* A flush or an unlock begins to wait for operations by messages, after which waits_since is to be
 * 0; meanwhile those to a target have ended. */
void MPIDI_MAD_begin_waiting(const MPIR_Win* win);
void MPIDI_MAD_waited_for(MPIR_Win* win, int rank);
/* Whether a put or a get was done by the kernel; else it is to be done by messages, or what is
 * wrong with it told by them. */
bool MPIDI_MAD_by_kernel(bool is_put, const MPIDI_MAD_buffer_t* origin, int rank,
                         MPI_Aint displacement, const MPIDI_MAD_buffer_t* target, MPIR_Win* win);
/* mad_far.c: a put or a get by messages, or by the fabric.  `request` NULL: it has none. */
int MPIDI_MAD_far(bool is_put, const MPIDI_MAD_buffer_t* origin, int rank, MPI_Aint displacement,
                  const MPIDI_MAD_buffer_t* target, MPIR_Win* win, MPIR_Request** request);
/* mad_atomic.c: likewise. */
int MPIDI_MAD_far_atomic(const MPIDI_MAD_atomic_t* atomic, int rank, MPIR_Win* win,
                         MPIR_Request** request);
/* mad_serve.c: the window is freed. */
void MPIDI_MAD_far_free(MPIR_Win* win);

/* Whether `count` elements, whose bytes lie between `low` and `high` of each and which are `extent`
 * apart, lie within `size` bytes if the first element begins at `offset`. */
static inline bool MPIDI_MAD_fits(MPI_Aint size, MPI_Aint offset, MPI_Aint low, MPI_Aint high,
                                  MPI_Aint extent, MPI_Aint count) {
  MPI_Aint step;

  return !__builtin_mul_overflow(extent, count - 1, &step) &&
         !__builtin_add_overflow(low, offset, &low) &&
         !__builtin_add_overflow(high, offset, &high) &&
         !__builtin_add_overflow(low, MPL_MIN(step, 0), &low) &&
         !__builtin_add_overflow(high, MPL_MAX(step, 0), &high) && low >= 0 && high <= size;
}

/* mad_combine.c: `bytes` of two layouts, counted as if packed, from `first` on; they have as many.
 */
int MPIDI_MAD_copy_part(const MPIDI_MAD_layout_t* from, const MPIDI_MAD_layout_t* to,
                        uint64_t first, uint64_t bytes);
/* `datatype` is predefined, and they are whole elements of it. */
int MPIDI_MAD_combine(MPI_Op op, MPI_Datatype datatype, const MPIDI_MAD_layout_t* from,
                      const MPIDI_MAD_layout_t* to, uint64_t first, uint64_t bytes);
/* The operands of an atomic operation, which have as many bytes each, the result perhaps more: an
 * error if not.  `from` has none for MPI_NO_OP, `before` for one that does not fetch; `*element` is
 * the predefined type of all elements. */
int MPIDI_MAD_operands(const MPIDI_MAD_atomic_t* atomic, const MPIDI_MAD_layout_t* there,
                       MPIDI_MAD_layout_t* from, MPIDI_MAD_layout_t* before, MPI_Datatype* element);

/* Before an operation on a rank: MPI's rules, and whether the process lives. */
int MPIDI_MAD_begin_access(MPIR_Win* win, int rank);

/* mad_window.c: when MPICH has allocated a window's memory, and before it frees it; collective. */
int MPIDI_MAD_share_window(MPIR_Win* win);
int MPIDI_MAD_unshare_window(MPIR_Win* win);

/* mad_remote.c: when a window is made, and when it is freed, whose members have all completed what
 * they began; collective. */
int MPIDI_MAD_share_memory(MPIR_Win* win);
void MPIDI_MAD_unshare_memory(MPIR_Win* win);
/* The member's memory, if the fabric puts `bytes` bytes to it or gets them from there, and they are
 * `*offset` bytes from its begin; else NULL. */
const MPIDI_MAD_remote_t* MPIDI_MAD_remote_of(const MPIR_Win* win, int rank, MPI_Aint displacement,
                                              MPI_Aint skip, uint64_t bytes, uint64_t* offset);

/* mad_turns.c: progress, each so many calls. */
int MPIDI_MAD_poll_sometimes(void);
/* mad_turns.c: between two looks at what others write into shared memory, by one who waits for it:
 * progress, so that messages are served and the core is given to others.  `*polls` counts them,
 * from 0, and the waiter does not sleep in the first MPIDI_MAD_AWAKE_POLLS of them; each
 * MPIDI_MAD_TOUCH_INTERVAL it touches those that it waits for. */
int MPIDI_MAD_poll_awake(uint32_t* polls);
enum { MPIDI_MAD_AWAKE_POLLS = 1000, MPIDI_MAD_TOUCH_INTERVAL = 512 };
/* Looks before each such poll, which takes as long as some 50 of them. */
enum { MPIDI_MAD_LOOKS = 100 };

/* Nobody else is at the target's memory for an atomic operation, from one to the other.  `target`
 * NULL: only this process ever is. */
void MPIDI_MAD_enter(MPIDI_MAD_target_t* target);
void MPIDI_MAD_leave(MPIDI_MAD_target_t* target);
/* The same for this process's own memory. */
void MPIDI_MAD_atomic_begin(MPIR_Win* win);
void MPIDI_MAD_atomic_end(MPIR_Win* win);

#endif /* MAD_WINDOW_H_INCLUDED */
