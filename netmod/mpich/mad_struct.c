/* mad_struct.c: structs of few fields, which cost little to make, send, receive and free.
 *
 * Programs that give each message a type of its own pay for making it every time: for what MPICH's
 * datatype engine and ours compile, which one short message never earns back.  Here a struct of
 * few fields is its list of fields and no more.  Short messages of it are copied field by field;
 * whatever else it is used for has MPICH's engine or ours compile it then.  They are committed and
 * freed here before MPICH looks at the arguments, and those whose fields are of basic types made.
 *
 * Bounds, padding included, are those that MPICH computes for the same struct.
 */
#include "mad_struct.h"

#include <pthread.h>
#include <stdint.h>

#include "mad_core.h"
#include "mad_fields.h"

enum { MOST_DEPTH = 8 /* of types whose alignment is asked for */ };

/* ---- alignment ---- */

/* Of basic types by their numbers, as MPICH pads structs; 0: not known yet. */
static unsigned char alignments[256];

/* What a byte behind one makes of the struct. */
static MPI_Aint find_alignment(MPI_Datatype basic) {
  const MPI_Aint size = MPIR_Datatype_get_basic_size(basic);
  const MPI_Aint lengths[] = {1, 1}, displacements[] = {0, size};
  const MPI_Datatype types[] = {basic, MPI_BYTE};
  MPI_Datatype padded;
  MPI_Aint alignment = size;

  if (size > 1) {
    if (MPIR_Type_struct(2, lengths, displacements, types, &padded) != MPI_SUCCESS) return size;
    MPIR_Datatype_get_extent_macro(padded, alignment);
    alignment -= size;
    MPIR_Type_free_impl(&padded);
  }
  alignments[basic & 0xff] = (unsigned char)alignment;
  return alignment;
}

static inline MPI_Aint alignment_of_basic(MPI_Datatype basic) {
  const MPI_Aint known = alignments[basic & 0xff];

  return likely(known) ? known : find_alignment(basic);
}

static bool is_struct(int combiner) {
  return combiner == MPI_COMBINER_STRUCT || combiner == MPI_COMBINER_STRUCT_INTEGER;
}

/* 0: of a type that MPICH's users cannot have made, or too deep a one. */
static MPI_Aint alignment_of(MPI_Datatype handle, int depth) {
  MPIR_Datatype* datatype;
  MPI_Aint most = 0;
  int* ints;
  MPI_Aint *aints, *counts;
  MPI_Datatype* types;

  if (HANDLE_IS_BUILTIN(handle)) return alignment_of_basic(handle);
  MPIR_Datatype_get_ptr(handle, datatype);
  if (datatype->size == 0) return 1;
  if (depth == 0 || datatype->contents == NULL || datatype->contents->nr_types < 1 ||
      datatype->contents->nr_counts > 0)
    return 0;
  MPIR_Datatype_access_contents(datatype->contents, &ints, &aints, &counts, &types);
  if (!is_struct(datatype->contents->combiner)) return alignment_of(types[0], depth - 1);
  for (int i = 0; i < ints[0]; i++) {
    MPI_Aint alignment;
    if (ints[i + 1] == 0) continue;
    alignment = alignment_of(types[i], depth - 1);
    if (alignment == 0) return 0;
    most = MPL_MAX(most, alignment);
  }
  return most;
}

