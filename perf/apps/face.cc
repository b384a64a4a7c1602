#include "perf/apps/face.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace apps {
namespace {

using Type = micro::TypeBuilder::Type;
using micro::TypeBuilder;
using Complex = std::array<double, 2>;

constexpr int kTile = 8;  // columns of a transpose whose lines stay in the cache

/// Whether the elements of a column are nearer to each other than those of a row: a transpose.
bool across(const Face& face) { return face.columns > 1 && face.column_stride > face.row_stride; }

template <typename T>
const T* at(const std::byte* memory, std::int64_t offset) {
  return reinterpret_cast<const T*>(memory + offset);
}
template <typename T>
T* at(std::byte* memory, std::int64_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

template <typename T>
void pack_rows(const Face& face, int first, int last, const std::byte* memory, T* out) {
  const auto column = face.column_stride / static_cast<std::int64_t>(sizeof(T));
  for (int row = first; row < last; ++row) {
    const T* const in = at<T>(memory, face.offset + row * face.row_stride);
    if (face.columns == 1) {
      *out++ = *in;
    } else if (column == 1) {
      std::copy(in, in + face.columns, out);
      out += face.columns;
    } else {
      for (int i = 0; i < face.columns; ++i) *out++ = in[i * column];
    }
  }
}

template <typename T>
void unpack_rows(const Face& face, const T* in, std::byte* memory) {
  const auto column = face.column_stride / static_cast<std::int64_t>(sizeof(T));
  for (int row = 0; row < face.rows; ++row, in += face.columns) {
    T* const out = at<T>(memory, face.offset + row * face.row_stride);
    if (face.columns == 1) {
      *out = *in;
    } else if (column == 1) {
      std::copy(in, in + face.columns, out);
    } else {
      for (int i = 0; i < face.columns; ++i) out[i * column] = in[i];
    }
  }
}

/// Tile by tile, so that whole lines are written.
template <typename T>
void unpack_across(const Face& face, const T* in, std::byte* memory) {
  const auto row_step = face.row_stride / static_cast<std::int64_t>(sizeof(T));
  for (int begin = 0; begin < face.columns; begin += kTile) {
    const int end = std::min(begin + kTile, face.columns);
    for (int top = 0; top < face.rows; top += kTile) {
      const int bottom = std::min(top + kTile, face.rows);
      for (int i = begin; i < end; ++i) {
        T* const out = at<T>(memory, face.offset + i * face.column_stride);
        for (int row = top; row < bottom; ++row) out[row * row_step] = in[row * face.columns + i];
      }
    }
  }
}

template <typename T>
void pack_as(const Face& face, int first, int last, const std::byte* memory, std::byte* buffer) {
  T* const out = at<T>(buffer, 0);
  if (!face.listed) return pack_rows<T>(face, first, last, memory, out);
  const T* const in = at<T>(memory, face.offset);
  for (std::size_t i = 0; i < face.list.size(); ++i) out[i] = in[face.list[i]];
}

template <typename T>
void unpack_as(const Face& face, const std::byte* buffer, std::byte* memory) {
  const T* const in = at<T>(buffer, 0);
  if (across(face)) return unpack_across<T>(face, in, memory);
  if (!face.listed) return unpack_rows<T>(face, in, memory);
  T* const out = at<T>(memory, face.offset);
  for (std::size_t i = 0; i < face.list.size(); ++i) out[face.list[i]] = in[i];
}

Type rows_type(const Face& face, int rows, TypeBuilder& builder) {
  const Type element = element_type(face.element, builder);
  const Type row =
      face.columns == 1 ? element : builder.vector(face.columns, 1, face.column_stride, element);
  return builder.vector(rows, 1, face.row_stride, row);
}

}  // namespace

bool Face::one_run() const {
  if (listed) return false;
  const bool row = columns == 1 || column_stride == size_of(element);
  return row && (rows == 1 || row_stride == columns * size_of(element));
}

int Face::parts(int most) const {
  if (listed) return 1;
  int parts = std::min(most, rows);
  while (rows % parts != 0) --parts;
  return parts;
}

void pack(const Face& face, int first, int last, const std::byte* memory, std::byte* buffer) {
  switch (face.element) {
    case Element::kByte:
      return pack_as<unsigned char>(face, first, last, memory, buffer);
    case Element::kDouble:
      return pack_as<double>(face, first, last, memory, buffer);
    case Element::kComplex:
      return pack_as<Complex>(face, first, last, memory, buffer);
    case Element::kParticle:
      return pack_as<Particle>(face, first, last, memory, buffer);
  }
}

void unpack(const Face& face, const std::byte* buffer, std::byte* memory) {
  switch (face.element) {
    case Element::kByte:
      return unpack_as<unsigned char>(face, buffer, memory);
    case Element::kDouble:
      return unpack_as<double>(face, buffer, memory);
    case Element::kComplex:
      return unpack_as<Complex>(face, buffer, memory);
    case Element::kParticle:
      return unpack_as<Particle>(face, buffer, memory);
  }
}

Type element_type(Element element, TypeBuilder& builder) {
  switch (element) {
    case Element::kByte:
      return builder.basic(micro::Basic::kByte);
    case Element::kDouble:
      return builder.basic(micro::Basic::kDouble);
    case Element::kComplex:
      return builder.contiguous(2, builder.basic(micro::Basic::kDouble));
    case Element::kParticle:
      break;
  }
  const Type fields =
      builder.structure({3, 3, 1, 1},
                        {offsetof(Particle, position), offsetof(Particle, velocity),
                         offsetof(Particle, number), offsetof(Particle, kind)},
                        {builder.basic(micro::Basic::kDouble), builder.basic(micro::Basic::kDouble),
                         builder.basic(micro::Basic::kInt), builder.basic(micro::Basic::kByte)});
  return builder.resized(0, sizeof(Particle), fields);
}

Type face_type(const Face& face, TypeBuilder& builder) {
  return rows_type(face, face.rows, builder);
}

Type part_type(const Face& face, int parts, TypeBuilder& builder) {
  const int rows = face.rows / parts;
  return builder.resized(0, rows * face.row_stride, rows_type(face, rows, builder));
}

}  // namespace apps
