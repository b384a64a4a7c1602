/* combiners.c: every basic type and every constructor, with the type map written out by hand.
 *
 * paths.c draws its types at random; here each constructor has its place, and so have those that a
 * random mixture cannot use: pair types, long double, Fortran's parameterized types, and the
 * large-count variants, some with displacements that no int holds.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kTag = 5, kCount = 7 };

static MPI_Comm comm;
static int rank;
static uint32_t stamp;

/* Sends kCount elements through every path; the layout is given away. */
static void pass(const char* name, Layout layout) {
  MPI_Aint lb;
  MPI_Type_commit(&layout.type);
  MPI_Type_get_extent(layout.type, &lb, &layout.extent);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    stamp++;
    Image image = layout_image(&layout, kCount, stamp, rank == 0);
    if (rank == 0) {
      MPI_Send(image.base, kCount, layout.type, 1, kTag, comm);
    } else {
      MPI_Recv(image.base, kCount, layout.type, 0, kTag, comm, MPI_STATUS_IGNORE);
    }
    CHECK_IMAGE(&image, stamp, "%s, path %s", name, kPaths[p]);
    image_free(&image);
  }
  layout_free(&layout);
}

/* ---- basic types ---- */

static void pass_basic(const char* name, MPI_Datatype basic) {
  if (basic == MPI_DATATYPE_NULL) return; /* built without Fortran */
  Layout layout = {MPI_DATATYPE_NULL, {0}, 0};
  int size;
  MPI_Type_size(basic, &size);
  MPI_Type_dup(basic, &layout.type);
  typemap_add(&layout.map, 0, size);
  pass(name, layout);
}

#define BASIC(type) pass_basic(#type, type)

static void c_types(void) {
  BASIC(MPI_CHAR), BASIC(MPI_SIGNED_CHAR), BASIC(MPI_UNSIGNED_CHAR), BASIC(MPI_BYTE);
  BASIC(MPI_PACKED), BASIC(MPI_WCHAR), BASIC(MPI_SHORT), BASIC(MPI_UNSIGNED_SHORT);
  BASIC(MPI_INT), BASIC(MPI_UNSIGNED), BASIC(MPI_LONG), BASIC(MPI_UNSIGNED_LONG);
  BASIC(MPI_LONG_LONG), BASIC(MPI_UNSIGNED_LONG_LONG), BASIC(MPI_FLOAT), BASIC(MPI_DOUBLE);
  BASIC(MPI_LONG_DOUBLE), BASIC(MPI_C_BOOL), BASIC(MPI_C_FLOAT_COMPLEX);
  BASIC(MPI_C_DOUBLE_COMPLEX), BASIC(MPI_C_LONG_DOUBLE_COMPLEX), BASIC(MPI_INT8_T);
  BASIC(MPI_INT16_T), BASIC(MPI_INT32_T), BASIC(MPI_INT64_T), BASIC(MPI_UINT8_T);
  BASIC(MPI_UINT16_T), BASIC(MPI_UINT32_T), BASIC(MPI_UINT64_T), BASIC(MPI_AINT);
  BASIC(MPI_COUNT), BASIC(MPI_OFFSET);
}

static void fortran_types(void) {
  BASIC(MPI_CHARACTER), BASIC(MPI_INTEGER), BASIC(MPI_REAL), BASIC(MPI_DOUBLE_PRECISION);
  BASIC(MPI_COMPLEX), BASIC(MPI_DOUBLE_COMPLEX), BASIC(MPI_LOGICAL), BASIC(MPI_INTEGER1);
  BASIC(MPI_INTEGER2), BASIC(MPI_INTEGER4), BASIC(MPI_INTEGER8), BASIC(MPI_REAL4);
  BASIC(MPI_REAL8), BASIC(MPI_COMPLEX8), BASIC(MPI_COMPLEX16), BASIC(MPI_2INTEGER);
  BASIC(MPI_2REAL), BASIC(MPI_2DOUBLE_PRECISION);
}

static void pass_pair(const char* name, MPI_Datatype pair, int first, int offset) {
  Layout layout = {MPI_DATATYPE_NULL, {0}, 0};
  MPI_Type_dup(pair, &layout.type);
  typemap_add(&layout.map, 0, first);
  typemap_add(&layout.map, offset, sizeof(int));
  pass(name, layout);
}

