/* mad_kernel.c: put and get in windows over the user's memory (MPI_Win_create) where the target is
 * a process of this node that does not look: the kernel reads and writes there for the origin.
 *
 * Messages are faster while their target looks for them (docs/adr/0053).  One that kept a flush or
 * an unlock waiting is not waited for from then on, but now and then, to see whether it looks
 * again.  Meanwhile operations of one run at the target and few at the origin are done at once, and
 * are complete when they return.  Those in the epochs of fences and groups are messages, since
 * their target comes to end them, and so is all that the kernel refuses.
 */
#include "mad_window.h"

enum { MOST_BYTES = 1 << 20, MOST_RUNS = MAD_MEMORY_RUNS };

/* Nanoseconds that a target that looks may take, with one more for so many bytes, which is what the
 * kernel takes for them. */
enum { LONG_WAIT = 20000, BYTES_OF_NANOSECOND = 4 };

/* Operations for which a target is not waited for: at first, twice as many each time, at most. */
enum { FIRST_TURNS = 64, MOST_TURNS = 4096 };

/* What a member tells the others of its node, and what they keep of it. */
struct MPIDI_MAD_neighbor {
  mad_process process; /* its pid 0: by messages */
  uint64_t base;
  MPI_Aint bytes, unit;
  mad_memory* memory; /* NULL: not opened yet, or by messages */
  uint64_t underway;  /* bytes of operations by messages, since the last wait for them */
  int64_t waited;     /* nanoseconds, when that was long */
  int turns;          /* operations that are still to be done without it */
  int next_turns;     /* if it keeps this process waiting again */
};
typedef struct MPIDI_MAD_neighbor neighbor_t;

/* Of all windows, what was opened of a process, or found to be refused. */
struct MPIDI_MAD_memory {
  struct MPIDI_MAD_memory* next;
  mad_process process;
  mad_memory* memory; /* NULL: refused */
};

/* ---- windows ---- */

/* How others find this process, which is told once; pid 0: that cannot be told. */
static mad_process name_self(void) {
  static uint64_t word;
  static mad_process self;

  if (self.pid == 0) (void)mad_process_self(&word, &self);
  return self;
}

int MPIDI_MAD_tell_neighbors(MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Errflag_t errflag = MPIR_ERR_NONE;
  MPIR_Comm* node = win->comm_ptr->node_comm;
  neighbor_t* all = NULL;

  if (node == NULL) return MPI_SUCCESS;
  all = MPL_calloc((size_t)node->local_size, sizeof(*all), MPL_MEM_RMA);
  MPIR_ERR_CHKANDJUMP(all == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  if (MPIR_CVAR_CH4_MAD_SHARED_WINDOWS) all[node->rank].process = name_self();
  all[node->rank].base = (uintptr_t)win->base;
  all[node->rank].bytes = win->size;
  all[node->rank].unit = win->disp_unit;
  mpi_errno = MPIR_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, sizeof(*all), MPI_BYTE, node,
                             &errflag);
  MPIR_ERR_CHECK(mpi_errno);
  for (int i = 0; i < node->local_size; i++)
    if (all[i].process.pid == 0) goto fn_fail;
  win->dev.netmod.mad.neighbors = all;

fn_exit:
  return mpi_errno;
fn_fail: /* also without an error: one of them is for messages */
  MPL_free(all);
  goto fn_exit;
}

/* NULL: what is done to it is messages, whatever it does. */
static neighbor_t* find_neighbor(MPIR_Win* win, int rank) {
  neighbor_t* const all = win->dev.netmod.mad.neighbors;
  const int local = all ? win->comm_ptr->intranode_table[rank] : -1;

  return local >= 0 && all[local].process.pid != 0 ? &all[local] : NULL;
}

void MPIDI_MAD_forget_neighbors(MPIR_Win* win) {
  MPL_free(win->dev.netmod.mad.neighbors);
  win->dev.netmod.mad.neighbors = NULL;
}

/* ---- processes ---- */

static mad_memory* open_memory(const mad_process* process) {
  struct MPIDI_MAD_memory* each = MPIDI_MAD_global.memories;

  while (each && (each->process.word != process->word || each->process.pid != process->pid))
    each = each->next;
  if (each) return each->memory;
  each = MPL_malloc(sizeof(*each), MPL_MEM_RMA);
  if (each == NULL) return NULL;
  *each = (struct MPIDI_MAD_memory){MPIDI_MAD_global.memories, *process, NULL};
  MPIDI_MAD_global.memories = each;
  if (mad_memory_open(process, &each->memory) < 0 && MPIDI_MAD_global.verbose)
    fprintf(stderr, "ch4:mad: puts and gets in its windows are messages: %s\n", mad_last_error());
  return each->memory;
}

void MPIDI_MAD_close_memories(void) {
  struct MPIDI_MAD_memory* each;

  while ((each = MPIDI_MAD_global.memories) != NULL) {
    MPIDI_MAD_global.memories = each->next;
    mad_memory_close(each->memory);
    MPL_free(each);
  }
}

