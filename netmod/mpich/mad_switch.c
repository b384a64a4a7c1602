/* mad_switch.c: which data path a communicator uses, and whether it checks types.
 *
 * In effect is the communicator's attribute, else its info hint, else the control variable.  MPICH
 * tells no device when an attribute is set, so the attribute is looked up at every send; what its
 * name means is cached.  The hints are ints among MPICH's own, because those are all it keeps: the
 * number of a path (as in mad.h), 1 or 0 for types and for values in collective operations, or -1.
 */
#include "mad_core.h"
#include "mpix_mad.h"

#define HINT_KEY "mad_datatype_path"
#define CHECK_KEY "mad_check_types"
#define COLLECTIVES_KEY "mad_piggyback_collectives"

/* MPICH keeps hints for the life of the process: registered once */
int MPIDI_MAD_path_hint = -1;
static int check_index = -1, collectives_index = -1;

static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

/* Also called when another value replaces the attribute: the old name's memory may be the user's
 * again. */
static int delete_attribute(MPI_Comm comm, int keyval, void* value, void* extra) {
  MPIDI_MAD_global.generation++;
  return MPI_SUCCESS;
}

static int register_hint(const char* key) {
  return MPIR_Comm_register_hint(0, key, NULL, MPIR_COMM_HINT_TYPE_INT, MPIR_COMM_HINT_ATTR_LOCAL,
                                 -1);
}

int MPIDI_MAD_switch_init(void) {
  if (MPIDI_MAD_path_hint < 0) MPIDI_MAD_path_hint = register_hint(HINT_KEY);
  if (check_index < 0) check_index = register_hint(CHECK_KEY);
  if (collectives_index < 0) collectives_index = register_hint(COLLECTIVES_KEY);
  return MPIR_Comm_create_keyval_impl(copy_attribute, delete_attribute, &MPIDI_MAD_global.keyval,
                                      NULL);
}

void MPIDI_MAD_switch_finalize(void) {
  MPII_Keyval* keyval;

  MPII_Keyval_get_ptr(MPIDI_MAD_global.keyval, keyval);
  MPIR_free_keyval(keyval);
  MPIDI_MAD_global.keyval = MPI_KEYVAL_INVALID;
}

void MPIDI_MAD_comm_init(MPIR_Comm* comm) {
  MPIDI_MAD_COMM(comm)->name = NULL;
  MPIDI_MAD_COMM(comm)->generation = 0;
  MPIDI_MAD_COMM(comm)->path = MAD_PATH_AUTO;
  MPIDI_MAD_COMM(comm)->collective = NULL;
  MPIDI_MAD_COMM(comm)->piggyback = NULL;
  MPIDI_MAD_COMM(comm)->board = NULL;
  MPIDI_MAD_COMM(comm)->short_collectives = 0;
}

/* The number that a hint's value is, or -1. */
static int parse_hint(const char* value) {
  mad_path path;

  if (mad_path_parse(value, &path) == MAD_SUCCESS) return (int)path;
  if (value[0] >= '0' && value[0] < '0' + MAD_PATH_COUNT && value[1] == '\0')
    return value[0] - '0'; /* what MPI_Comm_get_info shows */
  return -1;
}

/* 1, 0, or -1; the numbers are what MPI_Comm_get_info shows. */
static int parse_flag(const char* value) {
  if (strcmp(value, "true") == 0 || strcmp(value, "1") == 0) return 1;
  return (strcmp(value, "false") == 0 || strcmp(value, "0") == 0) ? 0 : -1;
}

static void tell_ignored(const MPIR_Info* entry, const char* what, const char* values) {
  if (MPIDI_MAD_global.verbose && strcmp(entry->value, "-1") != 0)
    fprintf(stderr, "ch4:mad: ignoring hint %s=%s; the %s are %s\n", entry->key, entry->value, what,
            values);
}

void MPIDI_MAD_pass_hints_on(MPIR_Comm* comm) {
  MPIR_Comm* const parts[] = {comm->node_comm, comm->node_roots_comm};

  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    if (parts[i] == NULL) continue;
    parts[i]->hints[MPIDI_MAD_path_hint] = comm->hints[MPIDI_MAD_path_hint];
    parts[i]->hints[check_index] = comm->hints[check_index];
  }
}

/* MPICH has put atoi() of the value among its hints already; here it gets its meaning. */
void MPIDI_MAD_comm_hints(MPIR_Comm* comm, MPIR_Info* info) {
  for (MPIR_Info* entry = info; entry; entry = entry->next) {
    if (entry->key && strcmp(entry->key, HINT_KEY) == 0) {
      comm->hints[MPIDI_MAD_path_hint] = parse_hint(entry->value);
      if (comm->hints[MPIDI_MAD_path_hint] < 0) tell_ignored(entry, "paths", mad_path_names());
    } else if (entry->key && strcmp(entry->key, CHECK_KEY) == 0) {
      comm->hints[check_index] = parse_flag(entry->value);
      if (comm->hints[check_index] < 0) tell_ignored(entry, "values", "true, false");
      if (comm->hints[check_index] > 0) MPIDI_MAD_types_checked = true;
    } else if (entry->key && strcmp(entry->key, COLLECTIVES_KEY) == 0) {
      comm->hints[collectives_index] = parse_flag(entry->value);
      if (comm->hints[collectives_index] < 0) tell_ignored(entry, "values", "true, false");
    }
  }
  MPIDI_MAD_pass_hints_on(comm);
}

