#include "random_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxDepth = 3, kMaxParts = 6, kMaxEntries = 4000 };

/* A type under construction. */
typedef struct Node {
  MPI_Datatype type;
  TypeMap map;
  int alignment; /* of its largest basic type */
} Node;

typedef struct Maker {
  Random structure, layout;
  char* text;
  size_t text_room;
} Maker;

static void say(Maker* maker, const char* word) {
  const size_t used = strlen(maker->text);
  snprintf(maker->text + used, maker->text_room - used, "%s%s", used ? " " : "", word);
}

static MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lb, extent;
  MPI_Type_get_extent(type, &lb, &extent);
  return extent;
}

/* A gap that keeps the alignment; often none, so that blocks touch. */
static int64_t gap(Maker* maker, int64_t unit) {
  return random_below(&maker->layout, 3) == 0 ? 0 : unit * random_between(&maker->layout, 1, 5);
}

static int parts(Maker* maker, const Node* child) {
  const size_t entries = child->map.count ? child->map.count : 1;
  const size_t most = kMaxEntries / entries;
  return random_between(&maker->structure, 1,
                        most < kMaxParts ? (most ? (int)most : 1) : kMaxParts);
}

/* ---- basic types ---- */

/* Without those whose C types have padding or trap values (long double, _Bool). */
static Node make_basic(Maker* maker) {
  static const struct {
    const char* name;
    MPI_Datatype type;
    int first, offset, second; /* second 0: a single value */
  } kBasics[] = {
      {"byte", MPI_BYTE, 1, 0, 0},           {"char", MPI_CHAR, 1, 0, 0},
      {"short", MPI_SHORT, 2, 0, 0},         {"int", MPI_INT, 4, 0, 0},
      {"float", MPI_FLOAT, 4, 0, 0},         {"double", MPI_DOUBLE, 8, 0, 0},
      {"long_long", MPI_LONG_LONG, 8, 0, 0}, {"double_complex", MPI_C_DOUBLE_COMPLEX, 16, 0, 0},
      {"2int", MPI_2INT, 4, 4, 4},           {"float_int", MPI_FLOAT_INT, 4, 4, 4},
      {"short_int", MPI_SHORT_INT, 2, 4, 4}, {"double_int", MPI_DOUBLE_INT, 8, 8, 4},
      {"long_int", MPI_LONG_INT, 8, 8, 4},
  };
  const uint32_t which = random_below(&maker->structure, sizeof(kBasics) / sizeof(kBasics[0]));
  Node node = {kBasics[which].type, {0}, kBasics[which].first};
  if (node.alignment < kBasics[which].second) node.alignment = kBasics[which].second;
  typemap_add(&node.map, 0, kBasics[which].first);
  if (kBasics[which].second) typemap_add(&node.map, kBasics[which].offset, kBasics[which].second);
  say(maker, kBasics[which].name);
  return node;
}

/* ---- blocks: contiguous to hindexed_block ---- */

typedef struct Blocks {
  int count;
  int lengths[kMaxParts];
  MPI_Aint offsets[kMaxParts]; /* bytes */
} Blocks;

static void append_blocks(TypeMap* map, const TypeMap* child, MPI_Aint extent,
                          const Blocks* blocks) {
  for (int b = 0; b < blocks->count; b++) {
    for (int i = 0; i < blocks->lengths[b]; i++) {
      typemap_append(map, child, blocks->offsets[b] + i * extent);
    }
  }
}

/* Blocks at a constant stride, forwards or backwards. */
static Blocks strided_blocks(Maker* maker, const Node* child, int64_t unit, MPI_Aint* stride) {
  const MPI_Aint extent = extent_of(child->type);
  Blocks blocks = {.count = parts(maker, child)};
  const int length = random_between(&maker->structure, 1, 3);
  *stride = length * extent + gap(maker, unit);
  if (random_below(&maker->layout, 4) == 0) *stride = -*stride;
  for (int b = 0; b < blocks.count; b++) {
    blocks.lengths[b] = length;
    blocks.offsets[b] = b * *stride;
  }
  return blocks;
}

/* Blocks of different lengths (or one), some empty, in any order in memory, some at negative
 * offsets. */
