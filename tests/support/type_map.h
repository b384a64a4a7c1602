// The literal type map: the oracle that every data path is compared with.
//
// It expands (type, count) into the bytes' places straight from MPI's definitions, one basic
// element after the other, and shares nothing with the engine: no merging, no loops, no cleverness.
#ifndef TESTS_SUPPORT_TYPE_MAP_H_
#define TESTS_SUPPORT_TYPE_MAP_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "datatype_path/describe/type_desc.h"

namespace mad::test {

/// One basic element: `length` bytes at `offset` from the buffer's start.
struct TypeMapEntry {
  std::int64_t offset;
  std::uint64_t length;
};
using TypeMap = std::vector<TypeMapEntry>;

inline void expand(const TypeDesc& type, std::int64_t at, TypeMap& map) {
  if (type.size() == 0) return;
  if (type.kind() == TypeDesc::Kind::kBytes) {
    map.push_back({at, type.size()});
    return;
  }
  for (std::size_t block = 0; block < type.count(); ++block) {
    const TypeDesc& child = type.child(block);
    for (std::uint64_t i = 0; i < type.blocklength(block); ++i) {
      expand(child, at + type.displacement(block) + static_cast<std::int64_t>(i) * child.extent(),
             map);
    }
  }
}

/// In packed order.
inline TypeMap expand(const TypeDesc& type, std::uint64_t count) {
  TypeMap map;
  for (std::uint64_t i = 0; i < count; ++i) {
    expand(type, static_cast<std::int64_t>(i) * type.extent(), map);
  }
  return map;
}

/// The place of every packed byte, from the buffer's start.
inline std::vector<std::int64_t> byte_places(const TypeMap& map) {
  std::vector<std::int64_t> places;
  for (const TypeMapEntry& entry : map) {
    for (std::uint64_t i = 0; i < entry.length; ++i) {
      places.push_back(entry.offset + static_cast<std::int64_t>(i));
    }
  }
  return places;
}

/// Runs in packed order, neighbours that touch joined: the fewest segments there can be.
inline TypeMap joined(const TypeMap& map) {
  TypeMap runs;
  for (const TypeMapEntry& entry : map) {
    if (!runs.empty() &&
        runs.back().offset + static_cast<std::int64_t>(runs.back().length) == entry.offset) {
      runs.back().length += entry.length;
    } else {
      runs.push_back(entry);
    }
  }
  return runs;
}

/// Memory that covers every byte of a map, and where its buffer's start (offset 0) would be.
class Arena {
 public:
  explicit Arena(const TypeMap& map, std::byte fill = std::byte{0}) {
    std::int64_t low = 0, high = 0;
    for (const TypeMapEntry& e : map) {
      if (e.offset < low) low = e.offset;
      const std::int64_t end = e.offset + static_cast<std::int64_t>(e.length);
      if (end > high) high = end;
    }
    origin_ = -low;
    bytes_.assign(static_cast<std::size_t>(high - low), fill);
  }
  /// What a caller would give as the buffer; may lie outside of the memory.
  void* base() {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(bytes_.data()) +
                                   static_cast<std::uintptr_t>(origin_));
  }
  std::byte& operator[](std::int64_t place) {
    return bytes_[static_cast<std::size_t>(origin_ + place)];
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::int64_t origin_ = 0;
};

inline std::vector<std::byte> pack(const TypeMap& map, Arena& arena) {
  std::vector<std::byte> packed;
  for (const std::int64_t place : byte_places(map)) packed.push_back(arena[place]);
  return packed;
}

inline void unpack(const TypeMap& map, const std::vector<std::byte>& packed, Arena& arena) {
  std::size_t i = 0;
  for (const std::int64_t place : byte_places(map)) {
    if (i == packed.size()) return;
    arena[place] = packed[i++];
  }
}

/// Whether no byte stands in the map twice, so that it can be received into.
inline bool receivable(const TypeMap& map) {
  Arena seen(map);
  for (const std::int64_t place : byte_places(map)) {
    if (seen[place] != std::byte{0}) return false;
    seen[place] = std::byte{1};
  }
  return true;
}

}  // namespace mad::test

#endif  // TESTS_SUPPORT_TYPE_MAP_H_
