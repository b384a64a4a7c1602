/* lists.c: lists of blocks of one type, those of few blocks above all, which the device makes and
 * moves by itself.
 *
 * Random lists by each of the four constructors, of basic types, padded structs, and random derived
 * types, in any order, with gaps, none, and empty blocks, are made twice: by the constructor, and
 * by its large-count twin, which is MPICH's own.  Both must have the same bounds and pack to the
 * same bytes, and what was given is shown again.  Messages of the first, more than are copied field
 * by field, are checked byte by byte against the literal type map.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/path.h"
#include "support/random.h"
#include "support/random_type.h"

enum { kRounds = 100, kMostBlocks = 70, kTag = 7, kMessages = 12 };

static int rank;
static uint32_t stamp;

typedef struct List {
  int combiner, count;
  int lengths[kMostBlocks], places[kMostBlocks]; /* places in elements, or */
  MPI_Aint displacements[kMostBlocks];
  RandomType old; /* with a map of its own, also of basic types */
  bool is_basic, is_random;
  MPI_Datatype type;
  TypeMap map;
  MPI_Aint extent;
} List;

static bool in_bytes(const List* list) {
  return list->combiner == MPI_COMBINER_HINDEXED || list->combiner == MPI_COMBINER_HINDEXED_BLOCK;
}

static bool even(const List* list) {
  return list->combiner == MPI_COMBINER_INDEXED_BLOCK ||
         list->combiner == MPI_COMBINER_HINDEXED_BLOCK;
}

/* Of 53 bytes in one run; resized to 56, or as MPICH pads it. */
static void padded_struct(RandomType* out, bool resized) {
  const int lengths[] = {3, 3, 1, 1};
  const MPI_Aint displacements[] = {0, 24, 48, 52};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Aint lb;
  CHECK_MPI(MPI_Type_create_struct(4, lengths, displacements, types, &out->type));
  if (resized) {
    MPI_Datatype inner = out->type;
    CHECK_MPI(MPI_Type_create_resized(inner, 0, 64, &out->type));
    MPI_Type_free(&inner);
  }
  CHECK_MPI(MPI_Type_commit(&out->type));
  for (int i = 0; i < 6; i++) typemap_add(&out->map, 8 * i, 8);
  typemap_add(&out->map, 48, 4);
  typemap_add(&out->map, 52, 1);
  MPI_Type_get_extent(out->type, &lb, &out->extent);
}

static void choose_old(List* list, Random* signature, uint64_t structure, uint64_t layout) {
  static const MPI_Datatype basics[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};
  const uint32_t kind = random_below(signature, 8);
  memset(&list->old, 0, sizeof(list->old));
  list->is_basic = kind < 4;
  list->is_random = kind >= 6;
  if (kind < 4) {
    int size;
    list->old.type = basics[kind];
    MPI_Type_size(list->old.type, &size);
    typemap_add(&list->old.map, 0, size);
    list->old.extent = size;
  } else if (kind < 6) {
    padded_struct(&list->old, kind == 4);
  } else {
    list->old = random_type_new(structure * 131, layout * 131);
  }
}

static void make(List* list) {
  const int n = list->count;
  if (list->combiner == MPI_COMBINER_INDEXED)
    CHECK_MPI(MPI_Type_indexed(n, list->lengths, list->places, list->old.type, &list->type));
  else if (list->combiner == MPI_COMBINER_HINDEXED)
    CHECK_MPI(MPI_Type_create_hindexed(n, list->lengths, list->displacements, list->old.type,
                                       &list->type));
  else if (list->combiner == MPI_COMBINER_INDEXED_BLOCK)
    CHECK_MPI(MPI_Type_create_indexed_block(n, list->lengths[0], list->places, list->old.type,
                                            &list->type));
  else
    CHECK_MPI(MPI_Type_create_hindexed_block(n, list->lengths[0], list->displacements,
                                             list->old.type, &list->type));
  CHECK_MPI(MPI_Type_commit(&list->type));
}