/* ---- size and bounds ---- */

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
bool MPIDI_MAD_fields_bounds(const MPIDI_MAD_fields_t* list, MPIR_Datatype* out) {
  const int count = list->count;
  const int* const lengths = list->lengths;
  const MPI_Datatype* const types = list->types;
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
    add_field(&all, lengths[i], list->displacements[i], &type);
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

/* Of fields of basic types that have elements: their bounds are those of their bytes. */
typedef struct {
  MPI_Aint lb, ub, size;
  MPI_Aint gaps; /* 0: they are one run */
} bytes_t;

static void set_bytes(const bytes_t* bytes, MPI_Aint padding, MPIDI_MAD_fields_t* list,
                      MPIR_Datatype* out) {
  list->is_run = bytes->gaps == 0;
  out->true_lb = out->lb = bytes->lb;
  out->true_ub = bytes->ub;
  out->ub = bytes->ub + padding;
  out->size = bytes->size;
  out->extent = out->ub - out->lb;
  out->is_contig = bytes->gaps == 0 && out->extent == bytes->size;
  out->typerep.num_contig_blocks = list->count;
}

/* Of fields that are alike and lie one behind the other.  False: they are not of a basic type, or
 * have no elements. */
static bool describe_ascending(MPIDI_MAD_fields_t* list, MPIR_Datatype* out) {
  const MPI_Datatype type = list->types[0];
  const MPI_Aint element = MPIR_Datatype_get_basic_size(type), each = element * list->lengths[0];
  const MPI_Aint first = list->displacements[0], last = list->displacements[list->count - 1];
  const MPI_Aint size = list->count * each, extent = last + each - first;
  const bytes_t all = {first, last + each, size, extent - size};

  if (!HANDLE_IS_BUILTIN(type) || each <= 0) return false;
  set_bytes(&all, 0, list, out);
  out->builtin_element_size = element;
  out->basic_type = type;
  return true;
}

/* False: some are not of basic types, or have no elements, or MPICH is to make the struct. */
static bool describe_basic(MPIDI_MAD_fields_t* list, MPIR_Datatype* out) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Aint element = 0, end = list->displacements[0], alignment = 0, padding = 0;
  MPI_Aint other_elements = 0; /* not 0: some differ from the first */
  bytes_t all = {end, end, 0, 0};
  const MPI_Aint first_element = MPIR_Datatype_get_basic_size(list->types[0]);
  bool one_type = true;

  for (int i = 0; i < list->count; i++) {
    const MPI_Aint start = list->displacements[i];
    MPI_Aint bytes;
    if (list->types[i] != type) {
      one_type = (i == 0);
      type = list->types[i];
      if (!HANDLE_IS_BUILTIN(type)) return false;
      element = MPIR_Datatype_get_basic_size(type);
      alignment = MPL_MAX(alignment, alignment_of_basic(type));
      other_elements |= element ^ first_element;
    }
    bytes = element * list->lengths[i];
    if (bytes <= 0) return false;
    all.gaps |= start ^ end;
    end = start + bytes;
    all.lb = MPL_MIN(all.lb, start);
    all.ub = MPL_MAX(all.ub, end);
    all.size += bytes;
  }
  if (!one_type) padding = (all.ub - all.lb) % alignment;
  if (padding != 0 && other_elements == 0) return false;
  if (padding != 0) padding = alignment - padding;
  set_bytes(&all, padding, list, out);
  out->builtin_element_size = other_elements ? -1 : first_element;
  out->basic_type = one_type ? type : MPI_DATATYPE_NULL;
  return true;
}

/* ---- memory of lists ---- */

/* Some is kept, by the power of 2 of fields that it has room for. */
enum { MOST_KEPT = 8, POWERS = 7 };

static struct {
  MPIDI_MAD_fields_t* first;
  int count;
} kept[POWERS];

static inline int power_of(int fields) {
  return fields > 1 ? 32 - __builtin_clz((unsigned)fields - 1) : 0;
}

/* Of a struct's contents, or of a list's, whose fields have arrays of their own behind them. */
static const size_t field_bytes = sizeof(MPI_Datatype) + sizeof(int) + sizeof(MPI_Aint);

static size_t contents_bytes(int power) {
  const size_t bytes = sizeof(MPIDI_MAD_fields_t) + sizeof(MPI_Datatype) + sizeof(int) +
                       (field_bytes << power) + 4 * MAX_ALIGNMENT;

  return bytes + MAX_ALIGNMENT - bytes % MAX_ALIGNMENT;
}

static MPIDI_MAD_fields_t* allocate(int power) {
  MPIDI_MAD_fields_t* list = kept[power].first;

  if (unlikely(list == NULL))
    return MPL_malloc(contents_bytes(power) + (field_bytes << power), MPL_MEM_DATATYPE);
  kept[power].first = list->next;
  kept[power].count--;
  return list;
}

void MPIDI_MAD_fields_give_back(MPIDI_MAD_fields_t* list) {
  const int power = power_of(list->count);

  if (kept[power].count == MOST_KEPT) {
    MPL_free(list);
    return;
  }
  list->next = kept[power].first;
  kept[power].first = list;
  kept[power].count++;
}

void MPIDI_MAD_struct_finalize(void) {
  for (int power = 0; power < POWERS; power++) {
    while (kept[power].first) MPL_free(allocate(power));
  }
}

/* Copies the fields.  True: they are alike, and each begins at the end of the one before or behind
 * it, as most do.  Found out on the way; compilers make vectors of these loops. */
