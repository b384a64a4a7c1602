/* mad_struct.c: structs of few fields, which cost little to make, send, receive and free.
 *
 * Programs that give each message a type of its own pay for making it every time: for what MPICH's
 * datatype engine and ours compile, which one short message never earns back.  Here a struct of
 * few fields is its list of fields and no more.  Short messages of it are copied field by field;
 * whatever else it is used for has MPICH's engine or ours compile it then.
 *
 * Bounds, padding included, are those that MPICH computes for the same struct.
 */
#include "mad_struct.h"

#include <pthread.h>
#include <stdint.h>

#include "mad_core.h"

enum {
  MOST_FIELDS = 64,
  MOST_DEPTH = 8 /* of structs in structs, and of types whose alignment is asked for */
};

/* ---- alignment ---- */

/* Of a basic type, as MPICH pads structs: what a byte behind one makes of the struct. */
static MPI_Aint alignment_of_basic(MPI_Datatype basic) {
  static unsigned char known[256]; /* by the basic type's number; 0: not known yet */
  const MPI_Aint size = MPIR_Datatype_get_basic_size(basic);
  const MPI_Aint lengths[] = {1, 1}, displacements[] = {0, size};
  const MPI_Datatype types[] = {basic, MPI_BYTE};
  unsigned char* alignment = &known[basic & 0xff];
  MPI_Datatype padded;
  MPI_Aint extent;

  if (*alignment) return *alignment;
  if (size <= 1 || MPIR_Type_struct(2, lengths, displacements, types, &padded) != MPI_SUCCESS)
    return size;
  MPIR_Datatype_get_extent_macro(padded, extent);
  MPIR_Type_free_impl(&padded);
  *alignment = (unsigned char)(extent - size);
  return *alignment;
}

typedef struct {
  const int* ints; /* the number of fields, then their lengths */
  const MPI_Aint* displacements;
  const MPI_Datatype* types;
} fields_t;

static fields_t fields_of(const MPIR_Datatype* datatype) {
  int* ints;
  MPI_Aint *aints, *counts;
  MPI_Datatype* types;

  MPIR_Datatype_access_contents(datatype->contents, &ints, &aints, &counts, &types);
  return (fields_t){ints, aints, types};
}

static bool is_struct(int combiner) {
  return combiner == MPI_COMBINER_STRUCT || combiner == MPI_COMBINER_STRUCT_INTEGER;
}

static bool has_few_fields(const MPIR_Datatype* datatype) {
  const MPIR_Datatype_contents* contents = datatype->contents;

  return contents && is_struct(contents->combiner) && contents->nr_counts == 0 &&
         contents->nr_types <= MOST_FIELDS;
}

/* 0: of a type that MPICH's users cannot have made, or too deep a one. */
static MPI_Aint alignment_of(MPI_Datatype handle, int depth) {
  MPIR_Datatype* datatype;
  MPI_Aint most = 0;
  fields_t fields;

  if (HANDLE_IS_BUILTIN(handle)) return alignment_of_basic(handle);
  MPIR_Datatype_get_ptr(handle, datatype);
  if (datatype->size == 0) return 1;
  if (depth == 0 || datatype->contents == NULL || datatype->contents->nr_types < 1 ||
      datatype->contents->nr_counts > 0)
    return 0;
  fields = fields_of(datatype);
  if (!is_struct(datatype->contents->combiner)) return alignment_of(fields.types[0], depth - 1);
  for (int i = 0; i < fields.ints[0]; i++) {
    MPI_Aint alignment;
    if (fields.ints[i + 1] == 0) continue;
    alignment = alignment_of(fields.types[i], depth - 1);
    if (alignment == 0) return 0;
    most = MPL_MAX(most, alignment);
  }
  return most;
}

/* ---- making one ---- */

typedef struct {
  MPI_Aint size, extent, lb, ub, true_lb, true_ub;
  MPI_Aint element_size;
  MPI_Datatype element;
  bool contiguous;
} type_facts_t;

