#include "tests/support/allocations.h"

#include <cstdlib>
#include <new>

namespace mad::test {
namespace {

// What the operators count cannot be passed to them: the one mutable global of the tests.
thread_local Allocations counted;
thread_local std::size_t fail_from = 0;
thread_local std::size_t fail_to = SIZE_MAX;
constexpr std::size_t kUnlimited = SIZE_MAX;
thread_local std::size_t left = kUnlimited;
thread_local bool none_left = false;  // for one that was asked for

}  // namespace

Allocations allocations() { return counted; }

void fail_allocations_from(std::size_t bytes, std::size_t to) {
  fail_from = bytes;
  fail_to = to;
}

AllocationsLeft::AllocationsLeft(std::size_t count) {
  left = count;
  none_left = false;
}

AllocationsLeft::~AllocationsLeft() { left = kUnlimited; }

bool AllocationsLeft::failed() { return none_left; }

static void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
  if (fail_from != 0 && size >= fail_from && size <= fail_to) return nullptr;
  if (left == 0) {
    none_left = true;
    return nullptr;
  }
  if (left != kUnlimited) --left;
  ++counted.count;
  counted.bytes += size;
  if (alignment > alignof(std::max_align_t)) return std::aligned_alloc(alignment, size);
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace mad::test

void* operator new(std::size_t size) {
  if (void* memory = mad::test::allocate(size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return mad::test::allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return mad::test::allocate(size);
}
// What is aligned is as long as its alignment, or several times.
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* memory = mad::test::allocate(size, static_cast<std::size_t>(alignment))) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return operator new(size, alignment);
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
