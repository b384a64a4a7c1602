/* mad_pmi.c: PMI-1's own library, or libmad_pmix.so where PMIx started this process. */
#include "mad_pmi.h"

#include <dlfcn.h>

#include "mpidimpl.h"

#define PMIX_LIBRARY "libmad_pmix.so"

/* ---- PMI-1 ---- */

/* Whether nobody started this process but its user.  PMI-1 would start an mpiexec then, with words
 * that hydra's has not known for long, and wait for it for ever. */
static bool is_alone(void) { return !getenv("PMI_FD") && !getenv("PMI_PORT"); }

static int universe_size(int* size) {
  if (!is_alone()) return PMI_Get_universe_size(size);
  *size = MPIR_UNIVERSE_SIZE_NOT_AVAILABLE;
  return PMI_SUCCESS;
}

/* Its keys say themselves who put them. */
static int pmi_get(const char* kvs, int rank, const char* key, char* value, int length) {
  return PMI_KVS_Get(kvs, key, value, length);
}

static const mad_pmi pmi1 = {
    .init = PMI_Init,
    .finalize = PMI_Finalize,
    .abort = PMI_Abort,
    .get_rank = PMI_Get_rank,
    .get_size = PMI_Get_size,
    .get_appnum = PMI_Get_appnum,
    .get_universe_size = universe_size,
    .kvs_get_name_length_max = PMI_KVS_Get_name_length_max,
    .kvs_get_my_name = PMI_KVS_Get_my_name,
    .kvs_get_key_length_max = PMI_KVS_Get_key_length_max,
    .kvs_get_value_length_max = PMI_KVS_Get_value_length_max,
    .kvs_put = PMI_KVS_Put,
    .kvs_commit = PMI_KVS_Commit,
    .kvs_get = pmi_get,
    .barrier = PMI_Barrier,
    .publish_name = PMI_Publish_name,
    .lookup_name = PMI_Lookup_name,
    .unpublish_name = PMI_Unpublish_name,
};

/* ---- none ---- */

/* A program that took itself for a job of one would compute the same thing as often as it was
 * started.  Only these two are called of a launcher that does not start; MPICH exits itself. */
static int refuse(int* has_parent) { return PMI_FAIL; }
static int abort_nothing(int exit_code, const char* why) { return PMI_SUCCESS; }

static const mad_pmi none = {.init = refuse, .abort = abort_nothing};

/* ---- the choice ---- */

static bool pmix_started_us(void) { return getenv("PMIX_NAMESPACE") && is_alone(); }

static const mad_pmi* choose(void) {
  void* library;
  mad_get_pmi* get;

  if (!pmix_started_us()) return &pmi1;
  library = dlopen(PMIX_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  get = library ? (mad_get_pmi*)dlsym(library, MAD_PMIX_FUNCTION) : NULL;
  if (get) return get();
  fprintf(
      stderr,
      "ch4:mad: this process was started by a launcher that speaks PMIx (PMIX_NAMESPACE is set), "
      "and %s, which answers it, cannot be loaded: %s\n"
      "ch4:mad: install libpmix (Debian's libpmix2), or start it by mpiexec or srun --mpi=pmi2\n",
      PMIX_LIBRARY, dlerror());
  return &none;
}

const mad_pmi* MPIDI_MAD_pmi(void) {
  static const mad_pmi* chosen = NULL; /* first called by MPI_Init, before there are threads */

  if (chosen == NULL) chosen = choose();
  return chosen;
}

static bool is_finalized = false;

/* What MPICH 4.0 has of communicators and types is not made anew for a second start, nor does
 * PMI-1's launcher serve a process again. */
int MPIDI_MAD_pmi_init(int* has_parent) {
  if (!is_finalized) return MPIDI_MAD_pmi()->init(has_parent);
  fprintf(stderr,
          "ch4:mad: the last session of this process was finalized, and MPICH 4.0 cannot start MPI "
          "again; keep a session until no other is to be opened\n");
  return PMI_FAIL;
}

int MPIDI_MAD_pmi_finalize(void) {
  is_finalized = true;
  return MPIDI_MAD_pmi()->finalize();
}

int MPIDI_MAD_spawn_multiple(int count, const char** commands, const char*** arguments,
                             const int* processes, const int* info_counts,
                             const PMI_keyval_t** infos, int put_count, const PMI_keyval_t* put,
                             int* errors) {
  const bool by_pmi1 = (MPIDI_MAD_pmi() == &pmi1);

  if (by_pmi1 && !is_alone())
    return PMI_Spawn_multiple(count, commands, arguments, processes, info_counts, infos, put_count,
                              put, errors);
  fprintf(stderr, "ch4:mad: %s spawn no processes; start them by mpiexec\n",
          by_pmi1 ? "programs that nobody started by mpiexec" : "jobs that PMIx started");
  return PMI_FAIL;
}
