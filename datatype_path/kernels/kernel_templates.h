// The kernels' bodies, compiled once for each instruction set by the file that includes this one.
// Everything is in an unnamed namespace: the linker must not take one instruction set's for
// another's.
#ifndef DATATYPE_PATH_KERNELS_KERNEL_TEMPLATES_H_
#define DATATYPE_PATH_KERNELS_KERNEL_TEMPLATES_H_

#include <cstring>
#include <utility>

#include "datatype_path/kernels/kernels.h"
#include "datatype_path/kernels/spaced_stores.h"
#include "madlike/base/copy_bytes.h"
#include "madlike/base/vector_copy.h"

// With checks in it, a loop gains nothing from four copies and takes long to compile.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAD_UNROLLED
#else
#define MAD_UNROLLED _Pragma("GCC unroll 4")
#endif

namespace mad {
namespace {

constexpr std::size_t size_of_move(std::size_t place) {
  return place == 0 ? 0 : std::size_t{1} << (place - 1);
}

inline std::byte* pointer_to(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

template <Direction kDirection, std::size_t kPlace>
inline void move(std::byte* stream, std::uint64_t layout) {
  if constexpr (kPlace > 0 && kDirection == Direction::kPack) {
    std::memcpy(stream, pointer_to(layout), size_of_move(kPlace));
  } else if constexpr (kPlace > 0) {
    std::memcpy(pointer_to(layout), stream, size_of_move(kPlace));
  }
}

// Runs of 8 bytes leave for the stream in pairs, one store of 16 bytes each.
constexpr std::size_t kPlaceOfWord = 4;
using Pair = std::int64_t __attribute__((vector_size(16)));
inline void pack_pair(std::byte* stream, std::uint64_t first, std::uint64_t second) {
  std::int64_t words[2];
  std::memcpy(&words[0], pointer_to(first), sizeof(words[0]));
  std::memcpy(&words[1], pointer_to(second), sizeof(words[1]));
  const Pair pair = {words[0], words[1]};
  std::memcpy(stream, &pair, sizeof(pair));
}

// As many of `runs` as make fours; returns how many.
inline std::uint64_t pack_trips_in_pairs(std::byte* stream, std::uint64_t from,
                                         std::uint64_t stride, std::uint64_t runs) {
  // The compiler would make each address from the one before, if it knew what these are.
  std::uint64_t two = 2 * stride, three = 3 * stride, four = 4 * stride;
  __asm__("" : "+r"(two), "+r"(three), "+r"(four));
  std::uint64_t left = runs;
  for (; left >= 4; left -= 4) {
    pack_pair(stream, from, from + stride);
    pack_pair(stream + sizeof(Pair), from + two, from + three);
    stream += 2 * sizeof(Pair);
    from += four;
  }
  return runs - left;
}

template <typename Offset>
inline std::uint64_t pack_list_in_pairs(std::byte* stream, std::uint64_t layout,
                                        const Offset* offsets, std::uint64_t runs) {
  const auto place = [=](std::uint64_t i) {
    return layout + static_cast<std::uint64_t>(static_cast<std::int64_t>(offsets[i]));
  };
  const std::uint64_t fours = runs & ~std::uint64_t{3};
  for (std::uint64_t i = 0; i < fours; i += 4) {
    pack_pair(stream, place(i), place(i + 1));
    pack_pair(stream + sizeof(Pair), place(i + 2), place(i + 3));
    stream += 2 * sizeof(Pair);
  }
  return fours;
}

template <Direction kDirection, std::size_t kA, std::size_t kB, std::size_t kC, std::size_t kD>
void copy_trips(const TripsStep& step, std::byte* stream, std::uint64_t layout, std::int64_t stride,
                std::uint64_t trips) {
  // Read beforehand: a store through a pointer to bytes may change what a reference refers to.
  const auto layout_step = static_cast<std::uint64_t>(stride);
  const auto stream_step = static_cast<std::ptrdiff_t>(step.body_bytes);
  std::byte* const to_a = stream + step.stream[0];
  const std::ptrdiff_t to_b = step.stream[1] - step.stream[0];
  const std::ptrdiff_t to_c = step.stream[2] - step.stream[0];
  const std::ptrdiff_t to_d = step.stream[3] - step.stream[0];
  // Unsigned: a move that is not made is at 0, and the first one up to 2^63 bytes from there.
  const auto place_a = static_cast<std::uint64_t>(step.layout[0]);
  const std::uint64_t from_a = layout + place_a;
  const std::uint64_t from_b = static_cast<std::uint64_t>(step.layout[1]) - place_a;
  const std::uint64_t from_c = static_cast<std::uint64_t>(step.layout[2]) - place_a;
  const std::uint64_t from_d = static_cast<std::uint64_t>(step.layout[3]) - place_a;
  std::byte* to = to_a;
  std::uint64_t from = from_a;
  if constexpr (kDirection == Direction::kPack && kA == kPlaceOfWord && kB == 0) {
    if (stream_step == size_of_move(kA)) {
      const std::uint64_t done = pack_trips_in_pairs(to, from, layout_step, trips);
      to += done * size_of_move(kA);
      from += done * layout_step;
      trips -= done;
    }
  }
  const auto copy = [&](std::uint64_t n) __attribute__((always_inline)) {
    MAD_UNROLLED
    for (std::uint64_t i = 0; i < n; ++i) {
      move<kDirection, kA>(to, from);
      move<kDirection, kB>(to + to_b, from + from_b);
      move<kDirection, kC>(to + to_c, from + from_c);
      move<kDirection, kD>(to + to_d, from + from_d);
      to += stream_step;
      from += layout_step;
    }
  };
  if constexpr (kDirection == Direction::kPack) {
    copy(trips);
  } else {
    constexpr std::uint64_t kMoved =
        size_of_move(kA) + size_of_move(kB) + size_of_move(kC) + size_of_move(kD);
    in_groups(layout_step, kMoved, trips, copy);
  }
}

// A run longer than kLongestShortRun.
template <Direction kDirection>
inline void copy_any(std::byte* stream, std::uint64_t layout, std::uint64_t length) {
  std::byte* const to = kDirection == Direction::kPack ? stream : pointer_to(layout);
  const std::byte* const from = kDirection == Direction::kPack ? pointer_to(layout) : stream;
  if (length > kLongCopy) return copy_long(to, from, length);
#if defined(__AVX2__)
  copy_by_vectors(to, from, length);  // memcpy was measured to take up to a third longer (ADR 19)
#else
  std::memcpy(to, from, length);
#endif
}

template <Direction kDirection>
void copy_trips_of_long_run(const TripsStep& step, std::byte* stream, std::uint64_t layout,
                            std::int64_t stride, std::uint64_t trips) {
  const std::uint64_t length = step.length;
  const std::uint64_t body_bytes = step.body_bytes;
  const auto layout_step = static_cast<std::uint64_t>(stride);
  stream += step.stream[0];
  layout += static_cast<std::uint64_t>(step.layout[0]);
  const auto copy = [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      copy_any<kDirection>(stream, layout, length);
      stream += body_bytes;
      layout += layout_step;
    }
  };
  if constexpr (kDirection == Direction::kPack) {
    copy(trips);
  } else {
    in_groups(layout_step, length, trips, copy);
  }
}

// Runs ahead of the one that is unpacked whose lines are asked for: stores to lines that are in no
// cache wait for one another.
constexpr std::uint64_t kUnpackAhead = 16;
constexpr std::uint64_t kManyRuns = 1024;  // fewer are mostly found in a cache

template <Direction kDirection, typename Offset, std::size_t kA, std::size_t kB>
void copy_list(std::byte* stream, std::uint64_t layout, const void* offsets, std::uint64_t count,
               std::uint64_t length) {
  const auto* const offset = static_cast<const Offset*>(offsets);
  const auto place = [=](std::uint64_t i) {
    return layout + static_cast<std::uint64_t>(static_cast<std::int64_t>(offset[i]));
  };
  const auto second = static_cast<std::ptrdiff_t>(length - size_of_move(kB));
  const auto copy = [&](std::uint64_t at) {
    if constexpr (kA == 0) {
      copy_any<kDirection>(stream, at, length);
    } else {
      move<kDirection, kA>(stream, at);
      move<kDirection, kB>(stream + second, at + static_cast<std::uint64_t>(second));
    }
    stream += length;
  };
  std::uint64_t done = 0;
  if constexpr (kDirection == Direction::kPack && kA == kPlaceOfWord && kB == 0) {
    done = pack_list_in_pairs(stream, layout, offset, count);
    stream += done * size_of_move(kA);
  }
  if (kDirection == Direction::kUnpack && kA != 0 && count >= kManyRuns) {
    MAD_UNROLLED
    for (; count - done > kUnpackAhead; ++done) {
      __builtin_prefetch(pointer_to(place(done + kUnpackAhead)), 1);
      copy(place(done));
    }
  }
  MAD_UNROLLED
  for (; done < count; ++done) copy(place(done));
}

template <std::size_t kA, std::size_t kB>
void copy_grid(const Grid& grid, std::uint64_t from, std::uint64_t to, std::uint64_t length) {
  // Read beforehand, as above.
  const Grid::Loop inner = grid.inner, outer = grid.outer;
  const std::uint64_t second = length - size_of_move(kB);
  for (std::uint64_t o = 0; o < outer.trips; ++o) {
    std::uint64_t read = from;
    std::uint64_t write = to;
    in_groups(static_cast<std::uint64_t>(inner.to), length, inner.trips, [&](std::uint64_t n) {
      MAD_UNROLLED
      for (std::uint64_t i = 0; i < n; ++i) {
        if constexpr (kA == 0) {
          copy_any<Direction::kPack>(pointer_to(write), read, length);
        } else {
          move<Direction::kPack, kA>(pointer_to(write), read);
          move<Direction::kPack, kB>(pointer_to(write + second), read + second);
        }
        read += static_cast<std::uint64_t>(inner.from);
        write += static_cast<std::uint64_t>(inner.to);
      }
    });
    from += static_cast<std::uint64_t>(outer.from);
    to += static_cast<std::uint64_t>(outer.to);
  }
}

// Both ends of each of `count` runs whose length is kBytes to 2 * kBytes.
template <Direction kDirection, std::size_t kPlace>
void copy_class(const std::uint8_t* order, std::size_t count, std::uint64_t stream,
                std::uint64_t layout, const std::int32_t* offsets, const std::uint32_t* ends) {
  constexpr std::uint64_t kBytes = size_of_move(kPlace);
  MAD_UNROLLED
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t run = order[i];
    const std::uint64_t to = stream + ends[run];
    const std::uint64_t second = ends[run + 1] - ends[run] - kBytes;
    const std::uint64_t from =
        layout + static_cast<std::uint64_t>(static_cast<std::int64_t>(offsets[run]));
    move<kDirection, kPlace>(pointer_to(to), from);
    move<kDirection, kPlace>(pointer_to(to + second), from + second);
  }
}

// Those that are longer than any class, one by one.
template <Direction kDirection>
void copy_longer(const std::uint8_t* order, std::size_t count, std::uint64_t stream,
                 std::uint64_t layout, const std::int32_t* offsets, const std::uint32_t* ends) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t run = order[i];
    copy_any<kDirection>(
        pointer_to(stream + ends[run]),
        layout + static_cast<std::uint64_t>(static_cast<std::int64_t>(offsets[run])),
        ends[run + 1] - ends[run]);
  }
}

