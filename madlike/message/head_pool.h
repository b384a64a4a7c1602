// HeadPool: the memory of heads that nobody waited for.
//
// A stream to a receiver that is behind keeps and drops a head with each message.  Were each
// allocated on its own, the C library would give the last one's memory back to the system and take
// it again, with a fault for each page: nine tenths of the time of such a stream.  So what a long
// head had is the next ones', up to kMostIdle bytes for an engine; the rest is given back.
#ifndef MADLIKE_MESSAGE_HEAD_POOL_H_
#define MADLIKE_MESSAGE_HEAD_POOL_H_

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace mad {

class HeadPool {
 public:
#ifdef __SANITIZE_ADDRESS__
  static constexpr std::size_t kMostIdle = 0;  // which knows what is used after its end
#else
  static constexpr std::size_t kMostIdle = std::size_t{4} << 20;
#endif
  /// Shorter heads are the C library's affair, which keeps such memory itself; so are longer ones.
  static constexpr std::size_t kShortest = 2048, kLongest = std::size_t{256} << 10;

  struct Returner {
    HeadPool* pool = nullptr;
    std::size_t bytes = 0;
    void operator()(std::byte* head) const { pool->give_back(head, bytes); }
  };
  using Head = std::unique_ptr<std::byte[], Returner>;

  HeadPool() = default;
  HeadPool(const HeadPool&) = delete;
  HeadPool& operator=(const HeadPool&) = delete;
  ~HeadPool() {
    for (Idle*& idle : idle_) {
      while (idle != nullptr)
        delete[] reinterpret_cast<std::byte*>(std::exchange(idle, idle->next));
    }
  }

  /// Memory for a head of so many bytes, which is to end before the pool; null: there is none.
  Head take(std::size_t bytes) {
    std::size_t size = bytes;
    if (is_pooled(bytes)) {
      Idle*& idle = idle_[size_class(bytes)];
      size = size_of(size_class(bytes));
      if (idle != nullptr) {
        idle_bytes_ -= size;
        Idle* const next = idle->next;
        return Head(reinterpret_cast<std::byte*>(std::exchange(idle, next)), {this, bytes});
      }
    }
    return Head(new (std::nothrow) std::byte[size], {this, bytes});
  }
  /// Bytes that are held for later heads.
  std::size_t idle_bytes() const { return idle_bytes_; }

 private:
  struct Idle {
    Idle* next;
  };
  static constexpr std::size_t kClasses = 8;  // 2 KiB, 4 KiB, ... 256 KiB
  static_assert(kShortest << (kClasses - 1) == kLongest);

  static bool is_pooled(std::size_t bytes) { return bytes >= kShortest && bytes <= kLongest; }
  static std::size_t size_of(std::size_t size_class) { return kShortest << size_class; }
  static std::size_t size_class(std::size_t bytes) {
    std::size_t found = 0;
    while (size_of(found) < bytes) ++found;
    return found;
  }

  void give_back(std::byte* head, std::size_t bytes) {
    const std::size_t size = is_pooled(bytes) ? size_of(size_class(bytes)) : bytes;
    if (!is_pooled(bytes) || idle_bytes_ + size > kMostIdle) {
      delete[] head;
      return;
    }
    Idle*& idle = idle_[size_class(bytes)];
    idle = new (head) Idle{idle};
    idle_bytes_ += size;
  }

  std::array<Idle*, kClasses> idle_{};
  std::size_t idle_bytes_ = 0;
};

using KeptHead = HeadPool::Head;

}  // namespace mad

#endif  // MADLIKE_MESSAGE_HEAD_POOL_H_
