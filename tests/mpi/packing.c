/* packing.c: what MPI moves between layouts within a process: MPI_Pack, MPI_Unpack, messages to
 * oneself, one's own part of collective operations.
 *
 * Random datatypes, two layouts of each structure.  Packed bytes are compared with those that the
 * literal type map names, one after the other; unpacked and copied ones are checked in their
 * places, with everything beside them.  With the argument "off" the device leaves all of it to
 * MPICH's engine, which its counter has to say.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/counter.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"
#include "support/random_type.h"

enum { kTypes = 150, kMostBytes = 20000, kTag = 3, kGuard = 0x5C, kThreads = 4 };

static uint32_t stamp;
static bool off;

/* A buffer for packed bytes; what is not written stays kGuard. */
typedef struct Packed {
  uint8_t* bytes;
  int room;
} Packed;

static Packed packed_new(int room) {
  Packed packed = {malloc((size_t)room + 1), room};
  memset(packed.bytes, kGuard, (size_t)room + 1);
  return packed;
}

/* The packed bytes of some elements, taken from their places one by one. */
static uint8_t* literal(const Image* image) {
  uint8_t* bytes = malloc(typemap_bytes(&image->map) + 1);
  size_t at = 0;
  for (size_t i = 0; i < image->map.count; i++) {
    const Entry* entry = &image->map.entries[i];
    for (int32_t b = 0; b < entry->size; b++)
      bytes[at++] = image->memory[entry->offset - image->low + b];
  }
  return bytes;
}

static bool untouched(const uint8_t* bytes, int count) {
  for (int i = 0; i < count; i++)
    if (bytes[i] != kGuard) return false;
  return true;
}

/* Some elements of one type in two layouts. */
typedef struct Trial {
  uint64_t seed;
  RandomType from, to;
  int count;
  int bytes; /* packed */
} Trial;

static Trial trial_new(uint64_t seed) {
  static const int kTargets[] = {0, 0, 300, 2000, kMostBytes};
  Random random = random_from(seed ^ 0x9A);
  Trial trial = {.seed = seed};
  trial.from = random_type_new(seed, 2 * seed + 1);
  trial.to = random_type_new(seed, 2 * seed + 2);
  const size_t size = typemap_bytes(&trial.from.map);
  trial.count = size ? 1 + (int)((size_t)kTargets[random_below(&random, 5)] / size) : 1;
  trial.bytes = trial.count * (int)size;
  return trial;
}

static void trial_free(Trial* trial) {
  random_type_free(&trial->from);
  random_type_free(&trial->to);
}

static Image image_of(const RandomType* type, int count, bool sent) {
  Image image = image_new(&type->map, type->extent, (size_t)count);
  image_fill(&image, stamp, sent);
  return image;
}

#define CHECK_TRIAL(image, entries, what)                                             \
  CHECK_IMAGE_PREFIX((image), stamp, (entries), "%s, seed %llu, %d x %.200s", (what), \
                     (unsigned long long)trial->seed, trial->count, trial->to.text)

/* Packed at every place of a buffer that it may follow other data at, and out of there. */
static void pack_at(const Trial* trial, int start) {
  ++stamp;
  Image from = image_of(&trial->from, trial->count, true);
  Image to = image_of(&trial->to, trial->count, false);
  Packed packed = packed_new(start + trial->bytes + 16);
  uint8_t* const expected = literal(&from);
  int end = start, position = start;
  CHECK_MPI(MPI_Pack(from.base, trial->count, trial->from.type, packed.bytes, packed.room, &end,
                     MPI_COMM_WORLD));
  CHECK(end == start + trial->bytes, "packed from %d to %d, not %d, seed %llu", start, end,
        start + trial->bytes, (unsigned long long)trial->seed);
  CHECK(memcmp(packed.bytes + start, expected, (size_t)trial->bytes) == 0,
        "packed other bytes, seed %llu, %d x %.200s", (unsigned long long)trial->seed, trial->count,
        trial->from.text);
  CHECK(untouched(packed.bytes, start) && untouched(packed.bytes + start + trial->bytes, 16),
        "packed beside its place, seed %llu", (unsigned long long)trial->seed);
  CHECK_IMAGE(&from, stamp, "packed, seed %llu", (unsigned long long)trial->seed);
  CHECK_MPI(MPI_Unpack(packed.bytes, packed.room, &position, to.base, trial->count, trial->to.type,
                       MPI_COMM_WORLD));
  CHECK(position == end, "unpacked to %d, not %d", position, end);
  CHECK_TRIAL(&to, to.map.count, "unpacked");
  free(expected), free(packed.bytes);
  image_free(&from), image_free(&to);
}