static Blocks scattered_blocks(Maker* maker, const Node* child, int64_t unit, int equal_lengths) {
  const MPI_Aint extent = extent_of(child->type);
  Blocks blocks = {.count = parts(maker, child)};
  const int length = random_between(&maker->structure, 1, 3);
  int order[kMaxParts];
  for (int b = 0; b < blocks.count; b++) {
    blocks.lengths[b] = equal_lengths ? length : random_between(&maker->structure, 0, 4);
    order[b] = b;
  }
  if (random_below(&maker->layout, 2)) {
    for (int b = blocks.count - 1; b > 0; b--) {
      const int other = (int)random_below(&maker->layout, (uint32_t)b + 1);
      const int held = order[b];
      order[b] = order[other];
      order[other] = held;
    }
  }
  MPI_Aint at = unit * random_between(&maker->layout, -4, 4);
  for (int b = 0; b < blocks.count; b++) {
    blocks.offsets[order[b]] = at;
    at += blocks.lengths[order[b]] * extent + gap(maker, unit);
  }
  return blocks;
}

static Node with_blocks(Node* child, MPI_Datatype type, const Blocks* blocks) {
  Node node = {type, {0}, child->alignment};
  append_blocks(&node.map, &child->map, extent_of(child->type), blocks);
  return node;
}

static Node make_dup(Maker* maker, Node* child) {
  MPI_Datatype type;
  const Blocks one = {1, {1}, {0}};
  say(maker, "dup");
  MPI_Type_dup(child->type, &type);
  return with_blocks(child, type, &one);
}

static Node make_contiguous(Maker* maker, Node* child) {
  MPI_Datatype type;
  const Blocks blocks = {1, {parts(maker, child)}, {0}};
  say(maker, "contiguous");
  MPI_Type_contiguous(blocks.lengths[0], child->type, &type);
  return with_blocks(child, type, &blocks);
}

static Node make_vector(Maker* maker, Node* child) {
  MPI_Datatype type;
  MPI_Aint stride;
  const MPI_Aint extent = extent_of(child->type);
  const Blocks blocks = strided_blocks(maker, child, extent, &stride);
  say(maker, "vector");
  MPI_Type_vector(blocks.count, blocks.lengths[0], extent ? (int)(stride / extent) : 1, child->type,
                  &type);
  return with_blocks(child, type, &blocks);
}

static Node make_hvector(Maker* maker, Node* child) {
  MPI_Datatype type;
  MPI_Aint stride;
  const Blocks blocks = strided_blocks(maker, child, child->alignment, &stride);
  say(maker, "hvector");
  MPI_Type_create_hvector(blocks.count, blocks.lengths[0], stride, child->type, &type);
  return with_blocks(child, type, &blocks);
}

static void in_extents(const Blocks* blocks, MPI_Aint extent, int* displacements) {
  for (int b = 0; b < blocks->count; b++) {
    displacements[b] = extent ? (int)(blocks->offsets[b] / extent) : 0;
  }
}

static Node make_indexed(Maker* maker, Node* child) {
  MPI_Datatype type;
  int displacements[kMaxParts];
  const MPI_Aint extent = extent_of(child->type);
  const Blocks blocks = scattered_blocks(maker, child, extent, 0);
  in_extents(&blocks, extent, displacements);
  say(maker, "indexed");
  MPI_Type_indexed(blocks.count, blocks.lengths, displacements, child->type, &type);
  return with_blocks(child, type, &blocks);
}

static Node make_hindexed(Maker* maker, Node* child) {
  MPI_Datatype type;
  const Blocks blocks = scattered_blocks(maker, child, child->alignment, 0);
  say(maker, "hindexed");
  MPI_Type_create_hindexed(blocks.count, blocks.lengths, blocks.offsets, child->type, &type);
  return with_blocks(child, type, &blocks);
}

static Node make_indexed_block(Maker* maker, Node* child) {
  MPI_Datatype type;
  int displacements[kMaxParts];
  const MPI_Aint extent = extent_of(child->type);
  const Blocks blocks = scattered_blocks(maker, child, extent, 1);
  in_extents(&blocks, extent, displacements);
  say(maker, "indexed_block");
  MPI_Type_create_indexed_block(blocks.count, blocks.lengths[0], displacements, child->type, &type);
  return with_blocks(child, type, &blocks);
}

static Node make_hindexed_block(Maker* maker, Node* child) {
  MPI_Datatype type;
  const Blocks blocks = scattered_blocks(maker, child, child->alignment, 1);
  say(maker, "hindexed_block");
  MPI_Type_create_hindexed_block(blocks.count, blocks.lengths[0], blocks.offsets, child->type,
                                 &type);
  return with_blocks(child, type, &blocks);
}

/* ---- arrays: subarray and darray ---- */

enum { kMaxDims = 3 };

/* Which global indices of one dimension belong to the type, in order. */
typedef struct Dimension {
  int size;
  int indices[64];
  int count;
} Dimension;

