// SlabPool: objects of one type without an allocation each.
//
// Memory is taken in slabs and kept until the pool is destroyed; objects are constructed at
// acquire() and destroyed at release().  An object's address never changes.  One thread at a time.
#ifndef NETMOD_ABI_SLAB_POOL_H_
#define NETMOD_ABI_SLAB_POOL_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace mad {

template <typename T, std::size_t kPerSlab = 64>
class SlabPool {
 public:
  SlabPool() = default;
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;
  ~SlabPool() {
    for_each([](T& object) { object.~T(); });
  }

  /// Throws std::bad_alloc, or what T's constructor throws; the pool is then as before.
  template <typename... Arguments>
  T* acquire(Arguments&&... arguments) {
    if (free_ == nullptr) grow();
    Cell* const cell = free_;
    T* const object = new (cell->storage) T(std::forward<Arguments>(arguments)...);
    free_ = std::exchange(cell->next_free, cell);
    return object;
  }

  void release(T* object) {
    object->~T();
    auto* const storage = reinterpret_cast<std::byte*>(object);
    auto* const cell = reinterpret_cast<Cell*>(storage - offsetof(Cell, storage));
    cell->next_free = free_;
    free_ = cell;
  }

  /// Calls `function` with every acquired object; it may release that object.
  template <typename Function>
  void for_each(Function&& function) {
    for (const auto& slab : slabs_) {
      for (std::size_t i = 0; i < kPerSlab; ++i) {
        if (slab[i].next_free != &slab[i]) continue;
        function(*std::launder(reinterpret_cast<T*>(slab[i].storage)));
      }
    }
  }

 private:
  // What is used first of an object stands in the line that its link is in.
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kAlignment =
      std::max({alignof(T), alignof(void*), sizeof(T) < kLine ? std::size_t{1} : kLine});
  struct alignas(kAlignment) Cell {
    Cell* next_free;  // itself: the object lives
    alignas(T) std::byte storage[sizeof(T)];
  };

  void grow() {
    slabs_.push_back(std::unique_ptr<Cell[]>(new Cell[kPerSlab]));
    for (std::size_t i = kPerSlab; i > 0; --i) {
      Cell& cell = slabs_.back()[i - 1];
      cell.next_free = free_;
      free_ = &cell;
    }
  }

  std::vector<std::unique_ptr<Cell[]>> slabs_;
  Cell* free_ = nullptr;
};

}  // namespace mad

#endif  // NETMOD_ABI_SLAB_POOL_H_
