#include "perf/apps/face.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "perf/micro/expansion.h"

namespace apps {
namespace {

constexpr std::int64_t kMemory = 4096;

Face rows(Element element, int count, std::int64_t stride, int columns, std::int64_t step) {
  Face face;
  face.element = element;
  face.offset = 64;
  face.rows = count;
  face.row_stride = stride;
  face.columns = columns;
  face.column_stride = step;
  return face;
}

std::vector<Face> faces() {
  return {rows(Element::kByte, 10, 16, 1, 1),     rows(Element::kDouble, 4, 128, 3, 8),
          rows(Element::kDouble, 4, 128, 3, 24),  rows(Element::kComplex, 9, 16, 12, 256),
          rows(Element::kComplex, 3, 128, 4, 16), rows(Element::kParticle, 6, 56, 1, 56),
          rows(Element::kDouble, 1, 0, 5, 8)};
}

std::vector<std::byte> numbered() {
  std::vector<std::byte> memory(kMemory);
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<std::byte>(i * 7 + i / 256);
  return memory;
}

/// Where the elements of a face lie, by its type's expansion; structures without their padding.
std::vector<micro::Run> runs_of(const Face& face, int parts) {
  micro::Expander expander;
  const auto type = parts == 1 ? face_type(face, expander) : part_type(face, parts, expander);
  std::vector<micro::Run> runs;
  expander.expansion(type, parts)
      .for_each_run([&](std::int64_t place, std::int64_t, std::int64_t bytes) {
        runs.push_back({face.offset + place, bytes});
      });
  return runs;
}

TEST(Face, LoopsAndDatatypesMoveTheSameInTheSameOrder) {
  const std::vector<std::byte> memory = numbered();
  for (const Face& face : faces()) {
    std::vector<std::byte> packed(static_cast<std::size_t>(face.bytes()));
    pack(face, 0, face.rows, memory.data(), packed.data());
    const std::byte* next = packed.data();
    for (const micro::Run& run : runs_of(face, 1)) {
      // A particle's padding is packed by hand, and no part of the type.
      if (face.element == Element::kParticle && (next - packed.data()) % 56 == 53) next += 3;
      ASSERT_EQ(std::memcmp(next, memory.data() + run.place, static_cast<std::size_t>(run.bytes)),
                0);
      next += run.bytes;
    }
    EXPECT_GE(next - packed.data(), face.bytes() - 3);
  }
}

TEST(Face, WhatIsUnpackedIsPackedAgain) {
  const std::vector<std::byte> memory = numbered();
  for (const Face& face : faces()) {
    std::vector<std::byte> packed(static_cast<std::size_t>(face.bytes())), again(packed.size());
    pack(face, 0, face.rows, memory.data(), packed.data());
    std::vector<std::byte> other(memory.size());
    unpack(face, packed.data(), other.data());
    pack(face, 0, face.rows, other.data(), again.data());
    EXPECT_EQ(again, packed);
    std::size_t touched = 0;
    for (std::size_t i = 0; i < other.size(); ++i) touched += other[i] != std::byte{0};
    EXPECT_LE(touched, packed.size());
  }
}

TEST(Face, PartsAreTheWhole) {
  const Face face = rows(Element::kDouble, 8, 128, 3, 24);
  EXPECT_EQ(face.parts(4), 4);
  EXPECT_EQ(rows(Element::kDouble, 6, 128, 3, 24).parts(4), 3);
  const auto whole = runs_of(face, 1), parts = runs_of(face, 4);
  ASSERT_EQ(whole.size(), parts.size());
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i].place, parts[i].place);
  std::vector<std::byte> memory = numbered(), at_once(static_cast<std::size_t>(face.bytes())),
                         bit_by_bit(at_once.size());
  pack(face, 0, 8, memory.data(), at_once.data());
  for (int row = 0; row < 8; row += 2) {
    pack(face, row, row + 2, memory.data(), bit_by_bit.data() + row * 3 * 8);
  }
  EXPECT_EQ(at_once, bit_by_bit);
}

TEST(Face, OneRunNeedsNeither) {
  EXPECT_TRUE(rows(Element::kDouble, 1, 0, 5, 8).one_run());
  EXPECT_TRUE(rows(Element::kDouble, 4, 24, 3, 8).one_run());
  EXPECT_TRUE(rows(Element::kParticle, 6, 56, 1, 56).one_run());
  EXPECT_FALSE(rows(Element::kDouble, 4, 32, 3, 8).one_run());
  EXPECT_FALSE(rows(Element::kDouble, 1, 0, 5, 16).one_run());
}

TEST(Face, ListsAreElementsByNumber) {
  std::vector<std::byte> memory = numbered();
  Face face;
  face.element = Element::kParticle;
  face.listed = true;
  face.list = {3, 0, 17};
  EXPECT_EQ(face.bytes(), 3 * 56);
  EXPECT_EQ(face.parts(4), 1);
  EXPECT_FALSE(face.one_run());
  std::vector<std::byte> packed(3 * 56);
  pack(face, 0, 1, memory.data(), packed.data());
  EXPECT_EQ(std::memcmp(packed.data(), memory.data() + 3 * 56, 53), 0);
  EXPECT_EQ(std::memcmp(packed.data() + 112, memory.data() + 17 * 56, 53), 0);
  std::vector<std::byte> other(memory.size());
  unpack(face, packed.data(), other.data());
  EXPECT_EQ(std::memcmp(other.data() + 17 * 56, memory.data() + 17 * 56, 53), 0);
}

}  // namespace
}  // namespace apps
