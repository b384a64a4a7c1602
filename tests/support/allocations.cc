#include "tests/support/allocations.h"

#include <cstdlib>
#include <new>

namespace mad::test {
namespace {

// What the operators count cannot be passed to them: the one mutable global of the tests.
thread_local Allocations counted;
thread_local std::size_t fail_from = 0;

}  // namespace

Allocations allocations() { return counted; }

void fail_allocations_from(std::size_t bytes) { fail_from = bytes; }

static void* allocate(std::size_t size) {
  if (fail_from != 0 && size >= fail_from) return nullptr;
  ++counted.count;
  counted.bytes += size;
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
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