/* ---- waits ---- */

void MPIDI_MAD_begin_waiting(const MPIR_Win* win) {
  MPIDI_MAD_global.waits_since = win->dev.netmod.mad.neighbors ? MPIDI_MAD_SHORT_WAIT : 0;
}

void MPIDI_MAD_waited_for(MPIR_Win* win, int rank) {
  const int64_t since = MPIDI_MAD_global.waits_since;
  const int64_t waited = since == MPIDI_MAD_SHORT_WAIT ? 0 : MPIDI_MAD_nanoseconds() - since;
  neighbor_t* target = find_neighbor(win, rank);

  if (target == NULL) return;
  if (waited > LONG_WAIT + (int64_t)(target->underway / BYTES_OF_NANOSECOND)) {
    target->waited = waited;
    target->turns = MPL_MAX(target->next_turns, FIRST_TURNS);
    target->next_turns = MPL_MIN(2 * target->turns, MOST_TURNS);
  } else {
    target->next_turns = 0;
  }
  target->underway = 0;
}

/* ---- operations ---- */

/* Where one run in the target's window is; false: not in it, which the target says. */
static bool find_run(const neighbor_t* target, MPI_Aint displacement,
                     const MPIDI_MAD_layout_t* there, uint64_t* address) {
  MPI_Aint offset;

  if (__builtin_mul_overflow(displacement, target->unit, &offset) ||
      __builtin_add_overflow(offset, (MPI_Aint)there->base, &offset) ||
      !MPIDI_MAD_fits(target->bytes, offset, 0, 1, 1, (MPI_Aint)there->bytes))
    return false;
  *address = target->base + (uint64_t)offset;
  return true;
}

/* The first `bytes` of the layout, as runs; 0: they are too many. */
static size_t list_runs(const MPIDI_MAD_layout_t* here, size_t bytes, mad_run* runs) {
  size_t found = 1, listed = 0;

  runs[0] = (mad_run){here->base, bytes};
  if (here->type != NULL &&
      mad_type_runs(here->base, here->count, here->type, 0, bytes, runs, MOST_RUNS, &found) < 0)
    return 0;
  for (size_t i = 0; i < found; i++) listed += runs[i].bytes;
  return listed == bytes ? found : 0;
}

static bool move(bool is_put, const MPIDI_MAD_buffer_t* origin, int rank, MPI_Aint displacement,
                 const MPIDI_MAD_buffer_t* at_target, MPIR_Win* win, neighbor_t* target) {
  MPIDI_MAD_layout_t here, there;
  mad_run runs[MOST_RUNS];
  uint64_t address, bytes;
  size_t count;

  if (MPIDI_MAD_begin_access(win, rank) != MPI_SUCCESS ||
      MPIDI_MAD_layout(origin->address, origin->count, origin->datatype, &here) != MPI_SUCCESS ||
      MPIDI_MAD_layout(NULL, at_target->count, at_target->datatype, &there) != MPI_SUCCESS)
    return false;
  bytes = is_put ? here.bytes : there.bytes;
  if (there.type != NULL || bytes == 0 || bytes > MOST_BYTES ||
      bytes / BYTES_OF_NANOSECOND > (uint64_t)target->waited ||
      bytes > (is_put ? there.bytes : here.bytes) ||
      !find_run(target, displacement, &there, &address))
    return false;
  count = list_runs(&here, bytes, runs);
  if (count == 0) return false;
  if (target->memory == NULL) target->memory = open_memory(&target->process);
  if (target->memory != NULL &&
      (is_put ? mad_memory_write(target->memory, address, runs, count)
              : mad_memory_read(target->memory, address, runs, count)) == MAD_SUCCESS)
    return true;
  /* It has ended, or will not have it.  What is half done is done anew by message. */
  target->process.pid = 0;
  return false;
}

static bool is_passive(const MPIR_Win* win) {
  const int epoch = MPIDIG_WIN(win, sync).access_epoch_type;

  return epoch == MPIDIG_EPOTYPE_LOCK || epoch == MPIDIG_EPOTYPE_LOCK_ALL;
}

bool MPIDI_MAD_by_kernel(bool is_put, const MPIDI_MAD_buffer_t* origin, int rank,
                         MPI_Aint displacement, const MPIDI_MAD_buffer_t* target, MPIR_Win* win) {
  neighbor_t* const neighbor = find_neighbor(win, rank);
  bool done = false;
  MPI_Aint size;

  if (neighbor == NULL) return false;
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  if (neighbor->turns > 0 && is_passive(win)) {
    neighbor->turns--;
    done = move(is_put, origin, rank, displacement, target, win, neighbor);
  }
  if (!done) {
    MPIR_Datatype_get_size_macro(target->datatype, size);
    neighbor->underway += (uint64_t)(size * target->count);
  }
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return done;
}
