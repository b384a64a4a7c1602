// Cell: one layout at one payload, with its memory and with the bytes it must give.
//
// Whoever packs or unpacks it (engine, loop, MPI) is verified here byte for byte before it is
// timed: the packed bytes, the scattered ones, and that nothing between them was touched.
#ifndef PERF_MICRO_CELL_H_
#define PERF_MICRO_CELL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "perf/micro/expansion.h"
#include "perf/micro/layouts.h"

namespace micro {

/// Memory of the process: zeroed, aligned to a huge page and made of them where there are any.
class Memory {
 public:
  explicit Memory(std::int64_t bytes);  // throws std::bad_alloc
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }

 private:
  std::byte* data_;
  std::int64_t size_;
  std::size_t mapped_;
  void* map_;
};

/// Bytes that differ from place to place and from seed to seed.
void fill(const Memory& memory, std::uint64_t seed);

/// Where the packed bytes of a layout lie.
Expansion expand(const Layout& layout);

class Cell {
 public:
  Cell(const LayoutKind& kind, std::int64_t payload);

  const Layout& layout() const { return layout_; }
  /// Of the smallest element: what MPI calls the buffer.
  void* user() const { return user_.data() - low_; }
  std::byte* packed() const { return packed_.data() + kPackedStart; }
  std::int64_t bytes() const { return bytes_; }

  /// Runs `pack` once, which writes bytes() bytes to packed(); throws std::runtime_error with the
  /// first wrong byte.
  void verify_pack(const std::string& who, const std::function<void()>& pack) const;
  /// The same for `unpack`, from packed() to user().
  void verify_unpack(const std::string& who, const std::function<void()>& unpack) const;

 private:
  // Half a page on: at like places of their pages, loads from one buffer are taken for the stores
  // to the other a moment before (4 KiB aliasing), and the placement is measured, not the code.
  static constexpr std::int64_t kPackedStart = 2048 + 64;

  // Compares; `first` is the place of the memory's first byte.
  void expect_same(const std::string& who, const Memory& is, const Memory& should,
                   std::int64_t first) const;

  std::string name_;
  Layout layout_;
  Expansion expansion_;
  std::int64_t bytes_;
  std::int64_t low_;
  Memory user_;
  Memory packed_;
};

}  // namespace micro

#endif  // PERF_MICRO_CELL_H_