#define PAIR(type, First)                                                    \
  do {                                                                       \
    typedef struct Pair {                                                    \
      First first;                                                           \
      int second;                                                            \
    } Pair;                                                                  \
    pass_pair(#type, type, (int)sizeof(First), (int)offsetof(Pair, second)); \
  } while (0)

static void pair_types(void) {
  PAIR(MPI_FLOAT_INT, float);
  PAIR(MPI_DOUBLE_INT, double);
  PAIR(MPI_LONG_INT, long);
  PAIR(MPI_SHORT_INT, short);
  PAIR(MPI_LONG_DOUBLE_INT, long double);
  PAIR(MPI_2INT, int);
}

/* ---- constructors around a child with a gap of its own ---- */

/* {int, hole of an int, int}, extent 16. */
static MPI_Datatype child;
static const MPI_Aint kExtent = 16;

static void make_child(void) {
  MPI_Datatype vector;
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, kExtent, &child);
  MPI_Type_free(&vector);
}

static void add_children(TypeMap* map, int64_t offset, int count) {
  for (int i = 0; i < count; i++) {
    typemap_add(map, offset + i * kExtent, sizeof(int));
    typemap_add(map, offset + i * kExtent + 8, sizeof(int));
  }
}

typedef struct Block {
  int length;
  int at; /* in children, or bytes where the constructor counts bytes */
} Block;

static Layout with_blocks(MPI_Datatype type, int unit, int count, const Block* blocks) {
  Layout layout = {type, {0}, 0};
  for (int b = 0; b < count; b++) {
    add_children(&layout.map, (int64_t)blocks[b].at * unit, blocks[b].length);
  }
  return layout;
}

/* With an empty block, blocks that touch, and blocks out of order. */
static const Block kIrregular[] = {{2, 9}, {0, 3}, {1, 0}, {3, 1}, {1, 6}};
static const Block kEqual[] = {{2, 9}, {2, 0}, {2, 2}, {2, 6}};
/* Displacements in bytes that are no multiple of the child's extent. */
static const Block kBytes[] = {{2, 100}, {1, 4}, {2, 40}, {0, 8}};
static const Block kEqualBytes[] = {{2, 100}, {2, 4}, {2, 60}};
static const Block kVector[] = {{2, 0}, {2, 3}, {2, 6}, {2, 9}};
static const Block kBackwards[] = {{1, 0}, {1, -3}, {1, -6}};
static const Block kHvector[] = {{2, 0}, {2, 44}, {2, 88}};

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define SPREAD(Integer, blocks)              \
  Integer lengths[8], displacements[8];      \
  for (int b = 0; b < LENGTH(blocks); b++) { \
    lengths[b] = blocks[b].length;           \
    displacements[b] = blocks[b].at;         \
  }                                          \
  (void)lengths

static void simple_constructors(void) {
  static const Block kRow[] = {{5, 0}};
  MPI_Datatype type;
  MPI_Type_dup(child, &type);
  pass("dup", with_blocks(type, 16, 1, (const Block[]){{1, 0}}));
  MPI_Type_contiguous(5, child, &type);
  pass("contiguous", with_blocks(type, 16, 1, kRow));
  MPI_Type_contiguous_c(5, child, &type);
  pass("contiguous_c", with_blocks(type, 16, 1, kRow));
  MPI_Type_vector(4, 2, 3, child, &type);
  pass("vector", with_blocks(type, 16, LENGTH(kVector), kVector));
  MPI_Type_vector_c(4, 2, 3, child, &type);
  pass("vector_c", with_blocks(type, 16, LENGTH(kVector), kVector));
  MPI_Type_vector(3, 1, -3, child, &type);
  pass("vector backwards", with_blocks(type, 16, LENGTH(kBackwards), kBackwards));
  MPI_Type_create_hvector(3, 2, 44, child, &type);
  pass("hvector", with_blocks(type, 1, LENGTH(kHvector), kHvector));
  MPI_Type_create_hvector_c(3, 2, 44, child, &type);
  pass("hvector_c", with_blocks(type, 1, LENGTH(kHvector), kHvector));
  MPI_Type_create_resized(child, -8, 40, &type);
  pass("resized", with_blocks(type, 16, 1, (const Block[]){{1, 0}}));
  MPI_Type_create_resized_c(child, -8, 40, &type);
  pass("resized_c", with_blocks(type, 16, 1, (const Block[]){{1, 0}}));
}

