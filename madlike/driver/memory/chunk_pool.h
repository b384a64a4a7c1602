// ChunkPool: the memory that packets are received into.
//
// A chunk holds many small packets or one or two large ones.  It is in use while its reader puts
// bytes in or a packet in it is not released; afterwards it is the next one taken, so that few stay
// in use and in the cache.
#ifndef MADLIKE_DRIVER_MEMORY_CHUNK_POOL_H_
#define MADLIKE_DRIVER_MEMORY_CHUNK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace mad {

struct Chunk {
  std::byte* bytes = nullptr;
  std::uint32_t users = 0;  // its reader, and packets that are not released
};

class ChunkPool {
 public:
  /// At most `chunks` of `bytes_each` (a multiple of the cache line) are in use; their memory is
  /// taken when they are first needed.
  ChunkPool(std::size_t chunks, std::size_t bytes_each);

  /// One more may be in use from now on, or one less: a peer that stops in the middle of a packet
  /// keeps a chunk, and should keep nobody else out.
  void allow_one_more() { ++allowed_; }
  void allow_one_less() { --allowed_; }

  /// A chunk with one user, or null: all are in use.
  Chunk* take();
  void add_user(Chunk& chunk) { ++chunk.users; }
  void drop_user(Chunk& chunk);

  /// Chunks that take() would give now, if there is memory.
  std::size_t available() const { return allowed_ > in_use_ ? allowed_ - in_use_ : 0; }
  std::size_t bytes_each() const { return bytes_each_; }

 private:
  struct Freer {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::size_t allowed_;
  std::size_t bytes_each_;
  std::size_t in_use_ = 0;
  std::vector<std::unique_ptr<std::byte, Freer>> memory_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Chunk*> free_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_MEMORY_CHUNK_POOL_H_