/* Fewer bytes than there is room for, cut behind any basic element; MPICH's engine leaves the first
 * half of a pair alone. */
static void unpack_part(const Trial* trial, size_t entries) {
  enum { kHalfPair = 16 };
  ++stamp;
  Image from = image_of(&trial->from, trial->count, true);
  Image to = image_of(&trial->to, trial->count, false);
  uint8_t* const bytes = literal(&from);
  int size = 0, position = 0, whole = 0;
  size_t unpacked = 0;
  for (size_t i = 0; i < entries; i++) size += from.map.entries[i].size;
  CHECK_MPI(
      MPI_Unpack(bytes, size, &position, to.base, trial->count, trial->to.type, MPI_COMM_WORLD));
  while (whole < position && unpacked < entries) whole += to.map.entries[unpacked++].size;
  CHECK(whole == position && size - position <= kHalfPair,
        "unpacked %d bytes of %d, seed %llu, %d x %.200s", position, size,
        (unsigned long long)trial->seed, trial->count, trial->to.text);
  CHECK_TRIAL(&to, unpacked, "unpacked in part");
  free(bytes);
  image_free(&from), image_free(&to);
}

/* Several data one behind the other in one buffer. */
static void pack_in_turns(const Trial* trial) {
  enum { kTurns = 3 };
  Packed packed = packed_new(kTurns * (trial->bytes + 4));
  Image to = {0};
  int end = 0, position = 0;
  const uint32_t first = stamp + 1;
  for (int turn = 0; turn < kTurns; turn++) {
    ++stamp;
    Image from = image_of(&trial->from, trial->count, true);
    CHECK_MPI(MPI_Pack(&turn, 1, MPI_INT, packed.bytes, packed.room, &end, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Pack(from.base, trial->count, trial->from.type, packed.bytes, packed.room, &end,
                       MPI_COMM_WORLD));
    image_free(&from);
  }
  CHECK(end == packed.room, "packed %d bytes of %d", end, packed.room);
  for (stamp = first; stamp < first + kTurns; stamp++) {
    int turn = -1;
    to = image_of(&trial->to, trial->count, false);
    CHECK_MPI(MPI_Unpack(packed.bytes, end, &position, &turn, 1, MPI_INT, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Unpack(packed.bytes, end, &position, to.base, trial->count, trial->to.type,
                         MPI_COMM_WORLD));
    CHECK(turn == (int)(stamp - first), "turn %d, not %d", turn, (int)(stamp - first));
    CHECK_TRIAL(&to, to.map.count, "unpacked in turn");
    image_free(&to);
  }
  free(packed.bytes);
}

/* From layout to layout, to packed bytes and from them; room for more than is sent. */
static void to_oneself(const Trial* trial, MPI_Comm comm, int more, bool receive_first) {
  int me;
  MPI_Request request;
  MPI_Status status;
  MPI_Comm_rank(comm, &me);
  ++stamp;
  Image from = image_of(&trial->from, trial->count, true);
  Image to = image_of(&trial->to, trial->count + more, false);
  Image back = image_of(&trial->to, trial->count, false);
  Packed packed = packed_new(trial->bytes);
  uint8_t* const expected = literal(&from);
  if (receive_first) {
    MPI_Irecv(to.base, trial->count + more, trial->to.type, me, kTag, comm, &request);
    MPI_Send(from.base, trial->count, trial->from.type, me, kTag, comm);
  } else {
    MPI_Isend(from.base, trial->count, trial->from.type, me, kTag, comm, &request);
    MPI_Recv(to.base, trial->count + more, trial->to.type, me, kTag, comm, &status);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK_TRIAL(&to, from.map.count, "sent to oneself");
  MPI_Sendrecv(from.base, trial->count, trial->from.type, me, kTag, packed.bytes, packed.room,
               MPI_PACKED, me, kTag, comm, &status);
  CHECK(memcmp(packed.bytes, expected, (size_t)trial->bytes) == 0, "other packed bytes, seed %llu",
        (unsigned long long)trial->seed);
  MPI_Sendrecv(packed.bytes, packed.room, MPI_PACKED, me, kTag, back.base, trial->count,
               trial->to.type, me, kTag, comm, &status);
  CHECK_TRIAL(&back, back.map.count, "packed bytes sent to oneself");
  free(expected), free(packed.bytes);
  image_free(&from), image_free(&to), image_free(&back);
}

static void collective(const Trial* trial) {
  ++stamp;
  Image from = image_of(&trial->from, trial->count, true);
  Image to = image_of(&trial->to, trial->count, false);
  MPI_Allgather(from.base, trial->count, trial->from.type, to.base, trial->count, trial->to.type,
                MPI_COMM_SELF);
  CHECK_TRIAL(&to, to.map.count, "gathered");
  image_fill(&to, stamp, false);
  MPI_Alltoall(from.base, trial->count, trial->from.type, to.base, trial->count, trial->to.type,
               MPI_COMM_SELF);
  CHECK_TRIAL(&to, to.map.count, "exchanged");
  image_free(&from), image_free(&to);
}

/* Every rank has the same bytes for each, so all blocks that come are those that this one sent
 * itself. */
static void alltoall(const Trial* trial) {
  int ranks, me;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks), MPI_Comm_rank(MPI_COMM_WORLD, &me);
  ++stamp;
  Image from = image_of(&trial->from, ranks * trial->count, true);
  Image to = image_of(&trial->to, ranks * trial->count, false);
  MPI_Alltoall(from.base, trial->count, trial->from.type, to.base, trial->count, trial->to.type,
               MPI_COMM_WORLD);
  uint8_t *sent = literal(&from), *received = literal(&to);
  const size_t block = (size_t)trial->bytes;
  for (int r = 0; r < ranks; r++)
    CHECK(memcmp(received + (size_t)r * block, sent + (size_t)me * block, block) == 0,
          "other bytes of rank %d, seed %llu", r, (unsigned long long)trial->seed);
  free(sent), free(received);
  image_free(&from), image_free(&to);
}

static void run_trial(uint64_t seed) {
  Trial trial = trial_new(seed);
  Random random = random_from(seed ^ 0x77);
  const size_t entries = trial.from.map.count * (size_t)trial.count;
  for (int start = 0; start < 9; start += 1 + (int)random_below(&random, 4)) pack_at(&trial, start);
  for (int cut = 0; cut < 4; cut++)
    unpack_part(&trial, random_below(&random, (uint32_t)entries + 1));
  pack_in_turns(&trial);
  to_oneself(&trial, MPI_COMM_SELF, random_between(&random, 0, 2), seed % 2);
  to_oneself(&trial, MPI_COMM_WORLD, random_between(&random, 0, 2), seed % 2);
  collective(&trial);
  alltoall(&trial);
  trial_free(&trial);
}

/* Predefined, and with a hole that the type map does not have. */
static void pairs(void) {
  struct {
    double value;
    int index;
  } out[5], in[5];
  uint8_t packed[5 * 12];
  int end = 0, position = 0;
  for (int i = 0; i < 5; i++) out[i].value = 0.5 - i, out[i].index = 3 * i;
  memset(in, 0, sizeof(in));
  CHECK_MPI(MPI_Pack(out, 5, MPI_DOUBLE_INT, packed, sizeof(packed), &end, MPI_COMM_WORLD));
  CHECK(end == sizeof(packed), "packed %d bytes", end);
  for (int i = 0; i < 5; i++)
    CHECK(memcmp(packed + 12 * i, &out[i].value, 8) == 0 &&
              memcmp(packed + 12 * i + 8, &out[i].index, 4) == 0,
          "pair %d is packed wrongly", i);
  CHECK_MPI(MPI_Unpack(packed, end, &position, in, 5, MPI_DOUBLE_INT, MPI_COMM_WORLD));
  for (int i = 0; i < 5; i++)
    CHECK(in[i].value == out[i].value && in[i].index == out[i].index, "pair %d", i);
}

/* A struct of few fields, whose type nobody has compiled before these threads need it, all at
 * once. */
typedef struct Particle {
  double value;
  char kind;
  int index;
} Particle;
enum { kParticles = 200, kParticleBytes = 13 };

static Particle particles[kParticles];
static MPI_Datatype particle;
static pthread_barrier_t together;

static void* pack_particles(void* argument) {
  int* const wrong = argument;
  uint8_t packed[kParticles * kParticleBytes];
  int end = 0;
  pthread_barrier_wait(&together);
  MPI_Pack(particles, kParticles, particle, packed, sizeof(packed), &end, MPI_COMM_WORLD);
  for (int i = 0; i < kParticles; i++) {
    const uint8_t* one = packed + i * kParticleBytes;
    *wrong += memcmp(one, &particles[i].value, 8) != 0 || one[8] != (uint8_t)particles[i].kind ||
              memcmp(one + 9, &particles[i].index, 4) != 0;
  }
  return NULL;
}

static void threads(void) {
  const int lengths[] = {1, 1, 1};
  const MPI_Aint places[] = {offsetof(Particle, value), offsetof(Particle, kind),
                             offsetof(Particle, index)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR, MPI_INT};
  pthread_t workers[kThreads];
  for (int i = 0; i < kParticles; i++) particles[i] = (Particle){i / 4.0, (char)i, -i};
  pthread_barrier_init(&together, NULL, kThreads);
  for (int round = 0; round < 10; round++) {
    int wrong[kThreads] = {0};
    MPI_Type_create_struct(3, lengths, places, types, &particle);
    MPI_Type_commit(&particle);
    for (int i = 0; i < kThreads; i++) pthread_create(&workers[i], NULL, pack_particles, &wrong[i]);
    for (int i = 0; i < kThreads; i++) {
      pthread_join(workers[i], NULL);
      CHECK(wrong[i] == 0, "thread %d packed %d particles wrongly", i, wrong[i]);
    }
    MPI_Type_free(&particle);
  }
  pthread_barrier_destroy(&together);
}

/* Whose engine it was. */
static void counted(void) {
#ifdef HAVE_MAD
  enum { kBytes = 30 * sizeof(int) };
  Layout out = layout_strided(10, 3, 5), in = layout_irregular(10, 3);
  Image from = layout_image(&out, 1, ++stamp, true), to = layout_image(&in, 1, stamp, false);
  char packed[kBytes];
  int end = 0, position = 0;
  counters_open();
  const uint64_t before = counter_read("mad_local_bytes");
  MPI_Pack(from.base, 1, out.type, packed, kBytes, &end, MPI_COMM_WORLD);
  const uint64_t after_pack = counter_read("mad_local_bytes");
  MPI_Unpack(packed, end, &position, to.base, 1, in.type, MPI_COMM_WORLD);
  const uint64_t after_unpack = counter_read("mad_local_bytes");
  MPI_Sendrecv(from.base, 1, out.type, 0, kTag, to.base, 1, in.type, 0, kTag, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  const uint64_t after_copy = counter_read("mad_local_bytes"), each = off ? 0 : kBytes;
  CHECK(after_pack - before == each && after_unpack - after_pack == each &&
            after_copy - after_unpack == each,
        "the engine packed %llu, unpacked %llu and copied %llu bytes of %d",
        (unsigned long long)(after_pack - before), (unsigned long long)(after_unpack - after_pack),
        (unsigned long long)(after_copy - after_unpack), (int)kBytes);
  counters_close();
  image_free(&from), image_free(&to);
  layout_free(&out), layout_free(&in);
#endif
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  off = argc > 1 && strcmp(argv[1], "off") == 0;
  const uint64_t seed = random_seed(54);
  for (uint64_t i = 0; i < kTypes; i++) run_trial(seed * 1000 + i);
  if (check_failures()) fprintf(stderr, "MAD_SEED=%llu\n", (unsigned long long)seed);
  pairs();
  threads();
  counted();
  return check_finish();
}