__attribute__((optimize("O3"))) static bool copy_ascending(int count, const int* restrict lengths,
                                                           const MPI_Aint* restrict displacements,
                                                           const MPI_Datatype* restrict types,
                                                           int* restrict to_lengths,
                                                           MPI_Aint* restrict to_displacements,
                                                           MPI_Datatype* restrict to_types) {
  const int length = lengths[0];
  const MPI_Datatype type = types[0];
  const uint64_t each = (uint64_t)length * MPIR_Datatype_get_basic_size(type);
  int other = 0;      /* not 0: one was */
  uint64_t steps = 0; /* the highest bit: one is negative */
  uint64_t far =
      (uint64_t)displacements[0] + MPIDI_MAD_NEAR; /* 2 * MPIDI_MAD_NEAR or more: one was */

  for (int i = 0; i < count; i++) {
    other |= (lengths[i] ^ length) | (types[i] ^ type);
    to_lengths[i] = lengths[i];
    to_types[i] = types[i];
  }
  to_displacements[0] = displacements[0];
  for (int i = 1; i < count; i++) {
    steps |= (uint64_t)displacements[i] - (uint64_t)displacements[i - 1] - each;
    far |= (uint64_t)displacements[i] + MPIDI_MAD_NEAR;
    to_displacements[i] = displacements[i];
  }
  return other == 0 && (int64_t)steps >= 0 && far < 2 * MPIDI_MAD_NEAR;
}

MPIDI_MAD_fields_t* MPIDI_MAD_fields_new(int count) {
  MPIDI_MAD_fields_t* list = allocate(power_of(count));

  if (unlikely(list == NULL)) return NULL;
  list->count = list->held = count;
  list->is_run = list->is_list = false;
  list->uses = 0;
  list->first = 0;
  return list;
}

char* MPIDI_MAD_fields_arrays(MPIDI_MAD_fields_t* list) {
  return (char*)list + contents_bytes(power_of(list->count));
}

/* The fields of a type that is made. */
typedef struct {
  int count;
  const int* lengths;
  const MPI_Aint* displacements;
  const MPI_Datatype* types;
} given_t;

/* NULL: there is no memory for it. */
static MPIDI_MAD_fields_t* new_struct(const given_t* given, bool* ascending) {
  const int count = given->count;
  MPIDI_MAD_fields_t* list = MPIDI_MAD_fields_new(count);
  MPI_Aint* counts;

  if (unlikely(list == NULL)) return NULL;
  list->contents = (MPIR_Datatype_contents){
      .combiner = MPI_COMBINER_STRUCT, .nr_ints = count + 1, .nr_aints = count, .nr_types = count};
  MPIR_Datatype_access_contents(&list->contents, &list->lengths, &list->displacements, &counts,
                                &list->types);
  *list->lengths++ = count; /* the first of MPICH's integers */
  *ascending = copy_ascending(count, given->lengths, given->displacements, given->types,
                              list->lengths, list->displacements, list->types);
  return list;
}

void MPIDI_MAD_free_fields(MPIR_Datatype* datatype) {
  MPIDI_MAD_fields_t* list;

  if (!MPIDI_MAD_has_fields(datatype)) return;
  list = MPIDI_MAD_fields_of(datatype);
  for (int i = 0; i < list->held; i++) MPIR_Datatype_release_if_not_builtin(list->types[i]);
  MPIDI_MAD_fields_give_back(list);
  datatype->contents = NULL;
  MPIDI_MAD_DT(datatype)->fields = NULL;
}

/* ---- making one ---- */

/* False: MPICH is to make this struct. */
static bool describe(MPIDI_MAD_fields_t* list, bool ascending, bool any, MPIR_Datatype* out) {
  list->basic = (ascending && describe_ascending(list, out)) || describe_basic(list, out);
  list->each = ascending && list->basic ? out->builtin_element_size * list->lengths[0] : 0;
  if (list->basic) list->held = 0;
  return list->basic || (any && MPIDI_MAD_fields_bounds(list, out));
}

void MPIDI_MAD_fields_complete(MPIDI_MAD_fields_t* list, MPIR_Datatype* made) {
  MPIR_Object_set_ref(made, 1);
  made->contents = &list->contents;
  made->is_committed = 0;
  made->attributes = NULL;
  made->name[0] = '\0';
  made->flattened = NULL;
  made->typerep.handle = MPIR_TYPEREP_HANDLE_NULL;
  *MPIDI_MAD_DT(made) = (MPIDI_MAD_dt_t){NULL, NULL, MPIDI_MAD_DT(made)};
  for (int i = 0; i < list->held; i++) MPIR_Datatype_add_ref_if_not_builtin(list->types[i]);
}

