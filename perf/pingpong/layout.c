#include "layout.h"

#include <string.h>

#include "memory.h"

enum { kWord = sizeof(float), kStructBlocks = 3 };

/* RT-0306, appendix B.3. */
typedef struct Particle {
  float x, y;
  int c;
  float z;
} Particle;

/* The same particle with members that do not travel, each gap as long as the block before it. */
typedef struct GappedParticle {
  float x, y, unused_xy[2];
  int c, unused_c;
  float z, unused_z;
} GappedParticle;

static Side side(MPI_Datatype type, int count, TypeMap map) {
  MPI_Type_commit(&type);
  Side built = {type, count, map};
  return built;
}

static Side contiguous_words(size_t words) {
  MPI_Datatype type;
  MPI_Type_contiguous((int)words, MPI_FLOAT, &type);
  TypeMap map = typemap_new(1, 1, words);
  map.runs[0].length = words;
  return side(type, 1, map);
}

static Side build_contiguous(const LayoutKind* kind, size_t bytes, int blocks) {
  (void)kind, (void)blocks;
  return contiguous_words(bytes / kWord);
}

/* Blocks of n/b elements, the last one with the n%b left over as well (appendix B.1). */
static TypeMap index_map(size_t words, int blocks, int gap_factor) {
  TypeMap map = typemap_new((size_t)blocks, 1, 0);
  size_t offset = 0;
  for (int i = 0; i < blocks; i++) {
    map.runs[i].offset = offset;
    map.runs[i].length = words / (size_t)blocks;
    offset += map.runs[i].length * (size_t)gap_factor;
  }
  map.runs[blocks - 1].length += words % (size_t)blocks;
  return map;
}

static Side build_index(const LayoutKind* kind, size_t bytes, int blocks) {
  TypeMap map = index_map(bytes / kWord, blocks, kind->gap_factor);
  int* lengths = allocate((size_t)blocks * sizeof(int));
  int* displacements = allocate((size_t)blocks * sizeof(int));
  for (int i = 0; i < blocks; i++) {
    lengths[i] = (int)map.runs[i].length;
    displacements[i] = (int)map.runs[i].offset;
  }
  MPI_Datatype type;
  MPI_Type_indexed(blocks, lengths, displacements, MPI_FLOAT, &type);
  release(lengths);
  release(displacements);
  return side(type, 1, map);
}

static Side build_hindex(const LayoutKind* kind, size_t bytes, int blocks) {
  TypeMap map = index_map(bytes / kWord, blocks, kind->gap_factor);
  int* lengths = allocate((size_t)blocks * sizeof(int));
  MPI_Aint* displacements = allocate((size_t)blocks * sizeof(MPI_Aint));
  for (int i = 0; i < blocks; i++) {
    lengths[i] = (int)map.runs[i].length;
    displacements[i] = (MPI_Aint)(map.runs[i].offset * kWord);
  }
  MPI_Datatype type;
  MPI_Type_create_hindexed(blocks, lengths, displacements, MPI_FLOAT, &type);
  release(lengths);
  release(displacements);
  return side(type, 1, map);
}

/* Equal blocks, so the size is rounded up to a multiple of the number of blocks.  (Appendix B.2
 * rounds the side of a square matrix instead, which makes 400 bytes of 64 when b is 10.) */
static TypeMap vector_map(size_t words, int blocks, int gap_factor) {
  const size_t length = (words + (size_t)blocks - 1) / (size_t)blocks;
  TypeMap map = typemap_new(1, (size_t)blocks, length * (size_t)gap_factor);
  map.runs[0].length = length;
  return map;
}

static Side build_vector(const LayoutKind* kind, size_t bytes, int blocks) {
  TypeMap map = vector_map(bytes / kWord, blocks, kind->gap_factor);
  MPI_Datatype type;
  MPI_Type_vector(blocks, (int)map.runs[0].length, (int)map.stride, MPI_FLOAT, &type);
  return side(type, 1, map);
}