static type_facts_t facts_of(MPI_Datatype handle) {
  MPIR_Datatype* datatype;

  if (HANDLE_IS_BUILTIN(handle)) {
    const MPI_Aint size = MPIR_Datatype_get_basic_size(handle);
    return (type_facts_t){size, size, 0, size, 0, size, size, handle, true};
  }
  MPIR_Datatype_get_ptr(handle, datatype);
  return (type_facts_t){datatype->size,
                        datatype->extent,
                        datatype->lb,
                        datatype->ub,
                        datatype->true_lb,
                        datatype->true_ub,
                        datatype->builtin_element_size,
                        datatype->basic_type,
                        datatype->is_contig != 0};
}

/* What the fields so far make together. */
typedef struct {
  MPI_Aint blocks, size, lb, ub, true_lb, true_ub;
  MPI_Aint element_size; /* 0: none so far; -1: they differ */
  MPI_Datatype element;
  bool contiguous; /* up to `end`, where the last field ends */
  MPI_Aint end;
} fields_facts_t;

static const fields_facts_t no_fields = {.lb = PTRDIFF_MAX,
                                         .ub = PTRDIFF_MIN,
                                         .true_lb = PTRDIFF_MAX,
                                         .true_ub = PTRDIFF_MIN,
                                         .element = MPI_DATATYPE_NULL,
                                         .contiguous = true};

/* A field of basic elements, which have no bounds but their bytes. */
static inline void add_run(fields_facts_t* all, MPI_Aint first, MPI_Aint bytes) {
  const MPI_Aint end = first + bytes;

  all->contiguous = all->contiguous && (all->blocks == 0 || first == all->end);
  all->lb = MPL_MIN(all->lb, first);
  all->ub = MPL_MAX(all->ub, end);
  all->true_lb = MPL_MIN(all->true_lb, first);
  all->true_ub = MPL_MAX(all->true_ub, end);
  all->size += bytes;
  all->end = end;
  all->blocks++;
}

static void add_field(fields_facts_t* all, MPI_Aint length, MPI_Aint displacement,
                      const type_facts_t* type) {
  const MPI_Aint rest = type->extent * (length - 1);
  const MPI_Aint lb = displacement + type->lb + MPL_MIN(rest, 0);
  const MPI_Aint ub = displacement + type->ub + MPL_MAX(rest, 0);
  const MPI_Aint true_lb = lb - type->lb + type->true_lb;
  const MPI_Aint true_ub = ub - type->ub + type->true_ub;

  all->contiguous =
      all->contiguous && type->contiguous && (all->blocks == 0 || true_lb == all->end);
  all->lb = MPL_MIN(all->lb, lb);
  all->ub = MPL_MAX(all->ub, ub);
  all->true_lb = MPL_MIN(all->true_lb, true_lb);
  all->true_ub = MPL_MAX(all->true_ub, true_ub);
  all->size += type->size * length;
  all->end = true_ub;
  all->blocks++;
}

static void add_element(fields_facts_t* all, const type_facts_t* type) {
  if (all->element_size == 0) {
    all->element_size = type->element_size;
    all->element = type->element;
  } else if (all->element_size != type->element_size) {
    all->element_size = -1;
    all->element = MPI_DATATYPE_NULL;
  } else if (all->element != type->element) {
    all->element = MPI_DATATYPE_NULL;
  }
}

/* 0: of some field it is not known. */
static MPI_Aint alignment_of_fields(int count, const int* lengths, const MPI_Datatype* types) {
  MPI_Aint most = 1;

  for (int i = 0; i < count; i++) {
    MPI_Aint alignment;
    if (lengths[i] == 0) continue;
    alignment = alignment_of(types[i], MOST_DEPTH);
    if (alignment == 0) return 0;
    most = MPL_MAX(most, alignment);
  }
  return most;
}

/* Size and bounds; false: MPICH is to make this struct.  MPICH pads a struct, but not one whose
 * fields are of one type; which types are one to it, only it knows. */