/* Signature and layout by a seed each, as random_type.h has it. */
static List list_new(uint64_t structure, uint64_t layout) {
  static const int combiners[] = {MPI_COMBINER_INDEXED, MPI_COMBINER_HINDEXED,
                                  MPI_COMBINER_INDEXED_BLOCK, MPI_COMBINER_HINDEXED_BLOCK};
  Random signature = random_from(structure), places = random_from(layout);
  List list;
  int64_t low, high, at = random_between(&places, 0, 5);
  MPI_Aint lb;
  memset(&list, 0, sizeof(list));
  list.combiner = combiners[random_below(&signature, 4)];
  list.count = random_below(&signature, 4) == 0 ? random_between(&signature, 1, kMostBlocks)
                                                : random_between(&signature, 1, 9);
  choose_old(&list, &signature, structure, layout);
  const int length = random_below(&signature, 2) ? 1 : random_between(&signature, 1, 4);
  const bool uneven = !even(&list) && random_below(&signature, 2);
  const bool downwards = random_below(&places, 3) == 0, close = random_below(&places, 3) == 0;
  /* Elements of random types may overlap the next one. */
  for (int i = 0; i < list.count; i++) {
    list.lengths[i] = uneven ? random_between(&signature, 0, 4) : length;
    if (list.is_random && list.lengths[i] > 1) list.lengths[i] = 1;
  }
  /* In steps that keep blocks apart, also where an element is longer than its extent. */
  typemap_bounds(&list.old.map, &low, &high);
  const int64_t extent = list.old.extent > 0 ? list.old.extent : 1;
  const int64_t reach = list.old.extent > 0 ? (high - low) / extent + 1 : high - low + 1;
  for (int n = 0; n < list.count; n++) {
    const int i = downwards ? list.count - 1 - n : n;
    list.places[i] = (int)at;
    at += list.lengths[i] + (close ? 0 : random_between(&places, 0, 3));
    if (list.old.extent <= 0 || high - low > list.old.extent) at += reach + list.lengths[i];
    list.displacements[i] = (MPI_Aint)(list.places[i] * list.old.extent);
    if (in_bytes(&list) && list.old.extent <= 0)
      list.displacements[i] = (MPI_Aint)(n * 5 * (high - low + 4 * (1 - list.old.extent)));
  }
  for (int i = 0; i < list.count; i++)
    for (int k = 0; k < list.lengths[i]; k++)
      typemap_append(&list.map, &list.old.map,
                     (int64_t)list.displacements[i] + (int64_t)k * list.old.extent);
  make(&list);
  MPI_Type_get_extent(list.type, &lb, &list.extent);
  return list;
}