static void indexed_constructors(void) {
  MPI_Datatype type;
  {
    SPREAD(int, kIrregular);
    MPI_Type_indexed(LENGTH(kIrregular), lengths, displacements, child, &type);
    pass("indexed", with_blocks(type, 16, LENGTH(kIrregular), kIrregular));
  }
  {
    SPREAD(MPI_Count, kIrregular);
    MPI_Type_indexed_c(LENGTH(kIrregular), lengths, displacements, child, &type);
    pass("indexed_c", with_blocks(type, 16, LENGTH(kIrregular), kIrregular));
  }
  {
    SPREAD(int, kEqual);
    MPI_Type_create_indexed_block(LENGTH(kEqual), 2, displacements, child, &type);
    pass("indexed_block", with_blocks(type, 16, LENGTH(kEqual), kEqual));
  }
  {
    SPREAD(MPI_Count, kEqual);
    MPI_Type_create_indexed_block_c(LENGTH(kEqual), 2, displacements, child, &type);
    pass("indexed_block_c", with_blocks(type, 16, LENGTH(kEqual), kEqual));
  }
}

static void byte_indexed_constructors(void) {
  MPI_Datatype type;
  {
    SPREAD(MPI_Aint, kBytes);
    const int counts[] = {2, 1, 2, 0};
    MPI_Type_create_hindexed(LENGTH(kBytes), counts, displacements, child, &type);
    pass("hindexed", with_blocks(type, 1, LENGTH(kBytes), kBytes));
  }
  {
    SPREAD(MPI_Count, kBytes);
    MPI_Type_create_hindexed_c(LENGTH(kBytes), lengths, displacements, child, &type);
    pass("hindexed_c", with_blocks(type, 1, LENGTH(kBytes), kBytes));
  }
  {
    SPREAD(MPI_Aint, kEqualBytes);
    MPI_Type_create_hindexed_block(LENGTH(kEqualBytes), 2, displacements, child, &type);
    pass("hindexed_block", with_blocks(type, 1, LENGTH(kEqualBytes), kEqualBytes));
  }
  {
    SPREAD(MPI_Count, kEqualBytes);
    MPI_Type_create_hindexed_block_c(LENGTH(kEqualBytes), 2, displacements, child, &type);
    pass("hindexed_block_c", with_blocks(type, 1, LENGTH(kEqualBytes), kEqualBytes));
  }
}

/* Members of different types; the last is the child, an empty one stands among them. */
static TypeMap struct_map(void) {
  TypeMap map = {0};
  typemap_add(&map, 0, sizeof(char));
  typemap_add(&map, 8, sizeof(double));
  typemap_add(&map, 16, sizeof(double));
  typemap_add(&map, 26, sizeof(short));
  add_children(&map, 32, 2);
  return map;
}

static void struct_constructors(void) {
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT, child};
  const int lengths[] = {1, 2, 0, 1, 2};
  const MPI_Aint displacements[] = {0, 8, 4, 26, 32};
  const MPI_Count lengths_c[] = {1, 2, 0, 1, 2}, displacements_c[] = {0, 8, 4, 26, 32};
  Layout layout = {MPI_DATATYPE_NULL, struct_map(), 0};
  MPI_Type_create_struct(LENGTH(types), lengths, displacements, types, &layout.type);
  pass("struct", layout);
  layout.map = struct_map();
  MPI_Type_create_struct_c(LENGTH(types), lengths_c, displacements_c, types, &layout.type);
  pass("struct_c", layout);
}

/* ---- arrays ---- */

/* The child at (plane, row, column) of a 4 x 5 x 6 array. */
static void add_cell(TypeMap* map, int order, const int* at) {
  const int c = (at[0] * 5 + at[1]) * 6 + at[2], fortran = at[0] + 4 * (at[1] + 5 * at[2]);
  add_children(map, (order == MPI_ORDER_C ? c : fortran) * kExtent, 1);
}

