/* mad_fields.h: structs and lists of few fields, which are their list of fields (mad_struct.c,
 * mad_list.c, mad_fields.c).
 */
#ifndef MAD_FIELDS_H_INCLUDED
#define MAD_FIELDS_H_INCLUDED

#include <stdbool.h>

#include "mad_core.h"

/* What MPICH knows as a type's contents, and shows of it; those of a struct are its arrays. */
typedef struct MPIDI_MAD_fields {
  int count;
  bool basic;     /* all fields are of basic types and have elements, or are runs of `each` bytes */
  bool is_run;    /* they are basic, and each begins where the one before ends */
  bool is_list;   /* all are of one type, and it is counted how often they were copied: */
  unsigned uses;  /* after some times the type is compiled */
  int held;       /* types, from the first on, that are not freed before this one */
  MPI_Aint each;  /* bytes of each field, if they are basic and alike; else 0 */
  MPI_Aint first; /* where the bytes of a field begin */
  int* lengths;
  MPI_Aint* displacements;
  MPI_Datatype* types;
  struct MPIDI_MAD_fields* next; /* of lists that no type has */
  MPIR_Datatype_contents contents;
} MPIDI_MAD_fields_t;

/* Of a type that has one. */
static inline MPIDI_MAD_fields_t* MPIDI_MAD_fields_of(const MPIR_Datatype* datatype) {
  return (MPIDI_MAD_fields_t*)((char*)datatype->contents - offsetof(MPIDI_MAD_fields_t, contents));
}

/* So often data of a list are copied field by field. */
enum { MPIDI_MAD_FIELDS_USES = 8 };

/* MPI_Pack holds none of MPICH's locks; one more or less is nothing. */
static inline unsigned MPIDI_MAD_fields_uses(const MPIDI_MAD_fields_t* fields) {
  return __atomic_load_n(&fields->uses, __ATOMIC_RELAXED);
}
static inline void MPIDI_MAD_fields_used(MPIDI_MAD_fields_t* fields) {
  if (fields->is_list)
    __atomic_store_n(&fields->uses, MPIDI_MAD_fields_uses(fields) + 1, __ATOMIC_RELAXED);
}

/* Whether a short message of such data is copied field by field, into at most
 * MPIDI_MAD_FIELDS_BYTES, rather than have its type compiled. */
static inline bool MPIDI_MAD_by_fields(MPI_Aint count, MPI_Datatype datatype) {
  MPIR_Datatype* object;
  const MPIDI_MAD_fields_t* fields;

  if (HANDLE_IS_BUILTIN(datatype) || count < 1 || count > MPIDI_MAD_FIELDS) return false;
  MPIR_Datatype_get_ptr(datatype, object);
  if (!MPIDI_MAD_has_fields(object) || object->is_contig ||
      object->size * count > MPIDI_MAD_FIELDS_BYTES || MPIDI_MAD_is_compiled(object))
    return false;
  fields = MPIDI_MAD_fields_of(object);
  return fields->count * count <= MPIDI_MAD_FIELDS &&
         (!fields->is_list || MPIDI_MAD_fields_uses(fields) < MPIDI_MAD_FIELDS_USES);
}

/* Displacements between which no difference overflows: from - to +. */
#define MPIDI_MAD_NEAR (UINT64_C(1) << 61)

/* mad_struct.c: for as many fields, which are all to be held; NULL: there is no memory for it. */
MPIDI_MAD_fields_t* MPIDI_MAD_fields_new(int count);
void MPIDI_MAD_fields_give_back(MPIDI_MAD_fields_t* list);
/* Room for the arrays of a list whose contents are not its fields. */
char* MPIDI_MAD_fields_arrays(MPIDI_MAD_fields_t* list);
/* Size and bounds; false: MPICH is to make this type. */
bool MPIDI_MAD_fields_bounds(const MPIDI_MAD_fields_t* list, MPIR_Datatype* out);
/* All else but the number of its elements; the fields are held from then on. */
void MPIDI_MAD_fields_complete(MPIDI_MAD_fields_t* list, MPIR_Datatype* made);

#endif /* MAD_FIELDS_H_INCLUDED */
