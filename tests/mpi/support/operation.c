#include "operation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kMargin = 64, kTries = 6, kScribbled = 0xEE };

/* Sums and products of numbers without a sign, whose overflow is defined; the greater of numbers
 * with one: MPICH 4.0.2 compares all as if they had it (pmodels/mpich #6083). */
typedef enum Op { kSum, kProd, kMax, kMin, kBand, kBor, kBxor, kReplace, kNoOp, kSwap } Op;

static const char* const kKindNames[] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};

typedef struct Basic {
  const char* name;
  MPI_Datatype type;
  int size;
  Op first; /* that it has, but for kMax and kMin of those without a sign, up to kNoOp */
} Basic;

static Basic basic_of(int number) {
  const Basic kBasics[] = {{"uint8", MPI_UINT8_T, 1, kSum},    {"uint16", MPI_UINT16_T, 2, kSum},
                           {"uint32", MPI_UINT32_T, 4, kSum},  {"uint64", MPI_UINT64_T, 8, kSum},
                           {"int16", MPI_INT16_T, 2, kMax},    {"int64", MPI_INT64_T, 8, kMax},
                           {"double", MPI_DOUBLE, 8, kReplace}};
  return kBasics[number];
}

enum { kBasicCount = 7, kIntegers = 6 };

static MPI_Op op_of(int op) {
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX,     MPI_MIN,  MPI_BAND,
                        MPI_BOR, MPI_BXOR, MPI_REPLACE, MPI_NO_OP};
  return ops[op];
}

void random_bytes(Random* random, uint8_t* memory, size_t bytes) {
  for (size_t b = 0; b < bytes; b += 4) {
    const uint32_t four = random_below(random, UINT32_MAX);
    memcpy(memory + b, &four, bytes - b < 4 ? bytes - b : 4);
  }
}

/* ---- operands ---- */

static void* room(size_t bytes) {
  void* memory = aligned_alloc(kMargin, (bytes + kMargin) / kMargin * kMargin);
  if (memory) return memory;
  MPI_Abort(MPI_COMM_WORLD, 1);
  return NULL;
}

static Operand operand_new(Random* random, const Elements* elements) {
  Operand operand = {.elements = *elements};
  int64_t low, high;
  elements_bounds(elements, &low, &high);
  if (low > 0) low = 0;
  low -= ((low % kMargin) + kMargin) % kMargin; /* elements stay aligned */
  operand.base = (size_t)(kMargin - low);
  operand.bytes = operand.base + (size_t)high + kMargin;
  operand.memory = room(operand.bytes);
  operand.expected = room(operand.bytes);
  random_bytes(random, operand.memory, operand.bytes);
  memcpy(operand.expected, operand.memory, operand.bytes);
  return operand;
}

static void operand_free(Operand* operand) {
  if (!operand->memory) return;
  elements_free(&operand->elements);
  free(operand->memory), free(operand->expected);
}

static uint8_t* expected_at(const Operand* operand, int element) {
  return operand->expected + operand->base + operand->elements.places[element];
}

/* ---- what it does, one element at a time ---- */

/* Its bits, with those of its sign above. */
static uint64_t value_of(const uint8_t* at, int size) {
  int8_t one;
  int16_t two;
  int32_t four;
  int64_t eight;
  if (size == 1) return memcpy(&one, at, 1), (uint64_t)one;
  if (size == 2) return memcpy(&two, at, 2), (uint64_t)two;
  if (size == 4) return memcpy(&four, at, 4), (uint64_t)four;
  return memcpy(&eight, at, 8), (uint64_t)eight;
}

static void put_value(uint8_t* at, int size, uint64_t value) {
  const uint8_t one = (uint8_t)value;
  const uint16_t two = (uint16_t)value;
  const uint32_t four = (uint32_t)value;
  if (size == 1) memcpy(at, &one, 1);
  if (size == 2) memcpy(at, &two, 2);
  if (size == 4) memcpy(at, &four, 4);
  if (size == 8) memcpy(at, &value, 8);
}

static uint64_t combined(int op, uint64_t there, uint64_t mine) {
  if (op == kSum) return there + mine;
  if (op == kProd) return there * mine;
  if (op == kMax) return (int64_t)there > (int64_t)mine ? there : mine;
  if (op == kMin) return (int64_t)there < (int64_t)mine ? there : mine;
  if (op == kBand) return there & mine;
  if (op == kBor) return there | mine;
  if (op == kBxor) return there ^ mine;
  return op == kReplace ? mine : there;
}

