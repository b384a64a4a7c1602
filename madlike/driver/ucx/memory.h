// ReceivedMemory: where packets that a ucx engine received stand until they are released: in a
// lane's buffers, or, where UCX needs its buffer back at once, in chunks of ours.
#ifndef MADLIKE_DRIVER_UCX_MEMORY_H_
#define MADLIKE_DRIVER_UCX_MEMORY_H_

#include <cstddef>

#include "madlike/base/segment.h"
#include "madlike/driver/memory/chunk_pool.h"
#include "madlike/driver/ucx/lane.h"

namespace mad {

class ReceivedMemory {
 public:
  /// At most `chunks` of 64 KiB hold copied packets.
  explicit ReceivedMemory(std::size_t chunks);

  /// Whether there is room for all that one UcxLane::progress() can bring that is copied.
  bool has_room() const;

  /// A received packet and what release() wants of it.
  struct Kept {
    Segment bytes;
    void* buffer = nullptr;
  };
  /// Copies the packet; the buffer is null if there is no room for it.
  Kept copy(Segment packet);
  /// Gives back such a buffer, or an UcxKept of a lane's.
  void release(void* buffer);

 private:
  ChunkPool chunks_;
  Chunk* chunk_ = nullptr;  // the one that is filled
  std::size_t filled_ = 0;  // bytes of it
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_MEMORY_H_
