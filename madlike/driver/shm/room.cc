// How much of its ring a lane uses: little while messages are short and few, some for pieces of
// long ones, more where the peer is slower than we are or there are many, most while a lot is sent;
// and little again when that is over.
//
// The memory is the writer's affair: pages are there from the first write on, and are given back
// by the writer once the reader is done with all that was written.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "madlike/driver/shm/driver.h"

namespace mad {
namespace {

// Shorter content that finds no room makes no lane grow beyond the limit for pieces.
constexpr std::size_t kLong = 2048;
constexpr std::chrono::milliseconds kShrinkEvery{2000};
// So many bytes of records, of which half are forgotten at each look, are worth the memory of the
// longest lap, and the time that it takes to have it.
constexpr std::size_t kSustained = std::size_t{8} << 20;
// Of the memory that there may be, an eighth is for lanes that are as large as that.
constexpr std::size_t kShareForSpeed = 8;

}  // namespace

bool ShmDriver::charge(ShmConnection& connection, std::size_t bytes) {
  if (bytes > options_.memory_limit - charged_) return false;
  charged_ += bytes;
  connection.charged += bytes;
  return true;
}

// Whether more of the ring may be used now, for content of so many bytes that found no room.
bool ShmDriver::grow(ShmConnection& connection, std::size_t content) {
  std::size_t& limit = connection.limit;
  if (limit == kShmSmallLimit) {
    if (grown_.empty()) {
      clock_.tick();  // there may have been a pause
      shrink_at_ = clock_.now() + kShrinkEvery;
    }
    grown_.push_back(connection.id);
    limit = kShmPieceLimit;
    return true;
  }
  return limit == kShmPieceLimit && content >= kLong && widen(connection, kShmWaitingLimit);
}

bool ShmDriver::make_room(ShmConnection& connection, std::size_t content, bool is_long) {
  ShmWriter& out = *connection.out;
  if (is_long && connection.limit == kShmSmallLimit) (void)grow(connection, content);
  // A lane that is to shrink has its laps where its memory stays.
  if (!is_long && connection.shrinks && out.reserve(content, kShmSmallLimit)) return true;
  if (out.reserve(content, connection.limit)) return true;
  if (grow(connection, content) && out.reserve(content, connection.limit)) return true;
  return reserve_or_ask(out, content, connection.limit);
}

// What was written a lap ago stands in the reader's cache, from where a core takes a line over more
// slowly the later it was read, unless the ring is as long as shm_sustained_limit() says.
void ShmDriver::widen_if_busy(ShmConnection& connection, std::size_t content) {
  connection.lately = std::min(connection.lately, 2 * kSustained);
  if (connection.limit < kShmWaitingLimit) {
    if (connection.limit == kShmSmallLimit) {  // no look halves what it wrote
      if (clock_.now() - connection.counts_since > kShrinkEvery) {
        connection.lately = 0;
        return;
      }
      (void)grow(connection, content);
    }
    widen_for_speed(connection, kShmWaitingLimit);
  } else if (connection.lately > kSustained && connection.limit < sustained_limit_) {
    widen_for_speed(connection, sustained_limit_);
  }
}

// All lanes of that length and more have a share of the memory.
void ShmDriver::widen_for_speed(ShmConnection& connection, std::size_t limit) {
  const auto others = std::count_if(grown_.begin(), grown_.end(), [&](ConnectionId id) {
    return id != connection.id && find(id)->limit >= limit;
  });
  const bool may =
      (static_cast<std::size_t>(others) + 1) * limit <= options_.memory_limit / kShareForSpeed;
  if (may && widen(connection, limit)) return;
  // A lane of the waiting limit keeps it as long as a lot is sent.
  connection.lately = limit > kShmWaitingLimit ? kSustained / 2 : 0;
}

bool ShmDriver::widen(ShmConnection& connection, std::size_t limit) {
  if (!charge(connection, limit - std::max(connection.limit, kShmPieceLimit))) return false;
  connection.limit = limit;
  return true;
}

std::size_t ShmDriver::choose_sustained_limit() {
  return shm_sustained_limit(
      static_cast<std::size_t>(std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE))));
}

void ShmDriver::shrink_idle() {
  const PolledClock::time_point now = clock_.now();
  if (now < shrink_at_) return;
  shrink_at_ = now + kShrinkEvery;
  const auto shrunk = [this](ConnectionId id) {
    ShmConnection& connection = *find(id);
    ShmWriter& out = *connection.out;
    const std::size_t worth = connection.limit <= kShmWaitingLimit ? kShmBusy : kSustained;
    const bool many = connection.lately > worth / 2;
    connection.lately /= 2;
    if (std::exchange(connection.sent_long, false) || many) {
      connection.shrinks = false;
      return false;
    }
    // Its next record is to stand where the memory stays, and nothing may stand elsewhere.
    if (!connection.shrinks) {
      connection.shrinks = out.offset() == 0 || out.rewind();
      if (connection.shrinks) call_reader(out.memory());
    }
    if (!connection.shrinks || !out.earlier_laps_read() || out.offset() > kShmSmallLimit)
      return false;
    segment_.shrink(*connection.place, kShmSmallLimit);
    connection.shrinks = false;
    const std::size_t least = kShmPieceLimit + kShmLaneHeadBytes;
    charged_ -= connection.charged - least;
    connection.charged = least;
    connection.limit = kShmSmallLimit;
    connection.lately = 0;
    return true;
  };
  grown_.erase(std::remove_if(grown_.begin(), grown_.end(), shrunk), grown_.end());
}

}  // namespace mad