static void apply(Operation* operation, Model* model) {
  const size_t size = (size_t)operation->there.size;
  for (int e = 0; e < operation->there.number; e++) {
    uint8_t* at = model->memory[operation->target] + operation->place + operation->there.places[e];
    if (operation->kind == kPut) memcpy(at, expected_at(&operation->source, e), size);
    if (operation->kind == kPut) continue;
    const uint64_t before = value_of(at, (int)size);
    if (operation->result.memory) memcpy(expected_at(&operation->result, e), at, size);
    if (operation->kind == kGet) continue;
    const uint64_t mine = value_of(expected_at(&operation->source, e), (int)size);
    uint64_t after = combined(operation->op, before, mine);
    if (operation->kind == kCompareAndSwap) {
      after = value_of(expected_at(&operation->compare, e), (int)size) == before ? mine : before;
    }
    put_value(at, (int)size, after);
  }
}

/* ---- making one ---- */

static int random_number(Random* random, Kind kind) {
  if (kind == kFetchAndOp || kind == kCompareAndSwap) return 1;
  switch (random_below(random, 12)) {
    case 0:
      return 0;
    case 1:
    case 2:
      return random_between(random, 1, 40000);
    case 3:
    case 4:
    case 5:
      return random_between(random, 1, 600);
    default:
      return random_between(random, 1, 30);
  }
}

static int random_op(Random* random, const Basic* basic, Kind kind) {
  if (kind == kCompareAndSwap) return kSwap;
  const int last = kind == kAccumulate ? kReplace : kNoOp;
  const int op = random_between(random, (int)basic->first, last);
  return basic->first == kSum && (op == kMax || op == kMin) ? kSum : op;
}

/* A place of the window that has room for the elements, as displacements and alignment have it. */
static bool find_place(Operation* operation, Random* random, const Model* model) {
  const int unit = model->unit[operation->target], size = operation->there.size;
  const int64_t step = unit > size ? unit : size;
  int64_t low, high;
  elements_bounds(&operation->there, &low, &high);
  const int64_t first = low < 0 ? (-low + step - 1) / step : 0;
  const int64_t room_left = (int64_t)model->bytes[operation->target] - high;
  if (operation->there.number == 0) return operation->place = 0, true;
  if (room_left < first * step) return false;
  operation->place = step * random_between(random, (int)first, (int)(room_left / step));
  return true;
}

static Access access_of(const Operation* operation) {
  Access access = {.kind = kAccumulated, .origin = (int8_t)operation->origin};
  access.basic = (uint8_t)operation->basic, access.operation = (uint8_t)operation->op;
  if (operation->kind == kPut) access.kind = kWritten;
  if (operation->kind == kGet) access.kind = kRead;
  access.neutral = operation->op == kNoOp;
  access.ordered = operation->kind >= kGetAccumulate || operation->op == kReplace;
  return access;
}

static void add_operands(Operation* operation, Random* random, const Model* model) {
  const Basic basic = basic_of(operation->basic);
  const Kind kind = operation->kind;
  const bool single = kind == kFetchAndOp || kind == kCompareAndSwap;
  for (int o = 0; o < 3; o++) {
    Operand* operand = o == 0   ? &operation->source
                       : o == 1 ? &operation->result
                                : &operation->compare;
    if (o == 0 && kind == kGet) continue;
    if (o == 1 && (kind == kPut || kind == kAccumulate)) continue;
    if (o == 2 && kind != kCompareAndSwap) continue;
    Elements elements = elements_new(random, basic.type, basic.size, operation->there.number);
    while (single && !elements.predefined) {
      elements_free(&elements);
      elements = elements_new(random, basic.type, basic.size, 1);
    }
    *operand = operand_new(random, &elements);
  }
  if (kind != kCompareAndSwap || random_below(random, 2)) return;
  const uint8_t* at = model->memory[operation->target] + operation->place;
  memcpy(expected_at(&operation->compare, 0), at, (size_t)basic.size); /* it will swap */
  memcpy(operation->compare.memory, operation->compare.expected, operation->compare.bytes);
}

static void describe(Operation* operation) {
  snprintf(operation->text, sizeof(operation->text),
           "%s%s of %d %s, op %d, from %d to %d, byte %lld, count %d there, %d and %d here",
           operation->requested ? "r" : "", kKindNames[operation->kind], operation->there.number,
           basic_of(operation->basic).name, operation->op, operation->origin, operation->target,
           (long long)operation->place, operation->there.count, operation->source.elements.count,
           operation->result.elements.count);
}