/* Of both processes: those that lie in themselves are no use for messages. */
static bool usable(const List* list) {
  int own = list->old.extent > 0 || in_bytes(list) || list->count == 1, all;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

/* Of both processes: elements that do not overlap each other. */
static int elements_of(const List* list) {
  int64_t low, high;
  int own, all;
  typemap_bounds(&list->map, &low, &high);
  own = list->extent >= high - low ? 3 : 1;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

/* The type that it is made of first. */
static void list_free(List* list) {
  if (list->is_basic)
    typemap_free(&list->old.map);
  else
    random_type_free(&list->old);
  MPI_Type_free(&list->type);
  typemap_free(&list->map);
}

#if MPI_VERSION >= 4
static MPI_Datatype twin_of(const List* list) {
  MPI_Count lengths[kMostBlocks], places[kMostBlocks];
  MPI_Datatype twin;
  for (int i = 0; i < list->count; i++) {
    lengths[i] = list->lengths[i];
    places[i] = in_bytes(list) ? list->displacements[i] : list->places[i];
  }
  if (list->combiner == MPI_COMBINER_INDEXED)
    CHECK_MPI(MPI_Type_indexed_c(list->count, lengths, places, list->old.type, &twin));
  else if (list->combiner == MPI_COMBINER_HINDEXED)
    CHECK_MPI(MPI_Type_create_hindexed_c(list->count, lengths, places, list->old.type, &twin));
  else if (list->combiner == MPI_COMBINER_INDEXED_BLOCK)
    CHECK_MPI(
        MPI_Type_create_indexed_block_c(list->count, lengths[0], places, list->old.type, &twin));
  else
    CHECK_MPI(
        MPI_Type_create_hindexed_block_c(list->count, lengths[0], places, list->old.type, &twin));
  CHECK_MPI(MPI_Type_commit(&twin));
  return twin;
}

/* Of as many bytes, in the list and in a struct that has it. */
static void same_elements(const List* list, MPI_Datatype twin, uint64_t seed) {
  const MPI_Datatype types[2] = {list->type, twin};
  int size, lengths[2] = {1, 1};
  MPI_Aint lb, extent, displacements[2] = {0, 0};
  MPI_Type_size(twin, &size);
  MPI_Type_get_true_extent(twin, &lb, &extent);
  displacements[1] = lb + extent;
  for (int bytes = 0; bytes <= size && !list->is_random; bytes += size / 3 + 1) {
    int elements[2], inside[2];
    MPI_Count many[2];
    for (int i = 0; i < 2; i++) {
      const MPI_Datatype fields[2] = {types[i], MPI_DOUBLE};
      MPI_Datatype outer;
      MPI_Status status = {0};
      CHECK_MPI(MPI_Status_set_elements(&status, MPI_BYTE, bytes));
      CHECK_MPI(MPI_Get_elements(&status, types[i], &elements[i]));
      CHECK_MPI(MPI_Get_elements_x(&status, types[i], &many[i]));
      CHECK_MPI(MPI_Type_create_struct(2, lengths, displacements, fields, &outer));
      CHECK_MPI(MPI_Type_commit(&outer));
      CHECK_MPI(MPI_Get_elements(&status, outer, &inside[i]));
      MPI_Type_free(&outer);
    }
    CHECK(elements[0] == elements[1] && many[0] == many[1] && inside[0] == inside[1],
          "%d bytes are %d, %lld and %d elements, MPICH says %d, %lld and %d, seed %llu", bytes,
          elements[0], (long long)many[0], inside[0], elements[1], (long long)many[1], inside[1],
          (unsigned long long)seed);
  }
}

static void same_as_twin(const List* list, uint64_t seed) {
  MPI_Datatype twin = twin_of(list), nested[2];
  MPI_Aint bounds[2][4];
  int size[2], packed[2] = {0, 0};
  const MPI_Datatype types[2] = {list->type, twin};
  Image image = image_new(&list->map, list->extent, 1);
  char* bytes[2];
  same_elements(list, twin, seed); /* before MPICH's engine has to know the type */
  image_fill(&image, 1, true);
  for (int i = 0; i < 2; i++) {
    MPI_Type_size(types[i], &size[i]);
    MPI_Type_get_extent(types[i], &bounds[i][0], &bounds[i][1]);
    MPI_Type_get_true_extent(types[i], &bounds[i][2], &bounds[i][3]);
    /* Packed as part of another type, for which MPICH's engine has to know it. */
    CHECK_MPI(MPI_Type_contiguous(1, types[i], &nested[i]));
    CHECK_MPI(MPI_Type_commit(&nested[i]));
    bytes[i] = calloc(1, (size_t)size[i] + 1);
    CHECK_MPI(MPI_Pack(image.base, 1, seed % 2 ? nested[i] : types[i], bytes[i], size[i],
                       &packed[i], MPI_COMM_WORLD));
  }
  CHECK(size[0] == size[1] && memcmp(bounds[0], bounds[1], sizeof(bounds[0])) == 0,
        "size %d of [%ld, %ld), true [%ld, %ld), MPICH's %d, [%ld, %ld), [%ld, %ld), seed %llu",
        size[0], (long)bounds[0][0], (long)bounds[0][1], (long)bounds[0][2], (long)bounds[0][3],
        size[1], (long)bounds[1][0], (long)bounds[1][1], (long)bounds[1][2], (long)bounds[1][3],
        (unsigned long long)seed);
  CHECK(packed[0] == packed[1] && memcmp(bytes[0], bytes[1], (size_t)packed[0]) == 0,
        "packed %d bytes, MPICH's %d, or others, seed %llu", packed[0], packed[1],
        (unsigned long long)seed);
  for (int i = 0; i < 2; i++) {
    free(bytes[i]);
    MPI_Type_free(&nested[i]);
  }
  MPI_Type_free(&twin);
  image_free(&image);
}
#else
static void same_as_twin(const List* list, uint64_t seed) { (void)list, (void)seed; }
#endif

static void contents(const List* list) {
  int ints, aints, types, combiner, numbers[2 * kMostBlocks + 1], i = 0;
  const int lengths = even(list) ? 1 : list->count;
  MPI_Aint displacements[kMostBlocks];
  MPI_Datatype old;
  CHECK_MPI(MPI_Type_get_envelope(list->type, &ints, &aints, &types, &combiner));
  CHECK(combiner == list->combiner && types == 1 && aints == (in_bytes(list) ? list->count : 0) &&
            ints == 1 + lengths + (in_bytes(list) ? 0 : list->count),
        "combiner %d of %d ints, %d addresses, %d types", combiner, ints, aints, types);
  CHECK_MPI(MPI_Type_get_contents(list->type, ints, aints, types, numbers, displacements, &old));
  CHECK(numbers[i++] == list->count, "%d blocks, not %d", numbers[0], list->count);
  for (int k = 0; k < lengths; k++, i++)
    CHECK(numbers[i] == list->lengths[k], "block %d of %d, not %d", k, numbers[i],
          list->lengths[k]);
  for (int k = 0; k < list->count; k++)
    CHECK(in_bytes(list) ? displacements[k] == list->displacements[k]
                         : numbers[i + k] == list->places[k],
          "the place of block %d", k);
  CHECK(!list->is_basic || old == list->old.type, "the list is of another type");
  if (!list->is_basic) MPI_Type_free(&old);
}

/* Elements of one's own layout into the other's. */
static void message(const List* list, MPI_Comm comm, int count, int how, uint64_t seed) {
  Image image = image_new(&list->map, list->extent, (size_t)count);
  MPI_Status status;
  MPI_Request request;
  int elements = -1;
  stamp++;
  image_fill(&image, stamp, rank == 0);
  if (rank == 0) {
    if (how % 3 == 0) {
      CHECK_MPI(MPI_Send(image.base, count, list->type, 1, kTag, comm));
    } else {
      CHECK_MPI(how % 3 == 1 ? MPI_Isend(image.base, count, list->type, 1, kTag, comm, &request)
                             : MPI_Issend(image.base, count, list->type, 1, kTag, comm, &request));
      CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
  } else {
    if (how % 2 == 0) {
      CHECK_MPI(MPI_Recv(image.base, count, list->type, 0, kTag, comm, &status));
    } else {
      CHECK_MPI(MPI_Irecv(image.base, count, list->type, 0, kTag, comm, &request));
      CHECK_MPI(MPI_Wait(&request, &status));
    }
    CHECK_IMAGE(&image, stamp, "list of seed %llu, message %d", (unsigned long long)seed, how);
    if (list->is_basic) {
      CHECK_MPI(MPI_Get_elements(&status, list->type, &elements));
      CHECK(elements == count * (int)list->map.count, "%d elements, not %d", elements,
            count * (int)list->map.count);
    }
  }
  image_free(&image);
}

/* The first block, where there is room for all. */
static void short_message(const List* list, MPI_Comm comm, uint64_t seed) {
  Image image = image_new(&list->map, list->extent, 1);
  const int first = list->lengths[0];
  MPI_Status status;
  stamp++;
  image_fill(&image, stamp, rank == 0);
  if (rank == 0)
    CHECK_MPI(
        MPI_Send((char*)image.base + list->displacements[0], first, list->old.type, 1, kTag, comm));
  else
    CHECK_MPI(MPI_Recv(image.base, 1, list->type, 0, kTag, comm, &status));
  if (rank == 1)
    CHECK_IMAGE_PREFIX(&image, stamp, list->old.map.count * (size_t)first,
                       "a block of the list of seed %llu", (unsigned long long)seed);
  image_free(&image);
}

int main(int argc, char** argv) {
  MPI_Comm comms[kPathCount];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kPathCount; i++) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    path_set(comms[i], kPaths[i]);
  }
  for (uint64_t seed = 1; seed <= kRounds; seed++) {
    List list = list_new(seed, seed * 2 + (uint64_t)rank);
    const bool sends = usable(&list);
    const int most = sends ? elements_of(&list) : 0;
    for (int how = 0; how < kMessages && sends; how++)
      message(&list, comms[0], 1 + how % most, how, seed);
    for (int i = 1; i < kPathCount && sends; i++) message(&list, comms[i], most, i, seed);
    list_free(&list);
    list = list_new(seed, seed * 2 + (uint64_t)rank);
    if (sends) short_message(&list, comms[0], seed);
    contents(&list);
    same_as_twin(&list, seed);
    list_free(&list);
  }
  for (int i = 0; i < kPathCount; i++) MPI_Comm_free(&comms[i]);
  return check_finish();
}
