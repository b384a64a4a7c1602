// PointerMap: values by pointer, for the compiler: a few mostly, found without an allocation each.
#ifndef DATATYPE_PATH_PROGRAM_POINTER_MAP_H_
#define DATATYPE_PATH_PROGRAM_POINTER_MAP_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace mad {

/// Nothing is removed.  A pointer that is found stays valid until the next insert().
template <typename Key, typename Value>
class PointerMap {
 public:
  explicit PointerMap(std::pmr::memory_resource* memory) : slots_(memory) {}

  /// The value of `key`, which is not null; null if there is none.
  Value* find(const Key* key) {
    if (slots_.empty()) return nullptr;
    Slot& slot = slot_of(key);
    return slot.key == nullptr ? nullptr : &slot.value;
  }

  /// The value of `key`, which becomes `value` if there is none; whether it did.
  std::pair<Value*, bool> insert(const Key* key, const Value& value) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slot_of(key);
    const bool made = slot.key == nullptr;
    if (made) {
      slot = {key, value};
      ++used_;
    }
    return {&slot.value, made};
  }

 private:
  struct Slot {
    const Key* key = nullptr;
    Value value{};
  };
  static constexpr std::size_t kFirstSlots = 16;

  // That of `key`, or the empty one where it belongs.
  Slot& slot_of(const Key* key) {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(key) * 0x9e3779b97f4a7c15u;
    std::size_t i = static_cast<std::size_t>(hash >> 32U) & mask;
    while (slots_[i].key != nullptr && slots_[i].key != key) i = (i + 1) & mask;
    return slots_[i];
  }

  void grow() {
    std::pmr::vector<Slot> old(slots_.empty() ? kFirstSlots : 2 * slots_.size(),
                               slots_.get_allocator());
    slots_.swap(old);
    for (const Slot& slot : old) {
      if (slot.key != nullptr) slot_of(slot.key) = slot;
    }
  }

  std::pmr::vector<Slot> slots_;  // their number a power of 2, half of them empty
  std::size_t used_ = 0;
};

}  // namespace mad

#endif  // DATATYPE_PATH_PROGRAM_POINTER_MAP_H_
