// One fragment of a converted stream, element by element or many at once.
#ifndef DATATYPE_PATH_CONVERT_FRAGMENT_WALK_H_
#define DATATYPE_PATH_CONVERT_FRAGMENT_WALK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "datatype_path/convert/conversion_plan.h"
#include "datatype_path/typed/byte_index.h"
#include "datatype_path/typed/typed_cursor.h"

namespace mad {

/// Goes through remote bytes [offset, offset + size), which the data has.  `many(at, n)`: the
/// cursor's next n elements, all of one run, stand at byte `at` of the fragment; it advances the
/// cursor past them.  `part(at, byte)`: of the cursor's element what follows its byte `byte` stands
/// there, as far as the fragment goes; returns how many bytes, and advances the cursor if those end
/// the element.
template <typename Many, typename Part>
void walk_fragment(const ConversionPlan& plan, TypedCursor& cursor, std::uint64_t offset,
                   std::size_t size, Many many, Part part) {
  if (size == 0) return;
  const ByteIndex::Place place = plan.remote_index().find(offset);
  if (cursor.position() != place.element) cursor.seek(place.element);
  std::size_t byte = place.byte;
  for (std::size_t at = 0; at < size;) {
    const std::uint64_t each = plan.remote_size_of(cursor.run().type);
    const std::uint64_t run = cursor.run().count, room = size - at;
    // Without a division where it is one element.
    const std::uint64_t n = run == 1 && room >= each ? 1 : std::min(run, room / each);
    if (byte > 0 || n == 0) {
      at += part(at, byte);
      byte = 0;
    } else {
      many(at, n);
      at += n * each;
    }
  }
}

}  // namespace mad

#endif  // DATATYPE_PATH_CONVERT_FRAGMENT_WALK_H_
