// How much of its ring a lane uses: little while messages are short, some for pieces of long ones,
// all of it where the peer is slower than we are; and little again when that is over.
//
// The memory is the writer's affair: pages are there from the first write on, and are given back
// by the writer once the reader is done with all that was written.
#include <algorithm>
#include <chrono>

#include "madlike/driver/shm/driver.h"

namespace mad {
namespace {

// Shorter content never makes a lane grow beyond the limit for pieces.
constexpr std::size_t kLong = 2048;
constexpr std::chrono::milliseconds kShrinkEvery{500};

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
    grown_.push_back(connection.id);
    limit = kShmPieceLimit;
    return true;
  }
  if (limit == kShmRingBytes || content < kLong) return false;
  if (!charge(connection, kShmRingBytes - kShmPieceLimit)) return false;
  limit = kShmRingBytes;
  return true;
}

void ShmDriver::shrink_idle() {
  const PolledClock::time_point now = clock_.now();
  if (now < shrink_at_) return;
  shrink_at_ = now + kShrinkEvery;
  const auto shrunk = [this](ConnectionId id) {
    ShmConnection& connection = *find(id);
    ShmWriter& out = *connection.out;
    if (connection.sent_long) {
      connection.sent_long = connection.shrinks = false;
      return false;
    }
    // Its next record is to stand where the memory stays, and nothing may stand elsewhere.
    if (!connection.shrinks) {
      connection.shrinks = out.offset() == 0 || out.rewind();
      if (connection.shrinks) call_reader(out.memory());
    }
    if (!connection.shrinks || !out.all_read() || out.offset() > kShmSmallLimit) return false;
    segment_.shrink(*connection.place, kShmSmallLimit);
    connection.shrinks = false;
    const std::size_t least = kShmPieceLimit + kShmLaneHeadBytes;
    charged_ -= connection.charged - least;
    connection.charged = least;
    connection.limit = kShmSmallLimit;
    return true;
  };
  grown_.erase(std::remove_if(grown_.begin(), grown_.end(), shrunk), grown_.end());
}

}  // namespace mad
