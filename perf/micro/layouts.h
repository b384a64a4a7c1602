// The layouts that are measured: one definition for every binary.
//
// Each says how MPI's constructors build it (for any TypeBuilder), how many elements are sent, and
// which hand-written loop does the same.  Payloads are what was asked for, rounded down to whole
// elements; blocks too long for a small payload are cut to half of it.
#ifndef PERF_MICRO_LAYOUTS_H_
#define PERF_MICRO_LAYOUTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "perf/micro/hand_loops.h"
#include "perf/micro/type_builder.h"

namespace micro {

/// Lists that types and loops are made of.
struct Lists {
  std::vector<int> places;  // in the loop's elements
  std::vector<int> lengths;
};

struct Layout {
  std::function<TypeBuilder::Type(TypeBuilder&)> build;
  std::int64_t count = 1;  // elements of that type
  Loop loop{};
  LoopArguments arguments;  // its lists are those below
  std::shared_ptr<const Lists> lists;
};

struct LayoutKind {
  const char* name;
  const char* about;
  std::function<Layout(std::int64_t payload)> make;
  const Loop* plain = nullptr;  // the same loads and stores, with strides known to the compiler
};

/// All of them, in the order of the table.
const std::vector<LayoutKind>& layout_kinds();

/// Payload bytes that are measured.
constexpr std::int64_t kPayloads[] = {256, 1024, 64 << 10, 1 << 20, 64 << 20};

// The parts of the catalogue.
std::vector<LayoutKind> regular_kinds();      // RT-0306's, rows, columns, structures, nests
std::vector<LayoutKind> array_kinds();        // faces of arrays, distributed arrays, HPL's panels
std::vector<LayoutKind> irregular_kinds();    // lists of places
std::vector<LayoutKind> adversarial_kinds();  // what no engine likes

}  // namespace micro

#endif  // PERF_MICRO_LAYOUTS_H_