template <Direction kDirection, std::size_t... kClass>
void copy_classes(const RunChunk& chunk, std::uint64_t stream, std::uint64_t layout,
                  const std::int32_t* offsets, const std::uint32_t* ends,
                  std::index_sequence<kClass...>) {
  const std::uint8_t* order = chunk.order.data();
  ((copy_class<kDirection, kClass + 1>(order, chunk.count[kClass], stream, layout, offsets, ends),
    order += chunk.count[kClass]),
   ...);
  copy_longer<kDirection>(order, chunk.count.back(), stream, layout, offsets, ends);
}

template <Direction kDirection>
void copy_chunk(const RunChunk& chunk, std::uint64_t stream, std::uint64_t layout,
                const std::int32_t* offsets, const std::uint32_t* ends) {
  copy_classes<kDirection>(chunk, stream, layout, offsets, ends,
                           std::make_index_sequence<RunChunk::kClasses - 1>());
}

// Structures have members of 1, 4 and 8 bytes, and several that touch are 16.
constexpr bool is_common(std::size_t place) { return place == 1 || (place >= 3 && place <= 5); }

template <Direction kDirection, std::size_t kIndex>
constexpr TripsKernel trips_kernel() {
  constexpr std::size_t kA = kIndex / 64, kB = kIndex / 8 % 8, kC = kIndex % 8;
  constexpr bool kThree = is_common(kA) && is_common(kB) && is_common(kC);
  if constexpr (kA > 0 && kA >= kB && kB >= kC && (kC == 0 || kThree)) {
    return &copy_trips<kDirection, kA, kB, kC, 0>;
  } else {
    return nullptr;
  }
}

