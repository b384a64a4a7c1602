/* plan.h: random messages that all ranks know of without asking each other.
 *
 * A plan is one round of a stress test: who sends what to whom, how, and how it is received.  It
 * follows from a seed and the round's number, so that every rank makes the same.  Layouts are a
 * side's own: of equal signature, else chosen by each for itself.
 */
#ifndef TESTS_MPI_PLAN_H
#define TESTS_MPI_PLAN_H

#include <mpi.h>
#include <stdbool.h>

#include "random.h"
#include "typemap.h"

enum { kMostMessages = 40 };

/* How receives find their messages; each on a communicator of its own. */
typedef enum Channel {
  kNamed,   /* by source and tag, in the order sent */
  kAnybody, /* MPI_ANY_SOURCE and MPI_ANY_TAG; all to one rank have the same element */
  kProbed,  /* by a probe for whatever comes */
  kChannels
} Channel;

typedef enum Content { kBytes, kBlocks, kRandomType, kContents } Content;

typedef struct Message {
  int source, target, tag;
  Channel channel;
  Content content;
  uint64_t structure; /* of a random type */
  int bytes;          /* of an element of the other contents */
  int count;          /* elements sent */
  int room;           /* elements received for: more than count only on kAnybody */
  bool synchronous, persistent;
  bool late; /* received after everything is sent; one answer for each source, target and tag */
  uint32_t stamp; /* equal in the lowest byte within a round */
} Message;

typedef struct Plan {
  Message messages[kMostMessages];
  int count;
  bool together; /* a barrier between receives that are early and sends */
} Plan;

Plan plan_new(uint64_t seed, int round, int ranks);

/* One side's datatype for a message. */
typedef struct Side {
  MPI_Datatype type;
  int count;
  Image image;
} Side;

/* For `count` elements of the message's type; `layout` decides the rest.  Not filled. */
Side side_new(const Message* message, Random* layout, int count);
void side_free(Side* side);

#endif
