/* structs.c: structs, those of few fields above all, which the device makes and moves by itself.
 *
 * Random structs of basic and derived types, with fields in any order, gaps, none, and empty
 * fields, some of fields that are all alike, are made twice: by MPI_Type_create_struct, and by its
 * large-count twin, which is MPICH's own.  Both must have the same bounds and pack to the same
 * bytes; messages of the first, sent and received in every way, are checked byte by byte against
 * the literal type map.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/path.h"
#include "support/random.h"
#include "support/random_type.h"

enum { kRounds = 120, kMostFields = 70, kTag = 7 };

static int rank;
static uint32_t stamp;

typedef struct Struct {
  int count;
  int lengths[kMostFields];
  MPI_Aint displacements[kMostFields];
  MPI_Datatype types[kMostFields];
  RandomType derived[kMostFields]; /* of those that are */
  bool is_derived[kMostFields];
  MPI_Datatype type;
  TypeMap map; /* of one element */
  MPI_Aint extent;
} Struct;

static const MPI_Datatype kBasics[] = {
    MPI_BYTE, MPI_CHAR,    MPI_SHORT,  MPI_INT,         MPI_LONG_LONG,        MPI_FLOAT,
    MPI_INT,  MPI_INT32_T, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_2INT};
enum { kBasicCount = sizeof(kBasics) / sizeof(kBasics[0]) };

/* What one element of the i-th field's type has, at `at`. */
static void add_element(Struct* s, int i, int64_t at) {
  int size;
  if (s->is_derived[i]) {
    typemap_append(&s->map, &s->derived[i].map, at);
  } else if (s->types[i] == MPI_2INT || s->types[i] == MPI_C_DOUBLE_COMPLEX) {
    MPI_Type_size(s->types[i], &size);
    typemap_add(&s->map, at, size / 2);
    typemap_add(&s->map, at + size / 2, size / 2);
  } else {
    MPI_Type_size(s->types[i], &size);
    typemap_add(&s->map, at, size);
  }
}

/* Signature and layout by a seed each, as random_type.h has it. */
static Struct struct_new(uint64_t structure, uint64_t layout) {
  Random signature = random_from(structure), places = random_from(layout);
  Struct s = {0};
  const bool alike = random_below(&signature, 3) == 0;
  const int length = alike && random_below(&signature, 2) ? random_between(&signature, 1, 3) : 0;
  const uint32_t derived_in = 1 + random_below(&signature, 6);
  const bool padded = random_below(&places, 3) == 0, downwards = random_below(&places, 3) == 0;
  int64_t at = random_between(&places, -40, 40);
  MPI_Aint lb;
  s.count = random_below(&signature, 8) == 0 ? random_between(&signature, 1, kMostFields)
                                             : random_between(&signature, 1, 12);
  for (int i = 0; i < s.count; i++) {
    s.lengths[i] = length ? length : random_between(&signature, 0, 3);
    s.types[i] = alike && i > 0 ? s.types[0] : kBasics[random_below(&signature, kBasicCount)];
    /* MPICH's engine, on path "off", loses the 6 bytes of each that are no part of its value. */
    if (alike && s.types[i] == MPI_LONG_DOUBLE) s.types[i] = MPI_C_DOUBLE_COMPLEX;
    s.is_derived[i] = !alike && s.count < 13 && random_below(&signature, derived_in + 3) == 0;
    if (s.is_derived[i]) {
      const uint64_t within = structure * 131 + (uint64_t)i;
      s.derived[i] = random_type_new(within, layout * 131 + (uint64_t)i);
      s.types[i] = s.derived[i].type;
    }
  }
  for (int n = 0; n < s.count; n++) {
    const int i = downwards ? s.count - 1 - n : n;
    MPI_Aint extent, low, span;
    MPI_Type_get_extent(s.types[i], &lb, &extent);
    MPI_Type_get_true_extent(s.types[i], &low, &span);
    const int64_t rest = (int64_t)extent * (s.lengths[i] > 0 ? s.lengths[i] - 1 : 0);
    const int64_t first = low + (rest < 0 ? rest : 0), last = low + span + (rest > 0 ? rest : 0);
    s.displacements[i] = (MPI_Aint)(at - first);
    if (s.lengths[i] > 0) at += last - first;
    if (padded) at += random_between(&places, 0, 9);
  }
  for (int i = 0; i < s.count; i++) {
    MPI_Aint extent;
    MPI_Type_get_extent(s.types[i], &lb, &extent);
    for (int k = 0; k < s.lengths[i]; k++)
      add_element(&s, i, (int64_t)s.displacements[i] + (int64_t)k * extent);
  }
  CHECK_MPI(MPI_Type_create_struct(s.count, s.lengths, s.displacements, s.types, &s.type));
  CHECK_MPI(MPI_Type_commit(&s.type));
  MPI_Type_get_extent(s.type, &lb, &s.extent);
  return s;
}