template <Direction kDirection, std::size_t kIndex>
constexpr TripsKernel trips_kernel_of_four() {
  constexpr std::size_t kA = kIndex / 125, kB = kIndex / 25 % 5, kC = kIndex / 5 % 5,
                        kD = kIndex % 5;
  constexpr bool kFour = is_common(kA) && is_common(kB) && is_common(kC) && is_common(kD);
  if constexpr (kFour && kA >= kB && kB >= kC && kC >= kD) {
    return &copy_trips<kDirection, kA, kB, kC, kD>;
  } else {
    return nullptr;
  }
}

template <Direction kDirection, typename Offset, std::size_t kIndex>
constexpr ListKernel list_kernel() {
  constexpr std::size_t kA = kIndex / 8, kB = kIndex % 8;
  if constexpr (kA >= kB) {
    return &copy_list<kDirection, Offset, kA, kB>;
  } else {
    return nullptr;
  }
}

template <std::size_t kIndex>
constexpr GridKernel grid_kernel() {
  constexpr std::size_t kA = kIndex / 8, kB = kIndex % 8;
  if constexpr (kA >= kB) {
    return &copy_grid<kA, kB>;
  } else {
    return nullptr;
  }
}

template <std::size_t... kIndex>
constexpr std::array<GridKernel, sizeof...(kIndex)> all_grids(std::index_sequence<kIndex...>) {
  return {grid_kernel<kIndex>()...};
}

