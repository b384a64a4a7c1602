#include "accesses.h"

#include <stdlib.h>
#include <string.h>

enum { kSeveral = -1 }; /* origins */

Accesses accesses_new(size_t bytes) {
  Accesses accesses = {calloc(bytes + 1, sizeof(Access)), bytes};
  if (!accesses.of_byte) MPI_Abort(MPI_COMM_WORLD, 1);
  return accesses;
}

void accesses_free(Accesses* accesses) { free(accesses->of_byte); }

void accesses_clear(Accesses* accesses) {
  memset(accesses->of_byte, 0, accesses->bytes * sizeof(Access));
}

void accesses_complete(Accesses* accesses, int origin) {
  for (size_t b = 0; b < accesses->bytes; b++) {
    Access* before = &accesses->of_byte[b];
    if (before->kind != kUntouched && before->origin == origin) before->kind = kCompleted;
  }
}

static bool is_allowed(const Access* before, const Access* now) {
  const bool same_origin = before->origin == now->origin;
  if (before->kind == kUntouched) return true;
  if ((before->owned || before->kind == kCompleted) && !same_origin) return false;
  if (before->kind == kCompleted) return true;
  if (before->kind != now->kind || now->kind == kWritten) return false;
  if (now->kind == kRead) return true;
  if (before->basic != now->basic) return false;
  if (!before->neutral && !now->neutral && before->operation != now->operation) return false;
  return same_origin || (!before->ordered && !now->ordered);
}

static void note(Access* before, const Access* now) {
  const bool fresh = before->kind != now->kind;
  Access both = *now;
  both.owned = before->owned || before->kind == kCompleted;
  if (!fresh) {
    if (before->origin != now->origin) both.origin = kSeveral;
    if (now->neutral) both.operation = before->operation;
    both.neutral = before->neutral && now->neutral;
    both.ordered = before->ordered || now->ordered;
  }
  *before = both;
}

bool accesses_add(Accesses* accesses, const Elements* there, int64_t place, const Access* access) {
  for (int pass = 0; pass < 2; pass++) {
    for (int e = 0; e < there->number; e++) {
      Access* first = &accesses->of_byte[place + there->places[e]];
      for (int b = 0; b < there->size; b++) {
        if (pass == 0 && !is_allowed(&first[b], access)) return false;
        if (pass == 1) note(&first[b], access);
      }
    }
  }
  return true;
}
