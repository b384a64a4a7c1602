#include "elements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostBlocks = 6, kMostDepth = 3, kMostInner = 4 };

/* A type under construction; `places` are those of one of it. */
typedef struct Node {
  MPI_Datatype type;
  int64_t* places;
  int number;
  int size;
  bool predefined;
} Node;

/* Places in which children stand: `lengths` of them in a row from each of `offsets` (bytes). */
typedef struct Blocks {
  int count;
  int lengths[kMostBlocks];
  MPI_Aint offsets[kMostBlocks];
} Blocks;

static void* room(size_t bytes) {
  void* memory = malloc(bytes ? bytes : 1);
  if (memory) return memory;
  fprintf(stderr, "no memory for %zu bytes\n", bytes);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static int64_t extent_of(MPI_Datatype type) {
  MPI_Aint lb, extent;
  MPI_Type_get_extent(type, &lb, &extent);
  return extent;
}

static void node_free(Node* node) {
  if (!node->predefined) MPI_Type_free(&node->type);
  free(node->places);
}

static int children_of(const Blocks* blocks) {
  int children = 0;
  for (int b = 0; b < blocks->count; b++) children += blocks->lengths[b];
  return children;
}

/* The node of `type`, which was made of `child`; that is released. */
static Node node_of(MPI_Datatype type, Node* child, const Blocks* blocks) {
  const int number = child->number * children_of(blocks);
  Node node = {type, room((size_t)number * sizeof(int64_t)), 0, child->size, false};
  const int64_t extent = extent_of(child->type);
  for (int b = 0; b < blocks->count; b++) {
    for (int i = 0; i < blocks->lengths[b]; i++) {
      for (int e = 0; e < child->number; e++) {
        node.places[node.number++] = blocks->offsets[b] + i * extent + child->places[e];
      }
    }
  }
  node_free(child);
  return node;
}

/* A divisor of `number` that is at most `most`; often 1 if there is no better one. */
static int divisor(Random* random, int number, int most) {
  const int wanted = random_between(random, 1, most);
  for (int d = wanted; d > 1; d--) {
    if (number % d == 0) return d;
  }
  return 1;
}

/* `children` in blocks of any lengths, some empty, in any order, `unit` bytes or none between. */
static Blocks scattered(Random* random, int children, int64_t extent, int64_t unit) {
  Blocks blocks = {.count = random_between(random, 1, kMostBlocks)};
  int order[kMostBlocks], left = children;
  for (int b = 0; b < blocks.count; b++) {
    const int last = b == blocks.count - 1;
    blocks.lengths[b] = last ? left : (int)random_below(random, (uint32_t)left + 1);
    left -= blocks.lengths[b];
    order[b] = b;
  }
  for (int b = blocks.count - 1; b > 0 && random_below(random, 2); b--) {
    const int other = (int)random_below(random, (uint32_t)b + 1), held = order[b];
    order[b] = order[other], order[other] = held;
  }
  MPI_Aint at = unit * random_between(random, -3, 3);
  for (int b = 0; b < blocks.count; b++) {
    blocks.offsets[order[b]] = at;
    at += blocks.lengths[order[b]] * extent + unit * random_between(random, 0, 3);
  }
  return blocks;
}

static Node make_contiguous(Random* random, Node* child, int children) {
  (void)random;
  const Blocks blocks = {1, {children}, {0}};
  MPI_Datatype type;
  MPI_Type_contiguous(children, child->type, &type);
  return node_of(type, child, &blocks);
}

static Node make_vector(Random* random, Node* child, int children) {
  Blocks blocks = {.count = divisor(random, children, kMostBlocks)};
  const int length = children / blocks.count;
  int64_t stride = length + random_between(random, 0, 3);
  if (random_below(random, 3) == 0) stride = -stride;
  for (int b = 0; b < blocks.count; b++) {
    blocks.lengths[b] = length;
    blocks.offsets[b] = b * stride * extent_of(child->type);
  }
  MPI_Datatype type;
  MPI_Type_vector(blocks.count, length, (int)stride, child->type, &type);
  return node_of(type, child, &blocks);
}

static Node make_indexed(Random* random, Node* child, int children) {
  const int64_t extent = extent_of(child->type);
  const Blocks blocks = scattered(random, children, extent, extent);
  int displacements[kMostBlocks];
  for (int b = 0; b < blocks.count; b++) displacements[b] = (int)(blocks.offsets[b] / extent);
  MPI_Datatype type;
  MPI_Type_indexed(blocks.count, blocks.lengths, displacements, child->type, &type);
  return node_of(type, child, &blocks);
}

static Node make_hindexed(Random* random, Node* child, int children) {
  const Blocks blocks = scattered(random, children, extent_of(child->type), child->size);
  MPI_Datatype type;
  MPI_Type_create_hindexed(blocks.count, blocks.lengths, blocks.offsets, child->type, &type);
  return node_of(type, child, &blocks);
}

static Node make_struct(Random* random, Node* child, int children) {
  const Blocks blocks = scattered(random, children, extent_of(child->type), child->size);
  MPI_Datatype types[kMostBlocks], type;
  for (int b = 0; b < blocks.count; b++) types[b] = child->type;
  MPI_Type_create_struct(blocks.count, blocks.lengths, blocks.offsets, types, &type);
  return node_of(type, child, &blocks);
}

/* Some columns of some rows of a matrix. */
static Node make_subarray(Random* random, Node* child, int children) {
  const int rows = divisor(random, children, kMostBlocks);
  const int subsizes[2] = {rows, children / rows};
  const int starts[2] = {random_between(random, 0, 2), random_between(random, 0, 2)};
  const int sizes[2] = {starts[0] + subsizes[0] + random_between(random, 0, 2),
                        starts[1] + subsizes[1] + random_between(random, 0, 2)};
  Blocks blocks = {.count = rows};
  for (int b = 0; b < rows; b++) {
    blocks.lengths[b] = subsizes[1];
    blocks.offsets[b] = ((starts[0] + b) * (int64_t)sizes[1] + starts[1]) * extent_of(child->type);
  }
  MPI_Datatype type;
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, child->type, &type);
  return node_of(type, child, &blocks);
}

