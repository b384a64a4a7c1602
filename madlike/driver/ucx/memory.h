// ReceivedMemory: where packets that a ucx engine received stand until they are released: in UCX's
// own buffers of shared memory, or, where UCX needs its buffer back at once, in chunks of ours.
#ifndef MADLIKE_DRIVER_UCX_MEMORY_H_
#define MADLIKE_DRIVER_UCX_MEMORY_H_

#include <cstddef>

#include "madlike/base/segment.h"
#include "madlike/driver/memory/chunk_pool.h"

namespace mad {

class ReceivedMemory {
 public:
  /// At most `chunks` of 64 KiB hold copied packets.
  explicit ReceivedMemory(std::size_t chunks);

  /// Whether there is room for what one UcxFabric::progress() brings at most.
  bool has_room() const;

  /// A received packet and what release() wants of it.
  struct Kept {
    Segment bytes;
    void* buffer = nullptr;
  };
  /// Keeps UCX's buffer: `packet` is in the message that begins at `message`.
  Kept keep(void* message, Segment packet);
  /// Copies the packet; the buffer is null if there is no room for it.
  Kept copy(Segment packet);
  void release(void* buffer);

 private:
  std::size_t kept_ = 0;  // buffers of UCX's
  ChunkPool chunks_;
  Chunk* chunk_ = nullptr;  // the one that is filled
  std::size_t filled_ = 0;  // bytes of it
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_MEMORY_H_