template <Direction kDirection, std::size_t... kIndex>
constexpr std::array<TripsKernel, sizeof...(kIndex)> all_trips(std::index_sequence<kIndex...>) {
  return {trips_kernel<kDirection, kIndex>()...};
}

template <Direction kDirection, std::size_t... kIndex>
constexpr std::array<TripsKernel, sizeof...(kIndex)> all_fours(std::index_sequence<kIndex...>) {
  return {trips_kernel_of_four<kDirection, kIndex>()...};
}

template <Direction kDirection, typename Offset, std::size_t... kIndex>
constexpr std::array<ListKernel, sizeof...(kIndex)> all_lists(std::index_sequence<kIndex...>) {
  return {list_kernel<kDirection, Offset, kIndex>()...};
}

template <typename Offset>
constexpr auto lists_both_ways() {
  constexpr auto kAll = std::make_index_sequence<KernelTable::kSizes * KernelTable::kSizes>();
  return std::array{all_lists<Direction::kPack, Offset>(kAll),
                    all_lists<Direction::kUnpack, Offset>(kAll)};
}

constexpr KernelTable make_table(const char* name) {
  static_assert(KernelTable::kSizes == 8 && KernelTable::kSmallSizes == 5);
  constexpr auto kAll = std::make_index_sequence<8 * 8 * 8>();
  constexpr auto kFours = std::make_index_sequence<5 * 5 * 5 * 5>();
  return {name,
          {all_trips<Direction::kPack>(kAll), all_trips<Direction::kUnpack>(kAll)},
          {all_fours<Direction::kPack>(kFours), all_fours<Direction::kUnpack>(kFours)},
          {&copy_trips_of_long_run<Direction::kPack>, &copy_trips_of_long_run<Direction::kUnpack>},
          lists_both_ways<std::int32_t>(),
          lists_both_ways<std::int64_t>(),
          {&copy_chunk<Direction::kPack>, &copy_chunk<Direction::kUnpack>},
          all_grids(std::make_index_sequence<KernelTable::kSizes * KernelTable::kSizes>())};
}

}  // namespace
}  // namespace mad

#endif  // DATATYPE_PATH_KERNELS_KERNEL_TEMPLATES_H_
