#include "perf/micro/cell.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace micro {
namespace {

constexpr std::size_t kHugePage = 2 << 20;
constexpr std::int64_t kMargin = 64;  // bytes after the packed stream that nobody may touch

}  // namespace

Expansion expand(const Layout& layout) {
  Expander expander;
  return expander.expansion(layout.build(expander), layout.count);
}

void fill(const Memory& memory, std::uint64_t seed) {
  std::uint64_t state = 0x9e3779b97f4a7c15u * (seed + 1);
  for (std::int64_t i = 0; i < memory.size(); i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(memory.data() + i, &state,
                static_cast<std::size_t>(std::min<std::int64_t>(8, memory.size() - i)));
  }
}

Memory::Memory(std::int64_t bytes)
    : size_(bytes), mapped_(static_cast<std::size_t>(bytes) + 2 * kHugePage) {
  map_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map_ == MAP_FAILED) throw std::bad_alloc();
  const auto start = reinterpret_cast<std::uintptr_t>(map_);
  data_ = reinterpret_cast<std::byte*>((start + kHugePage - 1) / kHugePage * kHugePage);
  madvise(data_, mapped_ - kHugePage, MADV_HUGEPAGE);  // a wish
}

Memory::~Memory() { munmap(map_, mapped_); }

Cell::Cell(const LayoutKind& kind, std::int64_t payload)
    : name_(std::string(kind.name) + "/" + std::to_string(payload)),
      layout_(kind.make(payload)),
      expansion_(expand(layout_)),
      bytes_(expansion_.bytes()),
      low_(expansion_.low()),
      user_(expansion_.high() - low_),
      packed_(kPackedStart + bytes_ + kMargin) {
  fill(user_, 1);  // memory that was never written is one page of zeros, read from the cache
  fill(packed_, 2);
}

void Cell::expect_same(const std::string& who, const Memory& is, const Memory& should,
                       std::int64_t first) const {
  if (std::memcmp(is.data(), should.data(), static_cast<std::size_t>(is.size())) == 0) return;
  const auto wrong = std::mismatch(is.data(), is.data() + is.size(), should.data()).first;
  throw std::runtime_error(name_ + ": " + who + ": byte " +
                           std::to_string(first + (wrong - is.data())) + " is wrong");
}

void Cell::verify_pack(const std::string& who, const std::function<void()>& pack) const {
  Memory should(packed_.size());
  fill(user_, 1);
  fill(should, 2);
  fill(packed_, 2);
  expansion_.for_each_run([&](std::int64_t place, std::int64_t at, std::int64_t bytes) {
    std::memcpy(should.data() + kPackedStart + at, user_.data() - low_ + place,
                static_cast<std::size_t>(bytes));
  });
  pack();
  expect_same(who + " pack", packed_, should, -kPackedStart);
}

void Cell::verify_unpack(const std::string& who, const std::function<void()>& unpack) const {
  Memory should(user_.size());
  fill(packed_, 3);
  fill(should, 4);
  fill(user_, 4);
  expansion_.for_each_run([&](std::int64_t place, std::int64_t at, std::int64_t bytes) {
    std::memcpy(should.data() - low_ + place, packed() + at, static_cast<std::size_t>(bytes));
  });
  unpack();
  expect_same(who + " unpack", user_, should, low_);
}

}  // namespace micro
