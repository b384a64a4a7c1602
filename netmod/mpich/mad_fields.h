/* mad_fields.h: structs of few fields, which are their list of fields (mad_struct.c, mad_fields.c).
 */
#ifndef MAD_FIELDS_H_INCLUDED
#define MAD_FIELDS_H_INCLUDED

#include <stdbool.h>

#include "mad_core.h"

/* What MPICH knows as a type's contents, and shows of it; the arrays are in it. */
typedef struct MPIDI_MAD_fields {
  int count;
  bool basic;    /* all fields are of basic types and have elements */
  MPI_Aint each; /* bytes of each field, if they are basic, alike and in ascending order; else 0 */
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

#endif /* MAD_FIELDS_H_INCLUDED */
