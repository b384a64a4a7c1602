#include "plan.h"

#include <stdlib.h>

#include "random_type.h"

enum {
  kTags = 3,
  kPersistentTag = 100, /* and above: a tag for each */
  kMostBits = 22,       /* messages of up to 4 MiB */
  kRoundBytes = 24 << 20,
  kMostCount = 40,
  kMostRoom = 8,
  kMostBlocks = 20000
};

/* Another one for each of what is given. */
static Random random_for(uint64_t seed, uint64_t round, uint64_t which) {
  Random random = random_from(seed + round * 0x9E3779B97F4A7C15u);
  random.state ^= which * 0xD1342543DE82EF95u;
  return random;
}

/* Any magnitude, and often just beside a limit of the protocol. */
static int draw_bytes(Random* random, int most) {
  static const int kLimits[] = {512, 4096, 16384, 32768, 65536, 131072, 262144, 1 << 20};
  int bytes;
  if (random_below(random, 4) == 0) {
    bytes = kLimits[random_below(random, 8)] + random_between(random, -80, 80);
  } else {
    bytes = (int)random_below(random, 1u << random_between(random, 0, kMostBits));
  }
  return bytes <= most ? bytes : bytes % 5000;
}

static bool is_late(uint64_t seed, int round, const Message* message) {
  const int pair = (message->source << 12) + message->target;
  Random random = random_for(seed, (uint64_t)round, ((uint64_t)pair << 16) + message->tag + 1);
  return random_below(&random, 2);
}

/* Whoever's message it is, the receive must fit: one element and one room for each target. */
static void make_anybodys(Message* message, uint64_t seed, int round) {
  Random random = random_for(seed, (uint64_t)round, ((uint64_t)message->target + 1) << 40);
  message->content = kRandomType;
  message->structure = random_below(&random, 1u << 31);
  message->room = random_between(&random, 1, kMostRoom);
}

static Message message_new(Random* random, int ranks, int bytes_left) {
  Message message = {.source = (int)random_below(random, (uint32_t)ranks),
                     .target = (int)random_below(random, (uint32_t)ranks),
                     .tag = (int)random_below(random, kTags),
                     .channel = (Channel)random_below(random, kChannels),
                     .content = (Content)random_below(random, kContents),
                     .structure = random_below(random, 1u << 31),
                     .bytes = draw_bytes(random, bytes_left),
                     .count = 1};
  message.synchronous = random_below(random, 4) == 0;
  message.persistent = message.channel == kNamed && random_below(random, 4) == 0;
  if (message.content == kRandomType) message.count = random_between(random, 0, kMostCount);
  return message;
}

Plan plan_new(uint64_t seed, int round, int ranks) {
  Random random = random_for(seed, (uint64_t)round, 0);
  Plan plan = {.count = random_between(&random, 1, kMostMessages),
               .together = random_below(&random, 2)};
  int bytes_left = kRoundBytes;
  for (int m = 0; m < plan.count; m++) {
    Message message = message_new(&random, ranks, bytes_left);
    message.stamp = ((uint32_t)round * kMostMessages + (uint32_t)m) << 8 | ((uint32_t)round & 255);
    message.room = message.count;
    if (message.persistent) message.tag = kPersistentTag + m;
    if (message.channel == kAnybody) {
      make_anybodys(&message, seed, round);
      message.count = random_between(&random, 0, message.room);
    }
    message.late = is_late(seed, round, &message);
    bytes_left -= message.bytes < bytes_left ? message.bytes : bytes_left;
    plan.messages[m] = message;
  }
  return plan;
}

/* ---- one side ---- */

/* In blocks of about one magnitude with gaps, upwards or downwards in memory. */
static Side blocks_side(int bytes, Random* layout) {
  static int lengths[kMostBlocks];
  static MPI_Aint offsets[kMostBlocks];
  const bool downwards = random_below(layout, 4) == 0;
  int scale = 1 << random_between(layout, 2, 16), blocks = 0;
  if (scale < bytes / (kMostBlocks / 4)) scale = bytes / (kMostBlocks / 4);
  Side side = {MPI_DATATYPE_NULL, 1, {0}};
  TypeMap map = {0};
  MPI_Aint at = 0;
  for (int left = bytes; left > 0; blocks++) {
    int length = scale / 2 + 1 + (int)random_below(layout, (uint32_t)scale);
    if (length > left) length = left;
    lengths[blocks] = length;
    offsets[blocks] = downwards ? -at - length : at;
    typemap_add(&map, offsets[blocks], length);
    at += length;
    if (random_below(layout, 3)) at += 1 + (int)random_below(layout, (uint32_t)length);
    left -= length;
  }
  MPI_Type_create_hindexed(blocks, lengths, offsets, MPI_BYTE, &side.type);
  MPI_Type_commit(&side.type);
  side.image = image_new(&map, 0, 1);
  typemap_free(&map);
  return side;
}

static Side bytes_side(int bytes) {
  Side side = {MPI_BYTE, bytes, {0}};
  TypeMap map = {0};
  if (bytes > 0) typemap_add(&map, 0, bytes);
  side.image = image_new(&map, 0, 1);
  typemap_free(&map);
  return side;
}

Side side_new(const Message* message, Random* layout, int count) {
  if (message->content == kBytes) return bytes_side(message->bytes);
  if (message->content == kBlocks) return blocks_side(message->bytes, layout);
  RandomType random_type = random_type_new(message->structure, random_below(layout, 1u << 31));
  Side side = {MPI_DATATYPE_NULL, count, {0}};
  side.image = image_new(&random_type.map, random_type.extent, (size_t)count);
  MPI_Type_dup(random_type.type, &side.type);
  random_type_free(&random_type);
  return side;
}

void side_free(Side* side) {
  if (side->type != MPI_BYTE) MPI_Type_free(&side->type);
  image_free(&side->image);
}
