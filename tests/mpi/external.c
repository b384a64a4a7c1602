/* external.c: MPI_Pack_external, MPI_Unpack_external and MPI_Pack_external_size.
 *
 * Random datatypes, two layouts of each structure, against their type maps: each number of
 * external32 is the machine's, turned round on little-endian ones.  What has another size there, or
 * another format, is compared with bytes written down by hand; so are errors, which must leave
 * everything where it was.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/random_type.h"

enum { kTypes = 150, kMostBytes = 20000, kGuard = 0x5C, kAfter = 16 };

static const bool kLittle = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/* ---- random types ---- */

/* The longest basic types of random_type.c are complex: two numbers. */
static int number_bytes(const Entry* entry) { return entry->size == 16 ? 8 : entry->size; }

static uint8_t* literal(const Image* image) {
  uint8_t* bytes = malloc(typemap_bytes(&image->map) + 1);
  size_t at = 0;
  for (size_t i = 0; i < image->map.count; i++) {
    const Entry* entry = &image->map.entries[i];
    const int each = number_bytes(entry);
    for (int b = 0; b < entry->size; b++) {
      const int from = kLittle ? b / each * each + (each - 1 - b % each) : b;
      bytes[at++] = image->memory[entry->offset - image->low + from];
    }
  }
  return bytes;
}

static bool untouched(const uint8_t* bytes, int count) {
  for (int i = 0; i < count; i++)
    if (bytes[i] != kGuard) return false;
  return true;
}

/* MPI_LONG has 4 bytes in external32, which the type map does not tell. */
static bool has_longs(const RandomType* type) {
  return strstr(type->text, "long_int") || strlen(type->text) + 1 >= sizeof(type->text);
}

static void run_trial(uint64_t seed, uint32_t stamp, int start) {
  RandomType from = random_type_new(seed, 2 * seed + 1), to = random_type_new(seed, 2 * seed + 2);
  const size_t size = typemap_bytes(&from.map);
  const int count = size ? 1 + (int)((size_t)(seed % 3) * kMostBytes / 2 / size) : 1;
  Image out = image_new(&from.map, from.extent, (size_t)count);
  Image in = image_new(&to.map, to.extent, (size_t)count);
  image_fill(&out, stamp, true), image_fill(&in, stamp, false);
  uint8_t* const expected = literal(&out);
  const MPI_Aint bytes = (MPI_Aint)size * count;
  const MPI_Aint room = start + bytes + kAfter;
  uint8_t* const packed = memset(malloc((size_t)room), kGuard, (size_t)room);
  MPI_Aint needed = -1, end = start, position = start;
  CHECK_MPI(MPI_Pack_external_size("external32", count, from.type, &needed));
  CHECK(needed == bytes, "%ld bytes needed for %ld, seed %llu", (long)needed, (long)bytes,
        (unsigned long long)seed);
  CHECK_MPI(MPI_Pack_external("external32", out.base, count, from.type, packed, room, &end));
  CHECK(end == start + bytes, "packed from %d to %ld, not %ld, seed %llu", start, (long)end,
        (long)(start + bytes), (unsigned long long)seed);
  CHECK(memcmp(packed + start, expected, (size_t)bytes) == 0,
        "packed other bytes, seed %llu, %d x %.200s", (unsigned long long)seed, count, from.text);
  CHECK(untouched(packed, start) && untouched(packed + start + bytes, kAfter),
        "packed beside its place, seed %llu", (unsigned long long)seed);
  CHECK_MPI(MPI_Unpack_external("external32", packed, room, &position, in.base, count, to.type));
  CHECK(position == end, "unpacked to %ld, not %ld", (long)position, (long)end);
  CHECK_IMAGE_PREFIX(&in, stamp, in.map.count, "seed %llu, %d x %.200s", (unsigned long long)seed,
                     count, to.text);
  free(expected), free(packed);
  image_free(&out), image_free(&in);
  random_type_free(&from), random_type_free(&to);
}

static void random_types(void) {
  const uint64_t seed = random_seed(32);
  int tried = 0;
  for (uint64_t i = 0; i < kTypes; i++) {
    RandomType type = random_type_new(seed * 1000 + i, 1);
    const bool longs = has_longs(&type);
    random_type_free(&type);
    if (longs) continue;
    run_trial(seed * 1000 + i, (uint32_t)i + 1, (int)(i % 5));
    ++tried;
  }
  CHECK(tried > kTypes / 2, "only %d of %d types tried", tried, kTypes);
  if (check_failures()) fprintf(stderr, "MAD_SEED=%llu\n", (unsigned long long)seed);
}