static TypeMap subarray_map(int order) {
  TypeMap map = {0};
  for (int slow = 0; slow < (order == MPI_ORDER_C ? 2 : 4); slow++) {
    for (int row = 0; row < 3; row++) {
      for (int fast = 0; fast < (order == MPI_ORDER_C ? 4 : 2); fast++) {
        const int plane = order == MPI_ORDER_C ? slow : fast;
        const int column = order == MPI_ORDER_C ? fast : slow;
        add_cell(&map, order, (const int[]){1 + plane, 2 + row, 1 + column});
      }
    }
  }
  return map;
}

static void subarrays(void) {
  const int sizes[] = {4, 5, 6}, subsizes[] = {2, 3, 4}, starts[] = {1, 2, 1};
  const MPI_Count sizes_c[] = {4, 5, 6}, subsizes_c[] = {2, 3, 4}, starts_c[] = {1, 2, 1};
  for (int o = 0; o < 2; o++) {
    const int order = o ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
    Layout layout = {MPI_DATATYPE_NULL, subarray_map(order), 0};
    MPI_Type_create_subarray(3, sizes, subsizes, starts, order, child, &layout.type);
    pass(o ? "subarray in Fortran's order" : "subarray", layout);
    layout.map = subarray_map(order);
    MPI_Type_create_subarray_c(3, sizes_c, subsizes_c, starts_c, order, child, &layout.type);
    pass("subarray_c", layout);
  }
}

/* Process 3 of 2 x 3: blocks of 4 rows, the second of them; columns dealt out by twos, the first.
 */
static TypeMap darray_map(void) {
  static const int kColumns[] = {0, 1, 6, 7, 12};
  TypeMap map = {0};
  for (int row = 4; row < 7; row++) {
    for (int c = 0; c < LENGTH(kColumns); c++) {
      add_children(&map, (row * 13 + kColumns[c]) * kExtent, 1);
    }
  }
  return map;
}

static void darrays(void) {
  const int sizes[] = {7, 13}, processes[] = {2, 3};
  const MPI_Count sizes_c[] = {7, 13};
  const int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
  Layout layout = {MPI_DATATYPE_NULL, darray_map(), 0};
  MPI_Type_create_darray(6, 3, 2, sizes, distributions, arguments, processes, MPI_ORDER_C, child,
                         &layout.type);
  pass("darray", layout);
  layout.map = darray_map();
  MPI_Type_create_darray_c(6, 3, 2, sizes_c, distributions, arguments, processes, MPI_ORDER_C,
                           child, &layout.type);
  pass("darray_c", layout);
}

/* ---- Fortran's parameterized types ---- */

/* MPICH built without Fortran does not have these; others may, and know no model of its numbers. */
#pragma weak MPI_Type_create_f90_integer
#pragma weak MPI_Type_create_f90_real
#pragma weak MPI_Type_create_f90_complex

static void pass_f90(const char* name, int error, MPI_Datatype basic) {
  if (error != MPI_SUCCESS || basic == MPI_DATATYPE_NULL) return;
  Layout layout = {MPI_DATATYPE_NULL, {0}, 0};
  int size;
  MPI_Type_size(basic, &size);
  MPI_Type_vector(3, 2, 3, basic, &layout.type);
  for (int i = 0; i < 6; i++) typemap_add(&layout.map, (i / 2 * 3 + i % 2) * size, size);
  pass(name, layout);
}

static void f90_types(void) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (MPI_Type_create_f90_integer == NULL) return;
  pass_f90("f90_integer", MPI_Type_create_f90_integer(9, &type), type);
  pass_f90("f90_real", MPI_Type_create_f90_real(6, 30, &type), type);
  pass_f90("f90_complex", MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &type), type);
}

/* ---- empty types ---- */

static void empty_types(void) {
  MPI_Datatype type;
  MPI_Type_contiguous(0, child, &type);
  pass("nothing contiguous", (Layout){type, {0}, 0});
  MPI_Type_create_struct(0, NULL, NULL, NULL, &type);
  pass("empty struct", (Layout){type, {0}, 0});
  MPI_Type_vector(3, 0, 4, child, &type);
  pass("empty blocks", (Layout){type, {0}, 0});
}

