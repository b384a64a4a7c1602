// The literal typed map: every basic element of (type, count), its kind and place, one after the
// other in packed order, straight from MPI's definitions as type_map.h has them.
#ifndef TESTS_SUPPORT_TYPED_MAP_H_
#define TESTS_SUPPORT_TYPED_MAP_H_

#include <cstdint>
#include <vector>

#include "datatype_path/describe/basic_type.h"
#include "datatype_path/describe/type_desc.h"

namespace mad::test {

struct TypedEntry {
  std::int64_t offset;
  BasicType type;
};
using TypedMap = std::vector<TypedEntry>;

inline void expand_typed(const TypeDesc& type, std::int64_t at, TypedMap& map) {
  if (type.size() == 0) return;
  if (type.kind() == TypeDesc::Kind::kBytes) {
    const std::uint64_t length = size_of(type.basic_type());
    for (std::uint64_t i = 0; i < type.size() / length; ++i) {
      map.push_back({at + static_cast<std::int64_t>(i * length), type.basic_type()});
    }
    return;
  }
  for (std::size_t block = 0; block < type.count(); ++block) {
    const TypeDesc& child = type.child(block);
    for (std::uint64_t i = 0; i < type.blocklength(block); ++i) {
      expand_typed(child,
                   at + type.displacement(block) + static_cast<std::int64_t>(i) * child.extent(),
                   map);
    }
  }
}

inline TypedMap expand_typed(const TypeDesc& type, std::uint64_t count) {
  TypedMap map;
  for (std::uint64_t i = 0; i < count; ++i) {
    expand_typed(type, static_cast<std::int64_t>(i) * type.extent(), map);
  }
  return map;
}

}  // namespace mad::test

#endif  // TESTS_SUPPORT_TYPED_MAP_H_
