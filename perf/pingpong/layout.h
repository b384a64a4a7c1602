/* layout.h: the messages of RT-0306's benchmarks, each as a value.
 *
 * A layout says how one message is sent (datatype, count, type map) and how it is received.  The
 * report's own layouts are dense: their blocks touch.  Each has a twin whose name ends in "-gap"
 * and whose blocks lie as far apart as they are long.
 */
#ifndef PINGPONG_LAYOUT_H
#define PINGPONG_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "typemap.h"

/* How the receiver takes the data. */
typedef enum Receive {
  kReceiveAsPaper, /* contiguous for index and vector, typed for struct */
  kReceiveContiguous,
  kReceiveTyped
} Receive;

typedef struct Side {
  MPI_Datatype type;
  int count;
  TypeMap map;
} Side;

typedef struct Layout {
  size_t
      bytes;  /* payload: what was asked for, rounded to whole elements (vector: to equal blocks) */
  int blocks; /* of the datatype; 3 in a struct, 1 in the contiguous reference */
  bool typed; /* the receiver uses the sender's datatype */
  Side send;
  Side receive;
} Layout;

typedef struct LayoutKind {
  const char* name;
  bool takes_blocks; /* the number of blocks is a parameter */
  bool typed_in_paper;
  int gap_factor; /* block starts are this many block lengths apart: 1 dense, 2 gapped */
  Side (*build)(const struct LayoutKind* kind, size_t bytes, int blocks);
} LayoutKind;

const LayoutKind* layout_kind_find(const char* name); /* NULL: unknown */
const LayoutKind* layout_kind_at(size_t index);       /* NULL: past the last */

/* A committed layout of about `bytes` payload in `blocks` blocks. */
Layout layout_new(const LayoutKind* kind, size_t bytes, int blocks, Receive receive);
void layout_free(Layout* layout);

#endif