bool operation_new(Operation* operation, Random* random, Model* model, int origin, int target,
                   bool may_request) {
  for (int t = 0; t < kTries; t++) {
    *operation = (Operation){.kind = (Kind)random_below(random, kCompareAndSwap + 1),
                             .origin = origin,
                             .target = target,
                             .request = MPI_REQUEST_NULL};
    const bool swaps = operation->kind == kCompareAndSwap;
    operation->basic = (int)random_below(random, swaps ? kIntegers : kBasicCount);
    const Basic basic = basic_of(operation->basic);
    operation->op = random_op(random, &basic, operation->kind);
    operation->requested = may_request && operation->kind < kFetchAndOp && random_below(random, 2);
    const int number = random_number(random, operation->kind);
    if (number == 1 && operation->kind >= kFetchAndOp) {
      operation->there = elements_new(random, basic.type, basic.size, 1);
      operation->there.places[0] = 0; /* of these only the place is said */
    } else {
      operation->there = elements_new(random, basic.type, basic.size, number);
    }
    const Access access = access_of(operation);
    if (find_place(operation, random, model) &&
        accesses_add(&model->accesses[target], &operation->there, operation->place, &access)) {
      add_operands(operation, random, model);
      describe(operation);
      apply(operation, model);
      return true;
    }
    elements_free(&operation->there);
  }
  return false;
}

void operation_free(Operation* operation) {
  elements_free(&operation->there);
  operand_free(&operation->source), operand_free(&operation->result);
  operand_free(&operation->compare);
}

/* ---- at the origin ---- */

static void* base_of(const Operand* operand) { return operand->memory + operand->base; }

void operation_start(Operation* operation, MPI_Win win, MPI_Aint displacement, int unit) {
  const Operand *source = &operation->source, *result = &operation->result;
  const Elements *mine = &source->elements, *got = &result->elements, *there = &operation->there;
  const MPI_Datatype basic = basic_of(operation->basic).type;
  const MPI_Aint at = displacement + operation->place / unit;
  const int target = operation->target;
  MPI_Request* request = &operation->request;
  operation->pending = true;
  switch (operation->kind) {
    case kPut:
      if (operation->requested) {
        MPI_Rput(base_of(source), mine->count, mine->type, target, at, there->count, there->type,
                 win, request);
      } else {
        MPI_Put(base_of(source), mine->count, mine->type, target, at, there->count, there->type,
                win);
      }
      break;
    case kGet:
      if (operation->requested) {
        MPI_Rget(base_of(result), got->count, got->type, target, at, there->count, there->type, win,
                 request);
      } else {
        MPI_Get(base_of(result), got->count, got->type, target, at, there->count, there->type, win);
      }
      break;
    case kAccumulate:
      if (operation->requested) {
        MPI_Raccumulate(base_of(source), mine->count, mine->type, target, at, there->count,
                        there->type, op_of(operation->op), win, request);
      } else {
        MPI_Accumulate(base_of(source), mine->count, mine->type, target, at, there->count,
                       there->type, op_of(operation->op), win);
      }
      break;
    case kGetAccumulate:
      if (operation->requested) {
        MPI_Rget_accumulate(base_of(source), mine->count, mine->type, base_of(result), got->count,
                            got->type, target, at, there->count, there->type, op_of(operation->op),
                            win, request);
      } else {
        MPI_Get_accumulate(base_of(source), mine->count, mine->type, base_of(result), got->count,
                           got->type, target, at, there->count, there->type, op_of(operation->op),
                           win);
      }
      break;
    case kFetchAndOp:
      MPI_Fetch_and_op(base_of(source), base_of(result), basic, target, at, op_of(operation->op),
                       win);
      break;
    case kCompareAndSwap:
      MPI_Compare_and_swap(base_of(source), base_of(&operation->compare), base_of(result), basic,
                           target, at, win);
      break;
  }
}

static void check_operand(Operand* operand, const char* which, const char* what,
                          const char* where) {
  if (!operand->memory) return;
  size_t at = 0;
  while (at < operand->bytes && operand->memory[at] == operand->expected[at]) at++;
  CHECK(at == operand->bytes, "%s: byte %lld of the %s: %s", where,
        (long long)at - (long long)operand->base, which, what);
  memset(operand->memory, kScribbled, operand->bytes);
  memset(operand->expected, kScribbled, operand->bytes);
}

void operation_check(Operation* operation, const char* where) {
  operation->pending = false;
  check_operand(&operation->source, "source", operation->text, where);
  check_operand(&operation->result, "result", operation->text, where);
  check_operand(&operation->compare, "comparand", operation->text, where);
}