static bool describe(int count, const int* lengths, const MPI_Aint* displacements,
                     const MPI_Datatype* types, MPIR_Datatype* out) {
  bool one_type = true, one_size = true;
  const MPI_Aint first_size = facts_of(types[0]).size;
  type_facts_t type;
  fields_facts_t all = no_fields;

  for (int i = 0; i < count; i++) {
    if (i == 0 || types[i] != types[i - 1]) {
      type = facts_of(types[i]);
      one_type = (i == 0);
      one_size = one_size && type.size == first_size;
      if (type.size <= 0) return false;
    }
    if (lengths[i] <= 0) {
      if (lengths[i] < 0) return false;
      continue;
    }
    if (HANDLE_IS_BUILTIN(types[i]))
      add_run(&all, displacements[i], type.size * lengths[i]);
    else
      add_field(&all, lengths[i], displacements[i], &type);
    if (all.element != type.element || all.element_size != type.element_size)
      add_element(&all, &type);
  }
  if (all.size == 0) return false;
  if (!one_type) {
    const MPI_Aint alignment = alignment_of_fields(count, lengths, types);
    const MPI_Aint padding = alignment ? (all.ub - all.lb) % alignment : 0;
    if (alignment == 0 || (padding != 0 && one_size)) return false;
    if (padding != 0) all.ub += alignment - padding;
  }
  out->size = all.size;
  out->lb = all.lb;
  out->ub = all.ub;
  out->true_lb = all.true_lb;
  out->true_ub = all.true_ub;
  out->extent = all.ub - all.lb;
  out->is_contig = all.contiguous && out->extent == all.size;
  out->builtin_element_size = all.element_size;
  out->basic_type = all.element;
  out->typerep.num_contig_blocks = all.blocks;
  return true;
}

bool MPIDI_MAD_create_struct(int count, const int* lengths, const MPI_Aint* displacements,
                             const MPI_Datatype* types, MPI_Datatype* newtype) {
  int ints[1 + MOST_FIELDS];
  MPIR_Datatype* made;

  if (count < 1 || count > MOST_FIELDS) return false;
  made = MPIR_Handle_obj_alloc(&MPIR_Datatype_mem);
  if (made == NULL) return false;
  ints[0] = count;
  memcpy(ints + 1, lengths, (size_t)count * sizeof(int));
  if (!describe(count, lengths, displacements, types, made) ||
      MPIR_Datatype_set_contents(made, MPI_COMBINER_STRUCT, count + 1, count, 0, count, ints,
                                 displacements, NULL, types) != MPI_SUCCESS) {
    MPIR_Handle_obj_free(&MPIR_Datatype_mem, made);
    return false;
  }
  MPIR_Object_set_ref(made, 1);
  made->is_committed = 0;
  made->attributes = NULL;
  made->name[0] = '\0';
  made->flattened = NULL;
  made->typerep.handle = MPIR_TYPEREP_HANDLE_NULL;
  made->n_builtin_elements = -1; /* not known, as of every struct of MPICH's */
  MPIDI_MAD_DT(made)->type = NULL;
  MPIDI_MAD_DT(made)->seal = NULL;
  *newtype = made->handle;
  return true;
}

static void complete_struct(MPIR_Datatype* datatype) {
  MPI_Aint lengths[MOST_FIELDS];
  fields_t fields;

  if (datatype->size == 0 || !has_few_fields(datatype)) return;
  fields = fields_of(datatype);
  for (int i = 0; i < fields.ints[0]; i++) lengths[i] = fields.ints[i + 1];
  /* It also computes once more what MPIDI_MAD_create_struct() did. */
  (void)MPIR_Typerep_create_struct(fields.ints[0], lengths, fields.displacements, fields.types,
                                   datatype);
}

/* MPI_Pack holds none of MPICH's locks.  A struct's fields are completed within it. */
void MPIDI_MAD_complete_struct(MPIR_Datatype* datatype) {
  static pthread_mutex_t completing = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

  pthread_mutex_lock(&completing);
  if (datatype->typerep.handle == MPIR_TYPEREP_HANDLE_NULL) complete_struct(datatype);
  pthread_mutex_unlock(&completing);
}

/* ---- copying the fields of short messages ---- */

bool MPIDI_MAD_by_fields(MPI_Aint count, MPI_Datatype datatype) {
  MPIR_Datatype* object;

  if (HANDLE_IS_BUILTIN(datatype) || count == 0) return false;
  MPIR_Datatype_get_ptr(datatype, object);
  return !MPIDI_MAD_is_compiled(object) && !object->is_contig && object->size > 0 &&
         has_few_fields(object) && count <= MPIDI_MAD_FIELDS_BYTES / object->size &&
         count <= MOST_FIELDS / object->contents->nr_types;
}

