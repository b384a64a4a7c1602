/* mad_fields.c: short messages of structs and lists of few fields, which are copied field by field.
 */
#include "mad_fields.h"

#include "mad_core.h"

enum { MOST_DEPTH = 8 /* of structs in structs */ };

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

static inline size_t bytes_of(const MPIDI_MAD_fields_t* fields, int i) {
  if (fields->each != 0) return (size_t)fields->each;
  return (size_t)fields->lengths[i] * (size_t)MPIR_Datatype_get_basic_size(fields->types[i]);
}

/* ---- all of an element whose fields are of basic types ---- */

/* In all of these `each`, the bytes of a field, is a constant, and `packing`, too. */
#define CONSTANT_INLINE static inline __attribute__((always_inline))

enum {
  WORD = sizeof(uint64_t),
  LITTLE = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ /* the first byte is the lowest */
};

/* The next fields, as many as make a word: a store for each of them takes longer. */
CONSTANT_INLINE uint64_t word_of(const char* memory, const MPI_Aint* displacements, int each) {
  const int fields = WORD / each;
  uint64_t word = 0;

#pragma GCC unroll 8
  for (int i = 0; i < fields; i++) {
    const int lower = LITTLE ? i : fields - 1 - i; /* fields below it in the word */
    uint64_t field = 0;
    memcpy((char*)&field + (LITTLE ? 0 : WORD - each), memory + displacements[i], (size_t)each);
    word |= field << (8 * each * lower);
  }
  return word;
}

CONSTANT_INLINE void move_alike(char* packed, char* memory, const MPIDI_MAD_fields_t* fields,
                                int each, bool packing) {
  const MPI_Aint* const displacements = fields->displacements;
  const int count = fields->count;
  int i = 0;

  for (; packing && each < WORD && count - i >= WORD / each; i += WORD / each, packed += WORD) {
    const uint64_t word = word_of(memory, displacements + i, each);
    memcpy(packed, &word, WORD);
  }
#pragma GCC unroll 4
  for (; i < count; i++, packed += each) {
    char* const field = memory + displacements[i];
    if (packing)
      memcpy(packed, field, (size_t)each);
    else
      memcpy(field, packed, (size_t)each);
  }
}

/* A loop for each length that the compiler has an instruction for. */
CONSTANT_INLINE void move_basic(char* packed, char* memory, const MPIDI_MAD_fields_t* fields,
                                bool packing) {
  memory += fields->first;
  switch (fields->each) {
    case 1:
      move_alike(packed, memory, fields, 1, packing);
      return;
    case 2:
      move_alike(packed, memory, fields, 2, packing);
      return;
    case 4:
      move_alike(packed, memory, fields, 4, packing);
      return;
    case 8:
      move_alike(packed, memory, fields, 8, packing);
      return;
    case 16:
      move_alike(packed, memory, fields, 16, packing);
      return;
    default:
      break;
  }
  for (int i = 0; i < fields->count; i++) {
    const size_t bytes = bytes_of(fields, i);
    char* const field = memory + fields->displacements[i];
    if (packing)
      MPIDI_MAD_copy_run(field, packed, bytes);
    else
      MPIDI_MAD_copy_run(packed, field, bytes);
    packed += bytes;
  }
}

static bool moved_basic(place_t* place, char* memory, const MPIDI_MAD_fields_t* fields,
                        const MPIR_Datatype* datatype) {
  if (!fields->basic || place->left < (size_t)datatype->size) return false;
  if (place->packing)
    move_basic(place->packed, memory, fields, true);
  else
    move_basic(place->packed, memory, fields, false);
  place->packed += datatype->size;
  place->left -= (size_t)datatype->size;
  return true;
}

/* ---- others ---- */

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
  const MPIDI_MAD_fields_t* fields;
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
  if (depth == 0 || !MPIDI_MAD_has_fields(datatype))
    return move_compiled(place, memory, count, datatype);
  fields = MPIDI_MAD_fields_of(datatype);
  /* A list in another type, whose uses are not counted. */
  if (MPIDI_MAD_is_compiled(datatype) || (fields->is_list && !fields->basic && depth < MOST_DEPTH))
    return move_compiled(place, memory, count, datatype);
  if (fields->is_run && count == 1) {
    move_run(place, memory + datatype->true_lb, (size_t)datatype->size);
    return MPI_SUCCESS;
  }
  for (MPI_Aint element = 0; element < count; element++, memory += datatype->extent) {
    if (moved_basic(place, memory, fields, datatype)) continue;
    for (int i = 0; i < fields->count && mpi_errno == MPI_SUCCESS && place->left > 0; i++)
      mpi_errno = move_elements(place, memory + fields->displacements[i], fields->lengths[i],
                                fields->types[i], depth - 1);
  }
  return mpi_errno;
}

void MPIDI_MAD_write_fields(const void* context, void* packed) {
  const MPIDI_MAD_elements_t* const elements = context;
  const MPIDI_MAD_fields_t* const fields = MPIDI_MAD_fields_of(elements->datatype);
  char *memory = (char*)elements->buf, *out = packed;

  for (MPI_Aint element = 0; element < elements->count; element++) {
    move_basic(out, memory, fields, true);
    out += elements->datatype->size;
    memory += elements->datatype->extent;
  }
}

static void count_use(MPI_Datatype datatype) {
  MPIR_Datatype* object;

  MPIR_Datatype_get_ptr(datatype, object);
  MPIDI_MAD_fields_used(MPIDI_MAD_fields_of(object));
}

int MPIDI_MAD_pack_fields(const void* buf, MPI_Aint count, MPI_Datatype datatype, void* packed,
                          MPI_Aint* bytes) {
  place_t place = {packed, MPIDI_MAD_FIELDS_BYTES, true};
  const int mpi_errno = move_elements(&place, (char*)buf, count, datatype, MOST_DEPTH);

  count_use(datatype);
  *bytes = (MPI_Aint)(MPIDI_MAD_FIELDS_BYTES - place.left);
  return mpi_errno;
}

int MPIDI_MAD_unpack_fields(const void* packed, MPI_Aint bytes, void* buf, MPI_Aint count,
                            MPI_Datatype datatype) {
  place_t place = {(char*)packed, (size_t)bytes, false};

  count_use(datatype);
  return move_elements(&place, buf, count, datatype, MOST_DEPTH);
}