static void struct_free(Struct* s) {
  MPI_Type_free(&s->type);
  for (int i = 0; i < s->count; i++)
    if (s->is_derived[i]) random_type_free(&s->derived[i]);
  typemap_free(&s->map);
}

/* Elements that do not overlap each other, or 1. */
static int elements_of(const Struct* s, int wanted) {
  int64_t low, high;
  typemap_bounds(&s->map, &low, &high);
  return s->extent >= high - low ? wanted : 1;
}

#if MPI_VERSION >= 4
static void same_as_twin(const Struct* s, uint64_t seed) {
  MPI_Count lengths[kMostFields], displacements[kMostFields];
  MPI_Datatype twin, copy;
  MPI_Aint lb, extent, twin_lb, twin_extent;
  int size, twin_size, packed = 0, twin_packed = 0, elements = elements_of(s, 2);
  for (int i = 0; i < s->count; i++) {
    lengths[i] = s->lengths[i];
    displacements[i] = s->displacements[i];
  }
  CHECK_MPI(MPI_Type_create_struct_c(s->count, lengths, displacements, s->types, &twin));
  CHECK_MPI(MPI_Type_commit(&twin));
  MPI_Type_size(s->type, &size);
  MPI_Type_size(twin, &twin_size);
  CHECK(size == twin_size, "size %d, MPICH's %d, seed %llu", size, twin_size,
        (unsigned long long)seed);
  MPI_Type_get_extent(s->type, &lb, &extent);
  MPI_Type_get_extent(twin, &twin_lb, &twin_extent);
  CHECK(lb == twin_lb && extent == twin_extent, "lb %ld extent %ld, MPICH's %ld %ld, seed %llu",
        (long)lb, (long)extent, (long)twin_lb, (long)twin_extent, (unsigned long long)seed);
  MPI_Type_get_true_extent(s->type, &lb, &extent);
  MPI_Type_get_true_extent(twin, &twin_lb, &twin_extent);
  CHECK(lb == twin_lb && extent == twin_extent,
        "true lb %ld extent %ld, MPICH's %ld %ld, seed %llu", (long)lb, (long)extent, (long)twin_lb,
        (long)twin_extent, (unsigned long long)seed);
  Image image = image_new(&s->map, s->extent, (size_t)elements);
  image_fill(&image, 1, true);
  char* bytes = calloc(1, (size_t)(size * elements) + 1);
  char* twin_bytes = calloc(1, (size_t)(size * elements) + 1);
  CHECK_MPI(MPI_Type_dup(s->type, &copy)); /* has MPICH's engine know the type */
  CHECK_MPI(MPI_Pack(image.base, elements, seed % 2 ? copy : s->type, bytes, size * elements,
                     &packed, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Pack(image.base, elements, twin, twin_bytes, size * elements, &twin_packed,
                     MPI_COMM_WORLD));
  CHECK(packed == twin_packed && memcmp(bytes, twin_bytes, (size_t)packed) == 0,
        "packed %d bytes, MPICH's %d, or others, seed %llu", packed, twin_packed,
        (unsigned long long)seed);
  free(bytes);
  free(twin_bytes);
  image_free(&image);
  MPI_Type_free(&copy);
  MPI_Type_free(&twin);
}
#else
static void same_as_twin(const Struct* s, uint64_t seed) { (void)s, (void)seed; }
#endif

static void contents(const Struct* s) {
  int ints, aints, types, combiner;
  CHECK_MPI(MPI_Type_get_envelope(s->type, &ints, &aints, &types, &combiner));
  CHECK(combiner == MPI_COMBINER_STRUCT && ints == s->count + 1 && aints == s->count &&
            types == s->count,
        "combiner %d of %d ints, %d addresses, %d types", combiner, ints, aints, types);
  int lengths[1 + kMostFields];
  MPI_Aint displacements[kMostFields];
  MPI_Datatype handles[kMostFields];
  CHECK_MPI(MPI_Type_get_contents(s->type, ints, aints, types, lengths, displacements, handles));
  CHECK(lengths[0] == s->count, "%d fields, not %d", lengths[0], s->count);
  for (int i = 0; i < s->count; i++) {
    CHECK(lengths[i + 1] == s->lengths[i] && displacements[i] == s->displacements[i] &&
              (s->is_derived[i] || handles[i] == s->types[i]),
          "field %d of %d: %d at %ld, not %d at %ld, or of another type", i, s->count,
          lengths[i + 1], (long)displacements[i], s->lengths[i], (long)s->displacements[i]);
    if (s->is_derived[i]) MPI_Type_free(&handles[i]);
  }
}

static void send(const Image* image, int elements, const Struct* s, MPI_Comm comm, uint32_t how) {
  MPI_Request request;
  if (how % 4 == 0) {
    CHECK_MPI(MPI_Ssend(image->base, elements, s->type, 1, kTag, comm));
  } else if (how % 4 == 1) {
    CHECK_MPI(MPI_Isend(image->base, elements, s->type, 1, kTag, comm, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else if (how % 4 == 2) {
    CHECK_MPI(MPI_Send_init(image->base, elements, s->type, 1, kTag, comm, &request));
    CHECK_MPI(MPI_Start(&request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Request_free(&request);
  } else {
    CHECK_MPI(MPI_Send(image->base, elements, s->type, 1, kTag, comm));
  }
}

static void receive(const Image* image, int elements, const Struct* s, MPI_Comm comm, uint32_t how,
                    MPI_Status* status) {
  MPI_Message message;
  if (how % 2 == 0) {
    CHECK_MPI(MPI_Mprobe(0, kTag, comm, &message, status));
    CHECK_MPI(MPI_Mrecv(image->base, elements, s->type, &message, status));
  } else {
    CHECK_MPI(MPI_Recv(image->base, elements, s->type, 0, kTag, comm, status));
  }
}

/* Sent with one layout, received with another; perhaps an element less than there is room for. */
static void message(const Struct* s, MPI_Comm comm, uint64_t seed) {
  Random random = random_from(seed);
  const uint32_t how = random_below(&random, 8);
  int own = elements_of(s, random_between(&random, 1, 3)), others = 0;
  MPI_Status status;
  MPI_Sendrecv(&own, 1, MPI_INT, 1 - rank, 1, &others, 1, MPI_INT, 1 - rank, 1, comm,
               MPI_STATUS_IGNORE);
  const int room = rank == 1 ? own : others;
  const int sent = (rank == 0 ? own : others) < room ? (rank == 0 ? own : others) : room;
  Image image = image_new(&s->map, s->extent, (size_t)(rank == 1 ? room : sent));
  int count = -1;
  stamp++;
  image_fill(&image, stamp, rank == 0);
  if (rank == 0) {
    send(&image, sent, s, comm, how);
  } else {
    receive(&image, room, s, comm, how, &status);
    CHECK_IMAGE_PREFIX(&image, stamp, s->map.count * (size_t)sent, "struct of seed %llu",
                       (unsigned long long)seed);
    MPI_Get_count(&status, s->type, &count);
    CHECK(count == sent || s->map.count == 0, "count %d, expected %d", count, sent);
  }
  image_free(&image);
}

/* The struct is the target's type of a one-sided operation, which takes its description along. */
static void put(const Struct* s, MPI_Win win, Image* window) {
  int size;
  MPI_Type_size(s->type, &size);
  char* bytes = malloc((size_t)size + 1);
  for (int i = 0; i < size; i++) bytes[i] = (char)(i * 5 + 1);
  MPI_Win_fence(0, win);
  if (rank == 0)
    CHECK_MPI(MPI_Put(bytes, size, MPI_BYTE, 1, -(MPI_Aint)window->low, 1, s->type, win));
  MPI_Win_fence(0, win);
  if (rank == 1) {
    int at = 0;
    for (size_t i = 0; i < s->map.count; i++)
      for (int k = 0; k < s->map.entries[i].size; k++, at++)
        CHECK(((char*)window->base)[s->map.entries[i].offset + k] == bytes[at], "byte %d of %d put",
              at, size);
  }
  free(bytes);
}

static void one_sided(uint64_t seed) {
  Struct s = struct_new(seed, seed);
  Image window = image_new(&s.map, s.extent, 1);
  MPI_Win win;
  MPI_Win_create(window.memory, (MPI_Aint)window.size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  put(&s, win, &window);
  MPI_Win_free(&win);
  image_free(&window);
  struct_free(&s);
}

/* What a message of a struct that is freed meanwhile goes by is not what others are made of. */
static void freed_in_flight(MPI_Comm comm) {
  enum { kMessages = 20, kFields = 3, kGap = 5 };
  static char sent[kMessages][kFields * kGap], received[kMessages][kFields * kGap];
  MPI_Request requests[2 * kMessages];
  for (int i = 0; i < kMessages; i++) {
    for (int to = 0; to < 2; to++) {
      const int lengths[kFields] = {1, 1, 1};
      const MPI_Datatype types[kFields] = {MPI_CHAR, MPI_CHAR, MPI_CHAR};
      MPI_Aint displacements[kFields];
      MPI_Datatype type;
      for (int k = 0; k < kFields; k++) {
        displacements[k] = (MPI_Aint)k * kGap + i % kGap;
        sent[i][displacements[k]] = (char)(rank + 10 * k + i);
      }
      MPI_Type_create_struct(kFields, lengths, displacements, types, &type);
      MPI_Type_commit(&type);
      CHECK_MPI(to ? MPI_Isend(sent[i], 1, type, 1 - rank, i, comm, &requests[2 * i + 1])
                   : MPI_Irecv(received[i], 1, type, 1 - rank, i, comm, &requests[2 * i]));
      MPI_Type_free(&type);
    }
  }
  CHECK_MPI(MPI_Waitall(2 * kMessages, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kMessages; i++) {
    for (int at = 0; at < kFields * kGap; at++) {
      const int expected = at % kGap == i % kGap ? 1 - rank + 10 * (at / kGap) + i : 0;
      CHECK(received[i][at] == expected, "byte %d of message %d: %d", at, i, received[i][at]);
    }
  }
}

/* Used for short and long messages, and by collective operations, in turns. */
static void long_and_short(MPI_Comm comm) {
  enum { kMost = 3000 };
  typedef struct {
    double value;
    char kind;
    int index;
  } Particle;
  static Particle sent[kMost], received[kMost];
  const int lengths[] = {1, 1, 1};
  const MPI_Aint displacements[] = {offsetof(Particle, value), offsetof(Particle, kind),
                                    offsetof(Particle, index)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR, MPI_INT};
  const int counts[] = {1, kMost, 3, 70, 1};
  MPI_Datatype particle;
  MPI_Type_create_struct(3, lengths, displacements, types, &particle);
  MPI_Type_commit(&particle);
  for (size_t round = 0; round < sizeof(counts) / sizeof(counts[0]); round++) {
    const int count = counts[round];
    for (int i = 0; i < count; i++) {
      sent[i] = (Particle){i + 0.5 * (double)round, (char)(i + rank), 3 * i + rank};
      received[i] = (Particle){-1, 0, -1};
    }
    CHECK_MPI(MPI_Sendrecv(sent, count, particle, 1 - rank, kTag, received, count, particle,
                           1 - rank, kTag, comm, MPI_STATUS_IGNORE));
    for (int i = 0; i < count; i++)
      CHECK(received[i].value == i + 0.5 * (double)round &&
                received[i].kind == (char)(i + 1 - rank) && received[i].index == 3 * i + 1 - rank,
            "particle %d of %d", i, count);
    CHECK_MPI(MPI_Bcast(sent, count, particle, 0, comm));
    CHECK(sent[count - 1].index == 3 * (count - 1), "broadcast index %d", sent[count - 1].index);
  }
  MPI_Type_free(&particle);
}

static void expect(int result, int wanted, const char* what) {
  int class;
  MPI_Error_class(result, &class);
  CHECK(class == wanted, "%s: error class %d, expected %d", what, class, wanted);
}

/* Arguments that are wrong, which are MPICH's to find. */
static void wrong_arguments(void) {
  const int lengths[] = {1, 2}, negative[] = {1, -2};
  const MPI_Aint displacements[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT}, none[] = {MPI_INT, MPI_DATATYPE_NULL};
  MPI_Datatype type, freed;
  expect(MPI_Type_create_struct(-1, lengths, displacements, types, &type), MPI_ERR_COUNT, "count");
  expect(MPI_Type_create_struct(2, negative, displacements, types, &type), MPI_ERR_COUNT, "length");
  expect(MPI_Type_create_struct(2, NULL, displacements, types, &type), MPI_ERR_ARG, "no lengths");
  expect(MPI_Type_create_struct(2, lengths, NULL, types, &type), MPI_ERR_ARG, "no displacements");
  expect(MPI_Type_create_struct(2, lengths, displacements, NULL, &type), MPI_ERR_ARG, "no types");
  expect(MPI_Type_create_struct(2, lengths, displacements, types, NULL), MPI_ERR_ARG, "no result");
  expect(MPI_Type_create_struct(2, lengths, displacements, none, &type), MPI_ERR_TYPE, "null type");
  CHECK_MPI(MPI_Type_create_struct(2, lengths, displacements, types, &type));
  expect(MPI_Send(displacements, 1, type, 1 - rank, kTag, MPI_COMM_WORLD), MPI_ERR_TYPE,
         "not committed");
  CHECK_MPI(MPI_Type_commit(&type));
  CHECK_MPI(MPI_Type_commit(&type));
  freed = type;
  CHECK_MPI(MPI_Type_free(&type));
  CHECK(type == MPI_DATATYPE_NULL, "handle %x after MPI_Type_free", (unsigned)type);
  expect(MPI_Type_free(&type), MPI_ERR_TYPE, "null freed");
  MPI_Type_free(&freed); /* what MPICH lets pass does no harm to the types that follow */
  expect(MPI_Type_commit(&type), MPI_ERR_TYPE, "null committed");
  type = MPI_INT;
  CHECK_MPI(MPI_Type_commit(&type));
  expect(MPI_Type_free(&type), MPI_ERR_TYPE, "a basic type freed");
  type = MPI_DOUBLE_INT;
  CHECK_MPI(MPI_Type_commit(&type));
  expect(MPI_Type_free(&type), MPI_ERR_TYPE, "a pair's type freed");
  type = (MPI_Datatype)MPI_COMM_WORLD; /* in MPICH both are integers */
  expect(MPI_Type_commit(&type), MPI_ERR_TYPE, "a communicator committed");
  expect(MPI_Type_free(&type), MPI_ERR_TYPE, "a communicator freed");
}

static int deleted;

static int delete_attribute(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type, (void)key, (void)value, (void)extra;
  deleted++;
  return MPI_SUCCESS;
}

/* Of structs that have an attribute, a name and a copy, which one of them outlives. */
static void belongings(void) {
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, 6};
  const MPI_Datatype types[] = {MPI_SHORT, MPI_SHORT};
  MPI_Datatype type, copy;
  int key, length, packed = 0;
  char name[MPI_MAX_OBJECT_NAME], bytes[4];
  const short values[] = {3, 0, 0, 7};
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_attribute, &key, NULL);
  MPI_Type_create_struct(2, lengths, displacements, types, &type);
  MPI_Type_get_name(type, name, &length);
  CHECK(length == 0, "a new type is named '%s'", name);
  CHECK_MPI(MPI_Type_set_name(type, "two shorts"));
  CHECK_MPI(MPI_Type_set_attr(type, key, NULL));
  CHECK_MPI(MPI_Type_dup(type, &copy));
  MPI_Type_commit(&type);
  MPI_Type_free(&type);
  CHECK_MPI(MPI_Type_commit(&copy));
  CHECK_MPI(MPI_Pack(values, 1, copy, bytes, sizeof(bytes), &packed, MPI_COMM_SELF));
  CHECK(packed == 4 && memcmp(bytes, &values[0], 2) == 0 && memcmp(bytes + 2, &values[3], 2) == 0,
        "%d bytes packed by the copy, or others", packed);
  MPI_Type_free(&copy);
  CHECK(deleted == 1, "%d attributes deleted", deleted);
  MPI_Type_create_struct(2, lengths, displacements, types, &type);
  CHECK_MPI(MPI_Type_set_attr(type, key, NULL));
  MPI_Type_free(&type);
  CHECK(deleted == 2, "%d attributes deleted", deleted);
  MPI_Type_free_keyval(&key);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const uint64_t seed = random_seed(1);
  for (uint64_t round = 0; round < kRounds; round++) {
    Struct s = struct_new(seed + round, 2 * (seed + round) + (uint64_t)rank);
    path_set(comm, kPaths[round % 3 ? 0 : round / 3 % kPathCount]);
    if (round % 2) same_as_twin(&s, seed + round);
    contents(&s);
    message(&s, comm, seed + round);
    if (round % 2 == 0) same_as_twin(&s, seed + round);
    struct_free(&s);
  }
  for (uint64_t round = 0; round < 12; round++) one_sided(seed + 1000 + round);
  path_set(comm, kPaths[0]);
  freed_in_flight(comm);
  wrong_arguments();
  belongings();
  long_and_short(comm);
  MPI_Comm_free(&comm);
  return check_finish();
}