/* Of fields of basic types, or `any`.  False: MPICH is to make this struct. */
static bool create(const given_t* given, bool any, MPI_Datatype* newtype) {
  MPIR_Datatype* made;
  MPIDI_MAD_fields_t* list;
  bool ascending;

  if (given->count < 1 || given->count > MPIDI_MAD_FIELDS) return false;
  if (!any && !HANDLE_IS_BUILTIN(given->types[0])) return false; /* MPICH asks again for any */
  list = new_struct(given, &ascending);
  if (list == NULL) return false;
  made = MPIR_Handle_obj_alloc(&MPIR_Datatype_mem);
  if (made == NULL || !describe(list, ascending, any, made)) {
    if (made) MPIR_Handle_obj_free(&MPIR_Datatype_mem, made);
    MPIDI_MAD_fields_give_back(list);
    return false;
  }
  MPIDI_MAD_fields_complete(list, made);
  made->n_builtin_elements = -1; /* not known, as of every struct of MPICH's */
  *newtype = made->handle;
  return true;
}

bool MPIDI_MAD_create_basic_struct(int count, const int* lengths, const MPI_Aint* displacements,
                                   const MPI_Datatype* types, MPI_Datatype* newtype) {
  const given_t given = {count, lengths, displacements, types};

  return lengths && displacements && types && newtype && create(&given, false, newtype);
}

bool MPIDI_MAD_create_struct(int count, const int* lengths, const MPI_Aint* displacements,
                             const MPI_Datatype* types, MPI_Datatype* newtype) {
  const given_t given = {count, lengths, displacements, types};

  return create(&given, true, newtype);
}

/* ---- committed, and freed ---- */

/* NULL: it is no type of few fields, or no datatype at all. */
static MPIR_Datatype* struct_of(const MPI_Datatype* handle) {
  MPIR_Datatype* datatype;

  if (handle == NULL || HANDLE_GET_MPI_KIND(*handle) != MPIR_DATATYPE || HANDLE_IS_BUILTIN(*handle))
    return NULL;
  MPIR_Datatype_get_ptr(*handle, datatype);
  return datatype && MPIDI_MAD_has_fields(datatype) ? datatype : NULL;
}

bool MPIDI_MAD_commit(const MPI_Datatype* handle) {
  MPIR_Datatype* const datatype = struct_of(handle);

  if (datatype == NULL) return handle && MPIDI_MAD_is_pstruct(*handle);
  if (datatype->size > MPIDI_MAD_FIELDS_BYTES) return false;
  datatype->is_committed = 1;
  return true;
}

bool MPIDI_MAD_free(MPI_Datatype* handle) {
  MPIR_Datatype* const datatype = struct_of(handle);

  if (datatype == NULL) return handle && MPIDI_MAD_free_pstruct(handle);
  if (MPIR_Object_get_ref(datatype) > 1 || datatype->attributes || datatype->flattened ||
      datatype->typerep.handle != MPIR_TYPEREP_HANDLE_NULL || MPIDI_MAD_is_compiled(datatype))
    return false;
  MPIDI_MAD_free_fields(datatype);
  MPIR_Object_set_ref(datatype, 0);
  MPIR_Handle_obj_free(&MPIR_Datatype_mem, datatype);
  *handle = MPI_DATATYPE_NULL;
  return true;
}

/* ---- for MPICH's datatype engine ---- */

static void complete_struct(MPIR_Datatype* datatype) {
  MPI_Aint lengths[MPIDI_MAD_FIELDS];
  const MPIDI_MAD_fields_t* list;

  if (!MPIDI_MAD_has_fields(datatype)) return;
  list = MPIDI_MAD_fields_of(datatype);
  for (int i = 0; i < list->count; i++) lengths[i] = list->lengths[i];
  /* It also computes once more what is known already. */
  if (list->is_list)
    (void)MPIR_Typerep_create_hindexed(list->count, lengths, list->displacements, list->types[0],
                                       datatype);
  else
    (void)MPIR_Typerep_create_struct(list->count, lengths, list->displacements, list->types,
                                     datatype);
}

/* MPI_Pack holds none of MPICH's locks.  A struct's fields are completed within it. */
void MPIDI_MAD_complete_struct(MPIR_Datatype* datatype) {
  static pthread_mutex_t completing = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

  pthread_mutex_lock(&completing);
  if (datatype->typerep.handle == MPIR_TYPEREP_HANDLE_NULL) complete_struct(datatype);
  pthread_mutex_unlock(&completing);
}