/* ---- a struct of what external32 has in its own way ---- */

typedef struct Record {
  char letter;
  long number;
  unsigned long count;
  wchar_t wide;
  double real;
  _Bool flag;
  long double longest;
  short small;
} Record;

enum { kFields = 8, kRecordBytes = 1 + 4 + 4 + 2 + 8 + 1 + 16 + 2 };

static const Record kRecord = {'x', -2, 0x80000001, L'A', -1.5, true, -0.75L, 0x0102};

static const uint8_t kRecordInExternal32[kRecordBytes] = {
    'x',                                                        /* char */
    0xFF, 0xFF, 0xFF, 0xFE,                                     /* long, of 4 bytes */
    0x80, 0x00, 0x00, 0x01,                                     /* unsigned long */
    0x00, 0x41,                                                 /* wide character, of 2 bytes */
    0xBF, 0xF8, 0,    0,    0, 0, 0, 0,                         /* binary64 */
    0x01,                                                       /* bool */
    0xBF, 0xFE, 0x80, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* binary128: sign, 2^-1, .1 */
    0x01, 0x02,                                                 /* short */
};

static MPI_Datatype record_type(void) {
  const int lengths[kFields] = {1, 1, 1, 1, 1, 1, 1, 1};
  const MPI_Aint places[kFields] = {offsetof(Record, letter),  offsetof(Record, number),
                                    offsetof(Record, count),   offsetof(Record, wide),
                                    offsetof(Record, real),    offsetof(Record, flag),
                                    offsetof(Record, longest), offsetof(Record, small)};
  const MPI_Datatype types[kFields] = {MPI_CHAR,   MPI_LONG,   MPI_UNSIGNED_LONG, MPI_WCHAR,
                                       MPI_DOUBLE, MPI_C_BOOL, MPI_LONG_DOUBLE,   MPI_SHORT};
  MPI_Datatype fields, record;
  MPI_Type_create_struct(kFields, lengths, places, types, &fields);
  MPI_Type_create_resized(fields, 0, sizeof(Record), &record);
  MPI_Type_commit(&record);
  MPI_Type_free(&fields);
  return record;
}

static void check_record(const Record* r, const char* what) {
  CHECK(r->letter == kRecord.letter && r->number == kRecord.number && r->count == kRecord.count &&
            r->wide == kRecord.wide && r->real == kRecord.real && r->flag == kRecord.flag &&
            r->longest == kRecord.longest && r->small == kRecord.small,
        "%s: '%c' %ld %lu %d %g %d %Lg %d", what, r->letter, r->number, r->count, (int)r->wide,
        r->real, r->flag, r->longest, r->small);
}

static void records(void) {
  enum { kCount = 3 };
  Record out[kCount] = {kRecord, kRecord, kRecord}, in[kCount] = {{0}};
  uint8_t packed[kCount * kRecordBytes];
  MPI_Datatype type = record_type();
  MPI_Aint needed = -1, end = 0, position = 0;
  MPI_Count long_end = 0, long_position = 0;
  CHECK_MPI(MPI_Pack_external_size("external32", kCount, type, &needed));
  CHECK(needed == (MPI_Aint)sizeof(packed), "%ld bytes needed", (long)needed);
  CHECK_MPI(MPI_Pack_external("external32", out, kCount, type, packed, sizeof(packed), &end));
  CHECK(end == (MPI_Aint)sizeof(packed), "packed %ld bytes", (long)end);
  for (int i = 0; i < (int)sizeof(packed); i++)
    CHECK(packed[i] == kRecordInExternal32[i % kRecordBytes], "byte %d is %02X, not %02X", i,
          packed[i], kRecordInExternal32[i % kRecordBytes]);
  CHECK_MPI(MPI_Unpack_external("external32", packed, end, &position, in, kCount, type));
  CHECK(position == end, "unpacked to %ld", (long)position);
  for (int i = 0; i < kCount; i++) check_record(&in[i], "unpacked");
  memset(in, 0, sizeof(in)), memset(packed, 0, sizeof(packed));
  CHECK_MPI(
      MPI_Pack_external_c("external32", out, kCount, type, packed, sizeof(packed), &long_end));
  CHECK_MPI(
      MPI_Unpack_external_c("external32", packed, long_end, &long_position, in, kCount, type));
  check_record(&in[kCount - 1], "by MPI_Count");
  MPI_Type_free(&type);
}