/* Entries of the chosen elements; in Fortran order the first dimension runs fastest. */
static void append_array(TypeMap* map, const TypeMap* child, MPI_Aint extent, int dims,
                         const Dimension* dimensions, int order) {
  int64_t total = 1;
  for (int d = 0; d < dims; d++) total *= dimensions[d].count;
  for (int64_t n = 0; n < total; n++) {
    int64_t rest = n, stride = 1, linear = 0;
    for (int step = 0; step < dims; step++) {
      const Dimension* dim = &dimensions[order == MPI_ORDER_C ? dims - 1 - step : step];
      linear += stride * dim->indices[rest % dim->count];
      rest /= dim->count;
      stride *= dim->size;
    }
    typemap_append(map, child, linear * extent);
  }
}

static int layout_order(Maker* maker) {
  return random_below(&maker->layout, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
}

static Node make_subarray(Maker* maker, Node* child) {
  const int dims = random_between(&maker->structure, 1, kMaxDims), order = layout_order(maker);
  int sizes[kMaxDims], subsizes[kMaxDims], starts[kMaxDims];
  Dimension dimensions[kMaxDims] = {0};
  for (int d = 0; d < dims; d++) {
    subsizes[d] = random_between(&maker->structure, 1, 3);
    starts[d] = random_between(&maker->layout, 0, 2);
    sizes[d] = starts[d] + subsizes[d] + random_between(&maker->layout, 0, 2);
    dimensions[d].size = sizes[d];
    for (int i = 0; i < subsizes[d]; i++) {
      dimensions[d].indices[dimensions[d].count++] = starts[d] + i;
    }
  }
  Node node = {MPI_DATATYPE_NULL, {0}, child->alignment};
  say(maker, "subarray");
  MPI_Type_create_subarray(dims, sizes, subsizes, starts, order, child->type, &node.type);
  append_array(&node.map, &child->map, extent_of(child->type), dims, dimensions, order);
  return node;
}

/* The global indices that process `coordinate` of `processes` owns: MPI-4.0, 5.1.4. */
static Dimension distributed(int size, int distribution, int argument, int processes,
                             int coordinate) {
  Dimension dim = {.size = size};
  int block = argument;
  if (distribution == MPI_DISTRIBUTE_NONE) block = size;
  if (argument == MPI_DISTRIBUTE_DFLT_DARG && distribution == MPI_DISTRIBUTE_BLOCK) {
    block = (size + processes - 1) / processes;
  }
  if (argument == MPI_DISTRIBUTE_DFLT_DARG && distribution == MPI_DISTRIBUTE_CYCLIC) block = 1;
  for (int i = 0; i < size; i++) {
    if (i / block % processes == coordinate) dim.indices[dim.count++] = i;
  }
  return dim;
}

static Node make_darray(Maker* maker, Node* child) {
  Random* structure = &maker->structure;
  const int dims = random_between(structure, 1, kMaxDims), order = layout_order(maker);
  int gsizes[kMaxDims], distribs[kMaxDims], dargs[kMaxDims], psizes[kMaxDims], coordinate[kMaxDims];
  int processes = 1, rank = 0;
  Dimension dimensions[kMaxDims];
  for (int d = 0; d < dims; d++) {
    const int kind = random_between(structure, 0, 2);
    distribs[d] = kind == 0   ? MPI_DISTRIBUTE_NONE
                  : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                              : MPI_DISTRIBUTE_CYCLIC;
    psizes[d] = kind == 0 ? 1 : random_between(structure, 1, 3);
    /* Every process owns something in each dimension. */
    gsizes[d] = psizes[d] * random_between(structure, 1, 3);
    dargs[d] = MPI_DISTRIBUTE_DFLT_DARG;
    if (kind == 2 && gsizes[d] >= 2 * psizes[d] && random_below(structure, 2)) dargs[d] = 2;
    coordinate[d] = (int)random_below(structure, (uint32_t)psizes[d]);
    dimensions[d] = distributed(gsizes[d], distribs[d], dargs[d], psizes[d], coordinate[d]);
    rank = rank * psizes[d] + coordinate[d];
    processes *= psizes[d];
  }
  Node node = {MPI_DATATYPE_NULL, {0}, child->alignment};
  say(maker, "darray");
  MPI_Type_create_darray(processes, rank, dims, gsizes, distribs, dargs, psizes, order, child->type,
                         &node.type);
  append_array(&node.map, &child->map, extent_of(child->type), dims, dimensions, order);
  return node;
}

/* ---- resized and struct ---- */

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent) {
  MPI_Datatype wider;
  MPI_Type_create_resized(type, lb, extent, &wider);
  return wider;
}