/* ---- displacements beyond int: address space is plenty, few pages are touched ---- */

typedef struct Far {
  const char* name;
  MPI_Datatype type;
  MPI_Count at[3]; /* two ints at each */
} Far;

static void fill_far(char* base, const Far* far, int seed) {
  for (int b = 0; b < 3; b++) {
    int* block = (int*)(base + far->at[b]);
    for (int i = -1; i < 3; i++) block[i] = i >= 0 && i < 2 && seed ? seed + 2 * b + i : -1;
  }
}

static void check_far(const char* base, const Far* far, int seed, const char* path) {
  for (int b = 0; b < 3; b++) {
    const int* block = (const int*)(base + far->at[b]);
    const bool good = block[-1] == -1 && block[0] == seed + 2 * b && block[1] == seed + 2 * b + 1 &&
                      block[2] == -1;
    CHECK(good, "%s, path %s, block %d: %d %d %d %d", far->name, path, b, block[-1], block[0],
          block[1], block[2]);
  }
}

static void pass_far(Far far) {
  const size_t room = (size_t)7 << 30;
  char* memory =
      mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED, "no address space for %s", far.name);
  MPI_Type_commit(&far.type);
  for (int p = 0; p < kPathCount && memory != MAP_FAILED; p++) {
    const int seed = 1000 * (p + 1);
    path_set(comm, kPaths[p]);
    fill_far(memory + 64, &far, rank == 0 ? seed : 0);
    if (rank == 0) {
      MPI_Send(memory + 64, 1, far.type, 1, kTag, comm);
    } else {
      MPI_Recv(memory + 64, 1, far.type, 0, kTag, comm, MPI_STATUS_IGNORE);
      check_far(memory + 64, &far, seed, kPaths[p]);
    }
  }
  if (memory != MAP_FAILED) munmap(memory, room);
  MPI_Type_free(&far.type);
}

static void far_types(void) {
  const MPI_Count stride = (MPI_Count)3 << 30;
  const MPI_Count lengths[] = {2, 2, 2}, bytes[] = {0, stride, 2 * stride};
  const MPI_Count ints[] = {0, stride / 4, 2 * (stride / 4)};
  Far far = {"far vector_c", MPI_DATATYPE_NULL, {0, stride, 2 * stride}};
  MPI_Type_vector_c(3, 2, stride / 4, MPI_INT, &far.type);
  pass_far(far);
  far.name = "far hvector_c";
  MPI_Type_create_hvector_c(3, 2, stride, MPI_INT, &far.type);
  pass_far(far);
  far.name = "far indexed_c";
  MPI_Type_indexed_c(3, lengths, ints, MPI_INT, &far.type);
  pass_far(far);
  far.name = "far hindexed_c";
  MPI_Type_create_hindexed_c(3, lengths, bytes, MPI_INT, &far.type);
  pass_far(far);
}

/* MPI_2INT is two ints, of which one may come alone, also into a layout. */
static void half_a_twin(void) {
  int out[3] = {1, 2, 3}, in[6] = {0}, count = 0;
  MPI_Datatype layout;
  MPI_Status status;
  MPI_Type_vector(2, 1, 2, MPI_2INT, &layout);
  MPI_Type_commit(&layout);
  path_set(comm, "auto"); /* MPICH's own engine takes whole ones only */
  if (rank == 0) MPI_Send(out, 3, MPI_INT, 1, 0, comm);
  if (rank == 1) {
    MPI_Recv(in, 1, layout, 0, 0, comm, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3 && in[0] == 1 && in[1] == 2 && in[4] == 3 && in[5] == 0,
          "%d ints: %d %d %d %d", count, in[0], in[1], in[4], in[5]);
  }
  MPI_Type_free(&layout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* asked by f90_types() */
  MPI_Comm_rank(comm, &rank);
  make_child();
  c_types();
  fortran_types();
  pair_types();
  simple_constructors();
  indexed_constructors();
  byte_indexed_constructors();
  struct_constructors();
  subarrays();
  darrays();
  f90_types();
  empty_types();
  far_types();
  half_a_twin();
  MPI_Type_free(&child);
  MPI_Comm_free(&comm);
  return check_finish();
}