/* What Fortran asks for by digits; where no Fortran was built there is none. */
static void by_digits(void) {
  const int32_t integer = 1;
  const double real = -1.5;
  uint8_t packed[12];
  MPI_Aint end = 0;
  MPI_Datatype integers, reals;
  if (MPI_Type_create_f90_integer(9, &integers) || MPI_Type_create_f90_real(15, 307, &reals))
    return;
  CHECK_MPI(MPI_Pack_external("external32", &integer, 1, integers, packed, sizeof(packed), &end));
  CHECK_MPI(MPI_Pack_external("external32", &real, 1, reals, packed, sizeof(packed), &end));
  CHECK(end == 12 && packed[0] == 0 && packed[3] == 1 && packed[4] == 0xBF && packed[5] == 0xF8 &&
            packed[11] == 0,
        "%ld bytes: %02X .. %02X, %02X %02X", (long)end, packed[0], packed[3], packed[4],
        packed[5]);
}

/* ---- what there is no place for ---- */

static void misfits(void) {
  const long out[3] = {7, 1L << 40, -7};
  long in[3] = {1, 1, 1};
  uint8_t packed[12];
  MPI_Aint end = 0, position = 0;
  memset(packed, kGuard, sizeof(packed));
  int error = MPI_Pack_external("external32", out, 3, MPI_LONG, packed, sizeof(packed), &end);
  CHECK_CLASS(error, MPI_ERR_CONVERSION);
  CHECK_TEXT(error, "basic element 1");
  CHECK(end == 0, "moved to %ld", (long)end);
  CHECK_MPI(MPI_Unpack_external("external32", packed, sizeof(packed), &position, in, 3, MPI_LONG));
  CHECK(in[0] == 7 && in[1] == 0 && in[2] == -7, "%ld %ld %ld", in[0], in[1], in[2]);
}

static void rooms(void) {
  const int out[4] = {1, 2, 3, 4};
  int in[4] = {9, 9, 9, 9};
  uint8_t packed[16];
  MPI_Aint end = 4, position = 4;
  memset(packed, kGuard, sizeof(packed));
  int error = MPI_Pack_external("external32", out, 4, MPI_INT, packed, sizeof(packed), &end);
  CHECK_CLASS(error, MPI_ERR_TRUNCATE);
  CHECK_TEXT(error, "16 bytes of external32, the buffer has 12");
  CHECK(end == 4 && untouched(packed, sizeof(packed)), "something was packed, to %ld", (long)end);
  error = MPI_Unpack_external("external32", packed, sizeof(packed), &position, in, 4, MPI_INT);
  CHECK_CLASS(error, MPI_ERR_TRUNCATE);
  CHECK(position == 4 && in[0] == 9, "something was unpacked, to %ld", (long)position);
  position = 0;
  CHECK_CLASS(MPI_Unpack_external("external32", packed, 0, &position, in, 1, MPI_INT),
              MPI_ERR_TRUNCATE);
  end = 40; /* beyond the end */
  CHECK_CLASS(MPI_Pack_external("external32", out, 1, MPI_INT, packed, sizeof(packed), &end),
              MPI_ERR_TRUNCATE);
}

static void representations(void) {
  const int out = 1;
  int in = 9;
  uint8_t packed[4];
  MPI_Aint at = 0;
  int error = MPI_Pack_external("native", &out, 1, MPI_INT, packed, sizeof(packed), &at);
  CHECK_CLASS(error, MPI_ERR_ARG);
  CHECK_TEXT(error, "native");
  CHECK_CLASS(MPI_Pack_external_size("internal", 1, MPI_INT, &at), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Unpack_external("", packed, sizeof(packed), &at, &in, 1, MPI_INT), MPI_ERR_ARG);
  CHECK(at == 0 && in == 9, "at %ld, %d", (long)at, in);
}

/* Of nothing there are no bytes, wherever it is. */
static void nothing(void) {
  MPI_Datatype empty;
  MPI_Aint needed = -1, at = 0;
  uint8_t packed[1];
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  CHECK_MPI(MPI_Pack_external_size("external32", 0, MPI_INT, &needed));
  CHECK(needed == 0, "%ld bytes needed", (long)needed);
  CHECK_MPI(MPI_Pack_external_size("external32", 5, empty, &needed));
  CHECK(needed == 0, "%ld bytes needed", (long)needed);
  CHECK_MPI(MPI_Pack_external("external32", packed, 5, empty, packed, sizeof(packed), &at));
  CHECK(at == 0, "packed to %ld", (long)at);
  MPI_Type_free(&empty);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  random_types();
  records();
  by_digits();
  misfits();
  rooms();
  representations();
  nothing();
  return check_finish();
}
