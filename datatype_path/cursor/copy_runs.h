// Copy kernels: many runs of one length, at constant strides or at listed places.
//
// The run's length is looked at once per call, not once per run: common lengths become moves of a
// constant size, other lengths below 128 bytes two such moves that overlap in the middle.
// Places are integers: those between the runs, and one past the last, need not lie in any object.
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

/// Between the packed stream and the layout.
enum class Direction { kPack, kUnpack };

namespace copy_internal {

inline std::uint64_t address_of(const std::byte* place) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(place));
}

inline std::byte* pointer_to(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

// Ways to copy one run.
template <std::size_t kLength>
struct Fixed {
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, kLength); }
};

// Both ends of a run of kEnd..2*kEnd bytes, loaded before either is stored.
template <std::size_t kEnd>
struct TwoEnds {
  std::size_t second;  // where the second end starts
  void operator()(std::byte* to, const std::byte* from) const {
    std::byte first_bytes[kEnd], second_bytes[kEnd];
    std::memcpy(first_bytes, from, kEnd);
    std::memcpy(second_bytes, from + second, kEnd);
    std::memcpy(to, first_bytes, kEnd);
    std::memcpy(to + second, second_bytes, kEnd);
  }
};

struct Any {
  std::size_t length;
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, length); }
};

// Calls `loop` with the way to copy runs of `length` (> 0) bytes.
template <typename Loop>
inline void with_way_to_copy(std::size_t length, Loop loop) {
  switch (length) {
    case 1:
      return loop(Fixed<1>{});
    case 2:
      return loop(Fixed<2>{});
    case 4:
      return loop(Fixed<4>{});
    case 8:
      return loop(Fixed<8>{});
    case 12:
      return loop(Fixed<12>{});
    case 16:
      return loop(Fixed<16>{});
    case 24:
      return loop(Fixed<24>{});
    case 32:
      return loop(Fixed<32>{});
    case 48:
      return loop(Fixed<48>{});
    case 64:
      return loop(Fixed<64>{});
    case 128:
      return loop(Fixed<128>{});
    default:
      break;
  }
  if (length < 4) return loop(TwoEnds<2>{length - 2});
  if (length < 8) return loop(TwoEnds<4>{length - 4});
  if (length < 16) return loop(TwoEnds<8>{length - 8});
  if (length < 32) return loop(TwoEnds<16>{length - 16});
  if (length < 64) return loop(TwoEnds<32>{length - 32});
  if (length < 128) return loop(TwoEnds<64>{length - 64});
  loop(Any{length});
}

}  // namespace copy_internal

/// One run; its length may differ from call to call.
inline void copy_run(std::byte* to, const std::byte* from, std::size_t length) {
  using copy_internal::TwoEnds;
  if (length > 64) {
    std::memcpy(to, from, length);
  } else if (length >= 32) {
    TwoEnds<32>{length - 32}(to, from);
  } else if (length >= 16) {
    TwoEnds<16>{length - 16}(to, from);
  } else if (length >= 8) {
    TwoEnds<8>{length - 8}(to, from);
  } else if (length >= 4) {
    TwoEnds<4>{length - 4}(to, from);
  } else if (length >= 2) {
    TwoEnds<2>{length - 2}(to, from);
  } else if (length == 1) {
    *to = *from;
  }
}

inline void copy_runs(const RunCopy& runs) {
  // Everything by value: a store through a pointer to bytes may change what a reference refers to.
  copy_internal::with_way_to_copy(runs.length, [runs](auto copy) {
    std::uint64_t to = copy_internal::address_of(runs.to);
    std::uint64_t from = copy_internal::address_of(runs.from);
    for (std::uint64_t i = 0; i < runs.count; ++i) {
      copy(copy_internal::pointer_to(to), copy_internal::pointer_to(from));
      to += static_cast<std::uint64_t>(runs.to_stride);
      from += static_cast<std::uint64_t>(runs.from_stride);
    }
  });
}

/// `count` runs of `length` bytes: one after the other at `stream`, and `places[i]` bytes from
/// `layout`.
template <Direction kDirection, typename Stream>
inline void copy_listed_runs(Stream* stream, std::uint64_t layout, const std::int64_t* places,
                             std::uint64_t count, std::size_t length) {
  copy_internal::with_way_to_copy(length, [=](auto copy) {
    Stream* at = stream;
    for (std::uint64_t i = 0; i < count; ++i, at += length) {
      std::byte* const run =
          copy_internal::pointer_to(layout + static_cast<std::uint64_t>(places[i]));
      if constexpr (kDirection == Direction::kPack) {
        copy(at, run);
      } else {
        copy(run, at);
      }
    }
  });
}

}  // namespace mad

#endif  // DATATYPE_PATH_CURSOR_COPY_RUNS_H_
