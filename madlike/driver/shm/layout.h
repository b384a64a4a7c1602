// What stands where in an engine's segment of shared memory: a page that everybody who has a
// connection with the engine may write, and places, one for each peer, with the lane of what is
// sent to that peer.  docs/shm_protocol.md has the picture.
//
// Both sides write here, so nothing that is read here is trusted.
#ifndef MADLIKE_DRIVER_SHM_LAYOUT_H_
#define MADLIKE_DRIVER_SHM_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mad {

inline constexpr std::size_t kShmLine = 64;
inline constexpr std::size_t kShmPage = 4096;
/// Peers that an engine may have at one time.
inline constexpr std::size_t kShmMostPlaces = kShmPage - 3 * kShmLine;
/// Bytes of a place in the segment; what of it is memory grows with what is written.
inline constexpr std::size_t kShmPlaceBytes = 4 * 1024 * 1024;

/// The first page.  Written by peers.
struct ShmFrontPage {
  alignas(kShmLine) std::uint64_t magic = 0;
  alignas(kShmLine) std::atomic<std::uint32_t> asleep;  // 1: whoever has something wakes the owner
  alignas(kShmLine) std::atomic<std::uint32_t> news;    // 1: some bell rings
  alignas(kShmLine) std::atomic<std::uint8_t> bells[kShmMostPlaces];  // of the peer with that place
};
static_assert(sizeof(ShmFrontPage) == kShmPage);

enum class ShmLaneState : std::uint32_t {
  kOpen,
  kClosed,    // in good order: what was written is all
  kAbandoned  // its engine ended without a word
};

/// What a reader takes from the writer's process itself.
enum class ShmReads : std::uint32_t {
  kNothing,
  kFaster,  // contiguous payload, and what is written in runs, while that is faster than to have it
            // sent
  kAll      // always
};

/// What a place begins with.
struct ShmLaneHead {
  // The writer's words.
  alignas(kShmLine) std::atomic<std::uint64_t> session;  // its number of the connection
  std::atomic<std::uint64_t> peer_session;  // that of the reader, once the writer has its lane
  std::atomic<std::uint32_t> state;         // a ShmLaneState
  std::atomic<std::uint32_t> wants;         // 1: the reader is to ring when there is room
  std::atomic<std::uint64_t> word_address;  // of a word in the writer's process,
  std::atomic<std::uint64_t> word;          // and what stands there while its writes count
  // The reader's.
  alignas(kShmLine) std::atomic<std::uint64_t> tail;
  alignas(kShmLine) std::atomic<std::uint32_t> attention;  // an Attention
  std::atomic<std::uint32_t> reads;                        // of the writer's process: a ShmReads
  std::atomic<std::uint64_t> dropped_session;              // the session whose reader looks no more
  std::atomic<std::uint64_t> pulled;                       // writes that it has read
  alignas(kShmLine) std::byte unused[kShmLine];
};
inline constexpr std::size_t kShmLaneHeadBytes = 4 * kShmLine;
static_assert(sizeof(ShmLaneHead) == kShmLaneHeadBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint8_t>::is_always_lock_free);

/// Of a lane's ring.
inline constexpr std::size_t kShmRingBytes = kShmPlaceBytes - kShmLaneHeadBytes;
/// Of a ring's first bytes, what is used by small messages, what by a few pieces, what by those
/// that wait for a slow reader.
inline constexpr std::size_t kShmSmallLimit = 2 * kShmPage - kShmLaneHeadBytes;
inline constexpr std::size_t kShmPieceLimit = 9 * kShmPage - kShmLaneHeadBytes;
inline constexpr std::size_t kShmWaitingLimit = 64 * kShmPage - kShmLaneHeadBytes;
/// And what a lane uses over which a lot is sent, where a core has so large a cache of its own; 0:
/// nobody knows.  A lap longer than the cache, or, where that has room for payload beside it, a
/// quarter of it: a longer lap would drive payload out that stays there from one message to the
/// next (ADR 43).
constexpr std::size_t shm_sustained_limit(std::size_t cache) {
  constexpr std::size_t kRoomy = std::size_t{2} << 20, kUsual = std::size_t{2} << 20;
  const std::size_t bytes = cache == 0 ? kUsual : cache < kRoomy ? 2 * cache : cache / 4;
  const std::size_t most = bytes < kShmPlaceBytes ? bytes / kShmPage * kShmPage : kShmPlaceBytes;
  return most > kShmWaitingLimit ? most - kShmLaneHeadBytes : kShmWaitingLimit;
}
/// Bytes of a packet, or of one of its pieces.
inline constexpr std::size_t kShmPieceBytes = 16 * 1024 - 8;

inline constexpr std::uint64_t kShmMagic = 0x314d4853'44414dULL;  // "MADSHM1"

/// Where the place of this number begins.
inline constexpr std::size_t shm_place_offset(std::size_t place) {
  return kShmPage + place * kShmPlaceBytes;
}

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_LAYOUT_H_
