// ShmConnection: one peer of a shm engine, from its first connection attempt to its end.
#ifndef MADLIKE_DRIVER_SHM_CONNECTION_H_
#define MADLIKE_DRIVER_SHM_CONNECTION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "madlike/base/clock.h"
#include "madlike/driver/connections/connected_driver.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/process_reader.h"
#include "madlike/driver/memory/pull_queue.h"
#include "madlike/driver/shm/file.h"
#include "madlike/driver/shm/greeting.h"
#include "madlike/driver/shm/kept.h"
#include "madlike/driver/shm/memory.h"
#include "madlike/driver/shm/postbox.h"
#include "madlike/driver/shm/ring.h"
#include "madlike/driver/shm/segment.h"
#include "madlike/driver/shm/staging_times.h"

namespace mad {

using ShmWriter = RingWriter<ShmMemory>;
using ShmReader = RingReader<ShmMemory>;
static_assert(ShmWriter::enough_for(kShmPieceBytes) <= kShmPieceLimit);
static_assert(ShmWriter::enough_for(kShmSmallLimit / 4) <= kShmSmallLimit);
using ShmPulls = PullQueue<64>;

/// Wakes a peer.
class ShmPeerWaker final : public ShmWaker {
 public:
  ShmPeerWaker(ShmPostbox& postbox, const DoorSecret& peer)
      : postbox_(postbox), name_(peer, ShmSocketName::Of::kWakes) {}
  void wake() override { (void)postbox_.wake(name_); }
  /// Whether there is somebody to wake, who is not woken.
  bool is_there() { return postbox_.finds(name_); }

 private:
  ShmPostbox& postbox_;
  ShmSocketName name_;
};

struct ShmConnection : ConnectedRecord {
  enum class State {
    kMeeting,  // each side is to map the other's lane
    kConnected,
    kClosing,  // disconnect() was called, and the peer is still to read what was written
    kGone
  };

  ShmConnection(ConnectionId its_id, const ShmAddress& its_address, std::uint64_t its_session,
                std::uint64_t its_word, ShmPostbox& postbox)
      : ConnectedRecord(its_id, its_address.bytes()),
        peer(its_address),
        session(its_session),
        waker(postbox, its_address.secret),
        word(its_word) {}

  const ShmAddress peer;
  const std::uint64_t session;
  State state = State::kMeeting;
  ShmPeerWaker waker;
  ShmFile process;  // a pidfd

  std::optional<std::size_t> place;  // of the lane to the peer, and the bell the peer rings
  PolledClock::time_point greet_at;  // it is sent another greeting then
  PolledClock::time_point::duration greet_after{0};
  bool greeted = false;  // the peer need not be sent a greeting now
  bool offered = false;  // the peer may have mapped the lane

  // Once the peer greeted.
  std::optional<ShmPeerLane> mapped;
  std::uint64_t peer_session = 0;
  std::optional<ShmWriter> out;
  std::optional<ShmReader> in;

  // Receiving.
  ShmKeptRecords kept;
  bool listed = false;     // among those that every poll looks at
  bool served = false;     // since the last poll, by drop_packet()
  bool looks = false;      // the peer knows that, and does not ring
  bool owes_ring = false;  // the peer waits for room
  bool rung = false;       // the peer rang: its lane's state may have changed
  bool in_pieces = false;  // the next record is more of a packet that began in an earlier one
  bool dead = false;       // its process is gone
  std::uint32_t idle = 0;  // polls that looked and found nothing

  // Sending.
  StagingTimesByRun staging_times;
  std::size_t limit = kShmSmallLimit;    // bytes of the ring that are used
  std::size_t charged = 0;               // bytes of the engine's memory limit
  std::size_t lately = 0;                // bytes of records written, but of short ones in turns
  std::uint64_t had_read = 0;            // of the peer's ring, when the last one was written
  PolledClock::time_point counts_since;  // since when
  bool sent_long = false;                // content, since the last look at what may shrink
  bool shrinks = false;                  // the ring begins anew, and then gives memory back

  // Remote writes.
  /// By which the peer knows this process; once it is 0 what it reads of our memory does not count.
  std::atomic<std::uint64_t> word;
  bool we_read = false;  // the memory of the peer's process, which is:
  ProcessName process_name;
  PolledClock::time_point proven_at;       // when its word was found there last
  bool they_read = false;                  // ours, contiguous payload and layouts,
  bool they_weigh = false;                 // where that is faster
  ShmPulls pulls;                          // of ours, that the peer has not answered
  std::uint64_t answered = 0, pulled = 0;  // writes of ours and of the peer's that were read
  PolledClock::time_point deadline;        // kClosing
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_CONNECTION_H_