static int64_t true_extent(const TypeMap* map) {
  int64_t low, high;
  typemap_bounds(map, &low, &high);
  return high - low;
}

static int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

static Node make_resized(Maker* maker, Node* child) {
  const int64_t unit = child->alignment;
  Node node = {MPI_DATATYPE_NULL, {0}, child->alignment};
  typemap_append(&node.map, &child->map, 0);
  say(maker, "resized");
  node.type = resized(child->type, unit * random_between(&maker->layout, -3, 3),
                      rounded_up(true_extent(&node.map), unit) + gap(maker, unit));
  return node;
}

static Node make(Maker* maker, int depth);
static void discard(Node* node);

static Node make_struct(Maker* maker, Node* first) {
  enum { kMaxMembers = 4 };
  Node members[kMaxMembers] = {*first};
  MPI_Datatype types[kMaxMembers];
  Blocks blocks = {.count = random_between(&maker->structure, 1, kMaxMembers)};
  Node node = {MPI_DATATYPE_NULL, {0}, 1};
  for (int m = 1; m < blocks.count; m++) members[m] = make(maker, kMaxDepth - 1);
  MPI_Aint at = 16 * random_between(&maker->layout, -2, 2);
  for (int m = 0; m < blocks.count; m++) {
    const MPI_Aint extent = extent_of(members[m].type);
    int64_t low, high;
    typemap_bounds(&members[m].map, &low, &high);
    blocks.lengths[m] = random_between(&maker->structure, 0, 3);
    blocks.offsets[m] = rounded_up(at - low, 16);
    const int64_t steps = blocks.lengths[m] > 0 ? blocks.lengths[m] - 1 : 0;
    at = blocks.offsets[m] + steps * extent + high + 16 * random_between(&maker->layout, 0, 2);
    types[m] = members[m].type;
    if (node.alignment < members[m].alignment) node.alignment = members[m].alignment;
    for (int i = 0; i < blocks.lengths[m]; i++) {
      typemap_append(&node.map, &members[m].map, blocks.offsets[m] + i * extent);
    }
  }
  say(maker, "struct");
  MPI_Type_create_struct(blocks.count, blocks.lengths, blocks.offsets, types, &node.type);
  for (int m = 1; m < blocks.count; m++) discard(&members[m]);
  return node;
}

/* ---- the whole ---- */

static void discard(Node* node) {
  int integers, addresses, datatypes, combiner;
  MPI_Type_get_envelope(node->type, &integers, &addresses, &datatypes, &combiner);
  if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&node->type);
  typemap_free(&node->map);
}

/* Elements in a row must not overlap, whatever bounds the constructors gave. */
static void spread(Node* node) {
  const int64_t needed = rounded_up(true_extent(&node->map), node->alignment);
  if (extent_of(node->type) >= needed && extent_of(node->type) % node->alignment == 0) return;
  MPI_Datatype narrow = node->type;
  node->type = resized(narrow, 0, needed);
  MPI_Type_free(&narrow);
}

static Node make(Maker* maker, int depth) {
  static Node (*const kMakers[])(Maker*, Node*) = {
      make_dup,      make_contiguous, make_vector,        make_hvector,
      make_indexed,  make_hindexed,   make_indexed_block, make_hindexed_block,
      make_subarray, make_darray,     make_resized,       make_struct,
  };
  Node node = make_basic(maker);
  const int levels =
      random_between(&maker->structure, depth < kMaxDepth - 1 ? 1 : 0, kMaxDepth - depth);
  for (int level = 0; level < levels && node.map.count < kMaxEntries / 8; level++) {
    const uint32_t which = random_below(&maker->structure, sizeof(kMakers) / sizeof(kMakers[0]));
    Node outer = kMakers[which](maker, &node);
    discard(&node);
    spread(&outer);
    node = outer;
  }
  return node;
}

RandomType random_type_new(uint64_t structure, uint64_t layout) {
  RandomType type = {.text = ""};
  Maker maker = {random_from(structure), random_from(~layout), type.text, sizeof(type.text)};
  Node node = make(&maker, 0);
  MPI_Type_dup(node.type, &type.type);
  MPI_Type_commit(&type.type);
  type.map = node.map;
  type.extent = extent_of(type.type);
  node.map = (TypeMap){0};
  discard(&node);
  return type;
}

void random_type_free(RandomType* type) {
  MPI_Type_free(&type->type);
  typemap_free(&type->map);
}