int MPIDI_MAD_check_hint(const MPIR_Comm* comm) { return comm->hints[check_index]; }

int MPIDI_MAD_collectives_hint(const MPIR_Comm* comm) { return comm->hints[collectives_index]; }

static const MPIR_Attribute* find_attribute(const MPIR_Comm* comm) {
  const MPIR_Attribute* attribute = comm->attributes;

  while (attribute && attribute->keyval->handle != MPIDI_MAD_global.keyval)
    attribute = attribute->next;
  return attribute;
}

static int path_named_by(MPIR_Comm* comm, const MPIR_Attribute* attribute, mad_path* path) {
  MPIDI_MAD_comm_t* cache = MPIDI_MAD_COMM(comm);
  const char* name = (attribute->attrType == MPIR_ATTR_PTR) ? (const char*)attribute->value : NULL;

  if (name && name == cache->name && cache->generation == MPIDI_MAD_global.generation) {
    *path = cache->path;
    return MPI_SUCCESS;
  }
  if (name == NULL || mad_path_parse(name, path) < 0)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_ARG,
                                "**mad_attribute", "**mad_attribute %s", mad_path_names());
  cache->name = name;
  cache->generation = MPIDI_MAD_global.generation;
  cache->path = *path;
  return MPI_SUCCESS;
}

int MPIDI_MAD_attribute_path(MPIR_Comm* comm, mad_path* path) {
  const MPIR_Attribute* attribute = find_attribute(comm);

  return attribute ? path_named_by(comm, attribute, path) : MPI_SUCCESS;
}

/* ---- the application's functions ---- */

int MPIX_Mad_get_keyval(int* keyval) {
  int mpi_errno = MPI_SUCCESS;

  MPIR_ERRTEST_INITIALIZED_ORDIE();
  MPIR_ERRTEST_ARGNULL(keyval, "keyval", mpi_errno);
  *keyval = MPIDI_MAD_global.keyval;

fn_exit:
  return mpi_errno;
fn_fail:
  mpi_errno = MPIR_Err_return_comm(NULL, __func__, mpi_errno);
  goto fn_exit;
}

int MPIDI_MAD_get_comm(MPI_Comm handle, MPIR_Comm** comm) {
  int mpi_errno = MPI_SUCCESS;

  *comm = NULL;
  MPIR_ERRTEST_COMM(handle, mpi_errno);
  MPIR_Comm_get_ptr(handle, *comm);
  MPIR_Comm_valid_ptr(*comm, mpi_errno, TRUE);
  if (mpi_errno) *comm = NULL;

fn_fail:
  return mpi_errno;
}

int MPIX_Mad_comm_set_path(MPI_Comm handle, const char* name) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Comm* comm = NULL;
  MPII_Keyval* keyval;
  mad_path path;

  MPIR_ERRTEST_INITIALIZED_ORDIE();
  MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  mpi_errno = MPIDI_MAD_get_comm(handle, &comm);
  MPIR_ERR_CHECK(mpi_errno);
  MPIR_ERRTEST_ARGNULL(name, "name", mpi_errno);
  MPIR_ERR_CHKANDJUMP2(mad_path_parse(name, &path) < 0, mpi_errno, MPI_ERR_ARG, "**mad_path",
                       "**mad_path %s %s", name, mad_path_names());
  MPII_Keyval_get_ptr(MPIDI_MAD_global.keyval, keyval);
  /* libmad's own string, so that the caller's need not outlive the call. */
  mpi_errno = MPIR_Comm_set_attr_impl(comm, keyval, (void*)mad_path_name(path), MPIR_ATTR_PTR);
  MPIR_ERR_CHECK(mpi_errno);

fn_exit:
  MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  return mpi_errno;
fn_fail:
  mpi_errno = MPIR_Err_return_comm(comm, __func__, mpi_errno);
  goto fn_exit;
}

int MPIX_Mad_comm_get_path(MPI_Comm handle, char* name, int length) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Comm* comm = NULL;
  mad_path path;
  int needed;

  MPIR_ERRTEST_INITIALIZED_ORDIE();
  MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  mpi_errno = MPIDI_MAD_get_comm(handle, &comm);
  MPIR_ERR_CHECK(mpi_errno);
  MPIR_ERRTEST_ARGNULL(name, "name", mpi_errno);
  mpi_errno = MPIDI_MAD_comm_path(comm, &path);
  MPIR_ERR_CHECK(mpi_errno);
  needed = (int)strlen(mad_path_name(path)) + 1;
  MPIR_ERR_CHKANDJUMP2(length < needed, mpi_errno, MPI_ERR_ARG, "**mad_room", "**mad_room %d %d",
                       length, needed);
  memcpy(name, mad_path_name(path), needed);

fn_exit:
  MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  return mpi_errno;
fn_fail:
  mpi_errno = MPIR_Err_return_comm(comm, __func__, mpi_errno);
  goto fn_exit;
}
