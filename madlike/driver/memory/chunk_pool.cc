#include "madlike/driver/memory/chunk_pool.h"

namespace mad {
namespace {

constexpr std::size_t kCacheLine = 64;

}  // namespace

ChunkPool::ChunkPool(std::size_t chunks, std::size_t bytes_each)
    : allowed_(chunks), bytes_each_(bytes_each) {}

Chunk* ChunkPool::take() {
  if (in_use_ >= allowed_) return nullptr;
  if (free_.empty()) {
    std::unique_ptr<std::byte, Freer> memory(
        static_cast<std::byte*>(std::aligned_alloc(kCacheLine, bytes_each_)));
    if (!memory) return nullptr;
    chunks_.push_back(std::make_unique<Chunk>());
    chunks_.back()->bytes = memory.get();
    memory_.push_back(std::move(memory));
    free_.push_back(chunks_.back().get());
  }
  Chunk* const chunk = free_.back();
  free_.pop_back();
  chunk->users = 1;
  ++in_use_;
  return chunk;
}

void ChunkPool::drop_user(Chunk& chunk) {
  if (--chunk.users > 0) return;
  --in_use_;
  free_.push_back(&chunk);
}

}  // namespace mad
