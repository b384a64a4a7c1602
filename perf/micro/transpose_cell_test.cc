// Whoever transposes writes the bytes that are told.
#include "perf/micro/transpose_cell.h"

#include <gtest/gtest.h>

namespace micro {
namespace {

TEST(TransposeCell, everybody_agrees_with_the_definition) {
  for (const TransposeKind& kind : transpose_kinds()) {
    EXPECT_NO_THROW(TransposeCell(kind, 8 << 10).verify()) << kind.name;
    EXPECT_NO_THROW(TransposeCell(kind, 64 << 10).verify()) << kind.name;
  }
}

TEST(TransposeCell, payloads_are_what_was_asked_for) {
  for (const TransposeKind& kind : transpose_kinds()) {
    EXPECT_EQ(TransposeCell(kind, 64 << 10).bytes(), 64 << 10) << kind.name;
  }
}

}  // namespace
}  // namespace micro