static int64_t span(const Node* node) {
  const Elements all = {.places = node->places, .number = node->number, .size = node->size};
  int64_t low, high;
  elements_bounds(&all, &low, &high);
  return high - low;
}

/* Other bounds; elements in a row still do not overlap. */
static Node make_resized(Random* random, Node* child, int children) {
  Node inner = make_contiguous(random, child, children);
  const Blocks one = {1, {1}, {0}};
  const int64_t extent = span(&inner) + inner.size * random_between(random, 0, 3);
  MPI_Datatype type;
  MPI_Type_create_resized(inner.type, inner.size * random_between(random, -2, 2), extent, &type);
  return node_of(type, &inner, &one);
}

/* `number` elements, at least 1, in one type. */
static Node make(Random* random, MPI_Datatype basic, int size, int number, int depth) {
  static Node (*const kMakers[])(Random*, Node*, int) = {
      make_contiguous, make_vector,   make_indexed, make_hindexed,
      make_struct,     make_subarray, make_resized,
  };
  const int inner = depth < kMostDepth ? divisor(random, number, kMostInner) : 1;
  Node child = {basic, room(sizeof(int64_t)), 1, size, true};
  child.places[0] = 0;
  if (inner > 1) {
    node_free(&child);
    child = make(random, basic, size, inner, depth + 1);
  }
  const uint32_t which = random_below(random, sizeof(kMakers) / sizeof(kMakers[0]));
  return kMakers[which](random, &child, number / inner);
}

static Elements none(Random* random, MPI_Datatype basic, int size) {
  Elements elements = {basic, 0, room(0), 0, size, true};
  if (random_below(random, 2)) return elements;
  Node child = {basic, room(sizeof(int64_t)), 1, size, true};
  child.places[0] = 0;
  Node node = random_below(random, 2) ? make_contiguous(random, &child, 0)
                                      : make_hindexed(random, &child, 0);
  free(node.places);
  MPI_Type_commit(&node.type);
  elements.type = node.type;
  elements.predefined = false;
  elements.count = random_between(random, 0, 3);
  return elements;
}

Elements elements_new(Random* random, MPI_Datatype basic, int size, int number) {
  if (number == 0) return none(random, basic, size);
  Elements elements = {basic, number, NULL, number, size, true};
  elements.places = room((size_t)number * sizeof(int64_t));
  if (random_below(random, 3) == 0) {
    for (int e = 0; e < number; e++) elements.places[e] = (int64_t)e * size;
    return elements;
  }
  elements.count = divisor(random, number, kMostBlocks);
  Node node = make(random, basic, size, number / elements.count, 0);
  const int64_t extent = extent_of(node.type);
  for (int e = 0; e < number; e++) {
    elements.places[e] = e / node.number * extent + node.places[e % node.number];
  }
  free(node.places);
  MPI_Type_commit(&node.type);
  elements.type = node.type;
  elements.predefined = false;
  return elements;
}

void elements_free(Elements* elements) {
  if (!elements->predefined) MPI_Type_free(&elements->type);
  free(elements->places);
  memset(elements, 0, sizeof(*elements));
}

void elements_bounds(const Elements* elements, int64_t* low, int64_t* high) {
  *low = *high = 0;
  for (int e = 0; e < elements->number; e++) {
    const int64_t place = elements->places[e];
    if (e == 0 || place < *low) *low = place;
    if (e == 0 || place + elements->size > *high) *high = place + elements->size;
  }
}
