// Copy kernels: equal runs at constant strides on both sides.
//
// The run's length is looked at once per call, not once per run: below 128 bytes a run is copied by
// two moves of a constant size that overlap in the middle, which covers every length without a
// loop.
#ifndef DATATYPE_PATH_CURSOR_COPY_RUNS_H_
#define DATATYPE_PATH_CURSOR_COPY_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mad {

/// `count` runs of `length` bytes.  Strides in bytes, any sign.
struct RunCopy {
  std::byte* to;
  std::int64_t to_stride;
  const std::byte* from;
  std::int64_t from_stride;
  std::uint64_t count;
  std::size_t length;
};

namespace copy_internal {

// Addresses advance as integers: one past the last trip may lie outside of any object.
inline std::byte* at(std::byte* start, std::uint64_t trip, std::int64_t stride) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(start) +
                                      trip * static_cast<std::uint64_t>(stride));
}
inline const std::byte* at(const std::byte* start, std::uint64_t trip, std::int64_t stride) {
  return at(const_cast<std::byte*>(start), trip, stride);
}

// Both ends of a run of kEnd..2*kEnd bytes; with equal ends, exactly kEnd.
template <std::size_t kEnd>
inline void copy_ends(std::byte* to, const std::byte* from, std::size_t second) {
  std::byte first_bytes[kEnd], second_bytes[kEnd];
  std::memcpy(first_bytes, from, kEnd);
  std::memcpy(second_bytes, from + second, kEnd);
  std::memcpy(to, first_bytes, kEnd);
  std::memcpy(to + second, second_bytes, kEnd);
}

template <std::size_t kLength>
inline void copy_fixed(const RunCopy& c) {
  for (std::uint64_t i = 0; i < c.count; ++i) {
    std::memcpy(at(c.to, i, c.to_stride), at(c.from, i, c.from_stride), kLength);
  }
}

template <std::size_t kEnd>
inline void copy_two_ends(const RunCopy& c) {
  const std::size_t second = c.length - kEnd;
  for (std::uint64_t i = 0; i < c.count; ++i) {
    copy_ends<kEnd>(at(c.to, i, c.to_stride), at(c.from, i, c.from_stride), second);
  }
}

}  // namespace copy_internal

/// One run.
inline void copy_run(std::byte* to, const std::byte* from, std::size_t length) {
  using copy_internal::copy_ends;
  if (length > 64) {
    std::memcpy(to, from, length);
  } else if (length >= 32) {
    copy_ends<32>(to, from, length - 32);
  } else if (length >= 16) {
    copy_ends<16>(to, from, length - 16);
  } else if (length >= 8) {
    copy_ends<8>(to, from, length - 8);
  } else if (length >= 4) {
    copy_ends<4>(to, from, length - 4);
  } else if (length >= 2) {
    copy_ends<2>(to, from, length - 2);
  } else if (length == 1) {
    *to = *from;
  }
}

inline void copy_runs(const RunCopy& c) {
  using namespace copy_internal;
  switch (c.length) {
    case 1:
      return copy_fixed<1>(c);
    case 2:
      return copy_fixed<2>(c);
    case 4:
      return copy_fixed<4>(c);
    case 8:
      return copy_fixed<8>(c);
    case 12:
      return copy_fixed<12>(c);
    case 16:
      return copy_fixed<16>(c);
    case 24:
      return copy_fixed<24>(c);
    case 32:
      return copy_fixed<32>(c);
    case 48:
      return copy_fixed<48>(c);
    case 64:
      return copy_fixed<64>(c);
    case 128:
      return copy_fixed<128>(c);
    default:
      break;
  }
  if (c.length < 4) return copy_two_ends<2>(c);
  if (c.length < 8) return copy_two_ends<4>(c);
  if (c.length < 16) return copy_two_ends<8>(c);
  if (c.length < 32) return copy_two_ends<16>(c);
  if (c.length < 64) return copy_two_ends<32>(c);
  if (c.length < 128) return copy_two_ends<64>(c);
  for (std::uint64_t i = 0; i < c.count; ++i) {
    std::memcpy(at(c.to, i, c.to_stride), at(c.from, i, c.from_stride), c.length);
  }
}

}  // namespace mad

#endif  // DATATYPE_PATH_CURSOR_COPY_RUNS_H_