static Side build_hvector(const LayoutKind* kind, size_t bytes, int blocks) {
  TypeMap map = vector_map(bytes / kWord, blocks, kind->gap_factor);
  MPI_Datatype type;
  MPI_Type_create_hvector(blocks, (int)map.runs[0].length, (MPI_Aint)(map.stride * kWord),
                          MPI_FLOAT, &type);
  return side(type, 1, map);
}

static Side build_particles(size_t bytes, const MPI_Aint offsets[kStructBlocks], size_t extent) {
  const int lengths[kStructBlocks] = {2, 1, 1};
  const MPI_Datatype types[kStructBlocks] = {MPI_FLOAT, MPI_INT, MPI_FLOAT};
  const size_t count = bytes < sizeof(Particle) ? 1 : bytes / sizeof(Particle);
  MPI_Datatype fields, type;
  MPI_Type_create_struct(kStructBlocks, lengths, offsets, types, &fields);
  MPI_Type_create_resized(fields, 0, (MPI_Aint)extent, &type);
  MPI_Type_free(&fields);
  TypeMap map = typemap_new(kStructBlocks, count, extent / kWord);
  for (int i = 0; i < kStructBlocks; i++) {
    map.runs[i].offset = (size_t)offsets[i] / kWord;
    map.runs[i].length = (size_t)lengths[i];
  }
  return side(type, (int)count, map);
}

static Side build_struct(const LayoutKind* kind, size_t bytes, int blocks) {
  (void)kind, (void)blocks;
  const MPI_Aint offsets[kStructBlocks] = {offsetof(Particle, x), offsetof(Particle, c),
                                           offsetof(Particle, z)};
  return build_particles(bytes, offsets, sizeof(Particle));
}

static Side build_struct_gap(const LayoutKind* kind, size_t bytes, int blocks) {
  (void)kind, (void)blocks;
  const MPI_Aint offsets[kStructBlocks] = {offsetof(GappedParticle, x), offsetof(GappedParticle, c),
                                           offsetof(GappedParticle, z)};
  return build_particles(bytes, offsets, sizeof(GappedParticle));
}

static const LayoutKind kKinds[] = {
    {"contiguous", false, false, 1, build_contiguous},
    {"index", true, false, 1, build_index},
    {"hindex", true, false, 1, build_hindex},
    {"vector", true, false, 1, build_vector},
    {"hvector", true, false, 1, build_hvector},
    {"struct", false, true, 1, build_struct},
    {"index-gap", true, false, 2, build_index},
    {"hindex-gap", true, false, 2, build_hindex},
    {"vector-gap", true, false, 2, build_vector},
    {"hvector-gap", true, false, 2, build_hvector},
    {"struct-gap", false, true, 2, build_struct_gap},
};

const LayoutKind* layout_kind_at(size_t index) {
  return index < sizeof(kKinds) / sizeof(kKinds[0]) ? &kKinds[index] : NULL;
}

const LayoutKind* layout_kind_find(const char* name) {
  for (size_t i = 0; layout_kind_at(i); i++) {
    if (strcmp(kKinds[i].name, name) == 0) return &kKinds[i];
  }
  return NULL;
}

Layout layout_new(const LayoutKind* kind, size_t bytes, int blocks, Receive receive) {
  Layout layout;
  layout.send = kind->build(kind, bytes, blocks);
  layout.bytes = typemap_payload_words(&layout.send.map) * kWord;
  layout.blocks =
      (int)(layout.send.map.run_count * (kind->takes_blocks ? layout.send.map.repeats : 1));
  layout.typed = receive == kReceiveAsPaper ? kind->typed_in_paper : receive == kReceiveTyped;
  layout.receive =
      layout.typed ? kind->build(kind, bytes, blocks) : contiguous_words(layout.bytes / kWord);
  return layout;
}

static void side_free(Side* built) {
  MPI_Type_free(&built->type);
  typemap_free(&built->map);
}

void layout_free(Layout* layout) {
  side_free(&layout->send);
  side_free(&layout->receive);
}
