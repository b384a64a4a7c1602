// Face: what of an application's memory goes to, or comes from, one neighbour.
//
// One description gives the loops of those who pack by hand and the datatype of those who do not.
// A face is rows of columns of elements, in the order in which they travel, or a list of elements.
#ifndef PERF_APPS_FACE_H_
#define PERF_APPS_FACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "perf/micro/type_builder.h"

namespace apps {

/// A particle as programs have them: the compiler pads it from 53 bytes to 56.
struct Particle {
  double position[3];
  double velocity[3];
  std::int32_t number;
  char kind;
};

enum class Element { kByte, kDouble, kComplex, kParticle };

constexpr std::int64_t size_of(Element element) {
  switch (element) {
    case Element::kByte:
      return 1;
    case Element::kDouble:
      return sizeof(double);
    case Element::kComplex:
      return 2 * sizeof(double);
    case Element::kParticle:
      return sizeof(Particle);
  }
  return 0;
}

struct Face {
  Element element = Element::kDouble;
  std::int64_t offset = 0;  // bytes from the application's memory to the first element
  int rows = 1;
  std::int64_t row_stride = 0;  // bytes
  int columns = 1;
  std::int64_t column_stride = 0;  // bytes
  bool listed = false;             // these elements instead, by number from `offset` on
  std::vector<int> list;

  int elements() const { return listed ? static_cast<int>(list.size()) : rows * columns; }
  std::int64_t bytes() const { return elements() * size_of(element); }
  /// Neither loop nor datatype is needed: it lies as it travels.
  bool one_run() const;
  /// Into how many parts of as many rows `most` at most can be made of it; a list is one.
  int parts(int most) const;
};

/// Copies rows [first, last) to `buffer`, where they are packed.
void pack(const Face& face, int first, int last, const std::byte* memory, std::byte* buffer);
/// All of it, the other way.
void unpack(const Face& face, const std::byte* buffer, std::byte* memory);

/// An element's type: a struct where it has fields, resized to what the compiler made of it.
micro::TypeBuilder::Type element_type(Element element, micro::TypeBuilder& builder);
/// The type of a whole face that is no list, from its offset on.
micro::TypeBuilder::Type face_type(const Face& face, micro::TypeBuilder& builder);
/// Of one of `parts` parts, so that as many elements of it are the face.
micro::TypeBuilder::Type part_type(const Face& face, int parts, micro::TypeBuilder& builder);

}  // namespace apps

#endif  // PERF_APPS_FACE_H_
