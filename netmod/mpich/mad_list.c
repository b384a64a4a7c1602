/* mad_list.c: what MPI_Type_indexed() and its kin make of few blocks: like structs of few fields
 * (mad_struct.c) a list of them, of which nothing is compiled before it is needed.
 *
 * Programs whose particles move make one for each message.  One that is used again and again is
 * compiled after some messages, which are copied faster then.
 */
#include <stdint.h>

#include "mad_core.h"
#include "mad_fields.h"
#include "mad_struct.h"

/* What MPICH shows of it: the first of its integers are the count, and the length that all blocks
 * have, or those of each; then places in elements, if there are some. */
static void set_contents(const MPIDI_MAD_list_t* given, MPIDI_MAD_fields_t* list) {
  const int count = given->count, lengths = given->lengths ? count : 1;
  int* ints;
  MPI_Aint *aints, *counts;
  MPI_Datatype* types;

  list->contents = (MPIR_Datatype_contents){.combiner = given->combiner,
                                            .nr_ints = 1 + lengths + (given->places ? count : 0),
                                            .nr_aints = given->places ? 0 : count,
                                            .nr_types = 1};
  MPIR_Datatype_access_contents(&list->contents, &ints, &aints, &counts, &types);
  *ints++ = count;
  memcpy(ints, given->lengths ? given->lengths : &given->length, sizeof(int) * (size_t)lengths);
  if (given->places)
    memcpy(ints + lengths, given->places, sizeof(int) * (size_t)count);
  else
    memcpy(aints, given->displacements, sizeof(MPI_Aint) * (size_t)count);
  types[0] = given->type;
}

/* The same as fields.  False: a block is empty, or lies where no type can. */
static bool set_fields(const MPIDI_MAD_list_t* given, MPI_Aint extent, MPIDI_MAD_fields_t* list) {
  char* const arrays = MPIDI_MAD_fields_arrays(list);
  const size_t count = (size_t)given->count;
  bool right = true;

  list->displacements = (MPI_Aint*)arrays;
  list->lengths = (int*)(arrays + count * sizeof(MPI_Aint));
  list->types = (MPI_Datatype*)(arrays + count * (sizeof(MPI_Aint) + sizeof(int)));
  for (size_t i = 0; i < count; i++) {
    list->lengths[i] = given->lengths ? given->lengths[i] : given->length;
    list->displacements[i] = given->places ? given->places[i] * extent : given->displacements[i];
    list->types[i] = given->type;
    right = right && list->lengths[i] > 0 &&
            (uint64_t)list->displacements[i] + MPIDI_MAD_NEAR < 2 * MPIDI_MAD_NEAR;
  }
  return right;
}

/* Bytes of each block, if all have as many; else 0. */
static MPI_Aint bytes_of_each(const MPIDI_MAD_fields_t* list, MPI_Aint size) {
  for (int i = 1; i < list->count; i++)
    if (list->lengths[i] != list->lengths[0]) return 0;
  return list->lengths[0] * size;
}

/* What is resized or a copy has the elements of another type. */
static const MPIR_Datatype* resized(const MPIR_Datatype* type) {
  while (!MPIDI_MAD_is_compiled(type) && type->contents &&
         (type->contents->combiner == MPI_COMBINER_RESIZED ||
          type->contents->combiner == MPI_COMBINER_DUP)) {
    int* ints;
    MPI_Aint *aints, *counts;
    MPI_Datatype* types;
    MPIR_Datatype* inner;
    MPIR_Datatype_access_contents(type->contents, &ints, &aints, &counts, &types);
    if (HANDLE_IS_BUILTIN(types[0])) break;
    MPIR_Datatype_get_ptr(types[0], inner);
    type = inner;
  }
  return type;
}

/* Whether an element of a derived type is one run, `first` bytes behind its place. */
static bool is_run(const MPIR_Datatype* type, MPI_Aint* first) {
  const MPIR_Datatype* const elements = resized(type);
  mad_type_info info;

  *first = type->true_lb;
  if (MPIDI_MAD_is_compiled(elements))
    return mad_type_query(MPIDI_MAD_DT(elements)->type, &info) >= 0 && info.runs == 1;
  return elements->is_contig ||
         (MPIDI_MAD_has_fields(elements) && MPIDI_MAD_fields_of(elements)->is_run);
}

/* Blocks of one run each are moved as such. */
static void find_runs(MPIDI_MAD_fields_t* list, const MPIR_Datatype* type) {
  const MPI_Aint each = bytes_of_each(list, type->size);

  list->each = 0;
  list->basic = false;
  if (each == 0 || !(type->is_contig || list->lengths[0] == 1)) return;
  if (type->is_contig) {
    list->first = type->true_lb;
    list->basic = true;
  } else {
    list->basic = is_run(type, &list->first);
  }
  if (list->basic) list->each = each;
}

static bool describe_list(const MPIDI_MAD_list_t* given, MPIDI_MAD_fields_t* list,
                          MPIR_Datatype* out) {
  MPI_Aint size, extent;
  MPIR_Datatype* derived;
  MPI_Aint elements = 0;

  MPIR_Datatype_get_size_macro(given->type, size);
  MPIR_Datatype_get_extent_macro(given->type, extent);
  /* MPICH's engine does not know the second. */
  if (size <= 0 || given->type == MPIX_C_FLOAT16 || !set_fields(given, extent, list)) return false;
  if (!MPIDI_MAD_fields_bounds(list, out)) return false;
  for (int i = 0; i < list->count; i++) elements += list->lengths[i];
  if (HANDLE_IS_BUILTIN(given->type)) {
    list->basic = true;
    list->each = bytes_of_each(list, size);
    list->held = 0;
    out->n_builtin_elements = elements;
  } else {
    MPIR_Datatype_get_ptr(given->type, derived);
    find_runs(list, derived);
    list->held = 1;
    out->n_builtin_elements = elements * derived->n_builtin_elements;
  }
  set_contents(given, list);
  list->is_list = true;
  return true;
}

bool MPIDI_MAD_create_list(const MPIDI_MAD_list_t* given, MPI_Datatype* newtype) {
  MPIR_Datatype* made;
  MPIDI_MAD_fields_t* list;

  if (given->count < 1 || given->count > MPIDI_MAD_FIELDS) return false;
  list = MPIDI_MAD_fields_new(given->count);
  if (list == NULL) return false;
  made = MPIR_Handle_obj_alloc(&MPIR_Datatype_mem);
  if (made == NULL || !describe_list(given, list, made)) {
    if (made) MPIR_Handle_obj_free(&MPIR_Datatype_mem, made);
    MPIDI_MAD_fields_give_back(list);
    return false;
  }
  MPIDI_MAD_fields_complete(list, made);
  *newtype = made->handle;
  return true;
}