/* A place in the packed bytes of a message. */
typedef struct {
  char* packed;
  size_t left;
  bool packing; /* from memory into `packed`; else the other way */
} place_t;

static inline void move_run(place_t* place, char* memory, size_t bytes) {
  const size_t moved = MPL_MIN(bytes, place->left);

  if (place->packing)
    MPIDI_MAD_copy_run(memory, place->packed, moved);
  else
    MPIDI_MAD_copy_run(place->packed, memory, moved);
  place->packed += moved;
  place->left -= moved;
}

/* From field `i` on, as long as they are of basic types; returns the first that was not moved. */
static int move_basic_fields(place_t* place, char* memory, const fields_t* fields, int i) {
  place_t at = *place;

  for (; i < fields->ints[0] && at.left > 0 && HANDLE_IS_BUILTIN(fields->types[i]); i++)
    move_run(&at, memory + fields->displacements[i],
             (size_t)fields->ints[i + 1] * (size_t)MPIR_Datatype_get_basic_size(fields->types[i]));
  *place = at;
  return i;
}

static int move_compiled(place_t* place, char* memory, MPI_Aint count, MPIR_Datatype* datatype) {
  int mpi_errno = MPI_SUCCESS;
  mad_type* type;
  size_t moved = 0;
  int status;

  mpi_errno = MPIDI_MAD_type_of(datatype, &type);
  MPIR_ERR_CHECK(mpi_errno);
  status =
      place->packing
          ? mad_type_pack(memory, (uint64_t)count, type, 0, place->packed, place->left, &moved)
          : mad_type_unpack(memory, (uint64_t)count, type, 0, place->packed, place->left, &moved);
  if (status < 0) mpi_errno = MPIDI_MAD_error(status);
  place->packed += moved;
  place->left -= moved;

fn_fail:
  return mpi_errno;
}

static int move_elements(place_t* place, char* memory, MPI_Aint count, MPI_Datatype handle,
                         int depth) {
  MPIR_Datatype* datatype;
  fields_t fields;
  int mpi_errno = MPI_SUCCESS;

  if (HANDLE_IS_BUILTIN(handle)) {
    move_run(place, memory, (size_t)(count * MPIR_Datatype_get_basic_size(handle)));
    return MPI_SUCCESS;
  }
  MPIR_Datatype_get_ptr(handle, datatype);
  if (datatype->is_contig) {
    move_run(place, memory + datatype->true_lb, (size_t)(count * datatype->size));
    return MPI_SUCCESS;
  }
  if (depth == 0 || !has_few_fields(datatype)) return move_compiled(place, memory, count, datatype);
  fields = fields_of(datatype);
  for (MPI_Aint element = 0; element < count; element++, memory += datatype->extent) {
    for (int i = 0; mpi_errno == MPI_SUCCESS && place->left > 0; i++) {
      i = move_basic_fields(place, memory, &fields, i);
      if (i == fields.ints[0] || place->left == 0) break;
      mpi_errno = move_elements(place, memory + fields.displacements[i], fields.ints[i + 1],
                                fields.types[i], depth - 1);
    }
  }
  return mpi_errno;
}

int MPIDI_MAD_pack_fields(const void* buf, MPI_Aint count, MPI_Datatype datatype, void* packed,
                          MPI_Aint* bytes) {
  place_t place = {packed, MPIDI_MAD_FIELDS_BYTES, true};
  const int mpi_errno = move_elements(&place, (char*)buf, count, datatype, MOST_DEPTH);

  *bytes = (MPI_Aint)(MPIDI_MAD_FIELDS_BYTES - place.left);
  return mpi_errno;
}

int MPIDI_MAD_unpack_fields(const void* packed, MPI_Aint bytes, void* buf, MPI_Aint count,
                            MPI_Datatype datatype) {
  place_t place = {(char*)packed, (size_t)bytes, false};

  return move_elements(&place, buf, count, datatype, MOST_DEPTH);
}
