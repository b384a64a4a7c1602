// Layouts given by lists of places: seismic codes, molecular dynamics, unstructured meshes; and
// layouts made to hurt.
#include <algorithm>
#include <random>
#include <utility>

#include "perf/micro/layouts.h"

namespace micro {
namespace {

using Type = TypeBuilder::Type;

constexpr std::int64_t kDouble = sizeof(double);
constexpr unsigned kSeed = 306;  // the same lists in every binary and run

Type several(TypeBuilder& t, int n, Basic basic) {
  const Type one = t.basic(basic);
  return n == 1 ? one : t.contiguous(n, one);
}

// Elements of `bytes` at `lists->places`.
Layout listed(std::shared_ptr<Lists> lists, std::int64_t bytes, const Loop& loop,
              std::function<Type(TypeBuilder&)> element) {
  Layout layout;
  layout.build = [lists, bytes, element = std::move(element)](TypeBuilder& t) {
    Places places(lists->places.begin(), lists->places.end());
    for (std::int64_t& place : places) place *= bytes;
    return t.indexed_block(1, places, element(t));
  };
  layout.loop = loop;
  layout.arguments.counts[0] = static_cast<std::int64_t>(lists->places.size());
  layout.arguments.places = lists->places.data();
  layout.lists = std::move(lists);
  return layout;
}

// Points of a mesh's boundary in ascending order: of eight three follow their neighbour.
std::shared_ptr<Lists> ascending(std::int64_t n) {
  std::mt19937 random(kSeed);
  auto lists = std::make_shared<Lists>();
  int place = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    lists->places.push_back(place);
    const unsigned step = random() % 8;
    place += step < 3 ? 1 : static_cast<int>(step);
  }
  return lists;
}

// Atoms near a border, in the order of their cells: a list that is nearly sorted.
std::shared_ptr<Lists> by_cells(std::int64_t n) {
  constexpr std::int64_t kCell = 32;
  std::shared_ptr<Lists> lists = ascending(n);
  std::mt19937 random(kSeed + 1);
  for (std::int64_t i = 0; i < n; i += kCell) {
    std::shuffle(lists->places.begin() + i, lists->places.begin() + std::min(n, i + kCell), random);
  }
  return lists;
}

// Every other element, in no order at all.
std::shared_ptr<Lists> shuffled(std::int64_t n) {
  std::mt19937 random(kSeed);
  auto lists = std::make_shared<Lists>();
  for (std::int64_t i = 0; i < n; ++i) lists->places.push_back(static_cast<int>(2 * i));
  std::shuffle(lists->places.begin(), lists->places.end(), random);
  return lists;
}

Layout doubles(std::shared_ptr<Lists> lists) {
  return listed(std::move(lists), kDouble, kListDouble,
                [](TypeBuilder& t) { return t.basic(Basic::kDouble); });
}

Layout seismic12(std::int64_t payload) {
  return listed(ascending(payload / 12), 12, kListVec12,
                [](TypeBuilder& t) { return several(t, 3, Basic::kFloat); });
}

Layout atoms(std::int64_t payload) {
  return listed(by_cells(payload / 24), 24, kListVec24,
                [](TypeBuilder& t) { return several(t, 3, Basic::kDouble); });
}

// Blocks of 1 to 8 doubles with gaps of 1 to 8.
Layout mesh(std::int64_t payload) {
  std::mt19937 random(kSeed);
  auto lists = std::make_shared<Lists>();
  int place = 0;
  for (std::int64_t left = payload / kDouble; left > 0; left -= lists->lengths.back()) {
    lists->places.push_back(place);
    lists->lengths.push_back(
        static_cast<int>(std::min<std::int64_t>(left, 1 + static_cast<int>(random() % 8))));
    place += lists->lengths.back() + 1 + static_cast<int>(random() % 8);
  }
  Layout layout;
  layout.build = [lists](TypeBuilder& t) {
    Places places(lists->places.begin(), lists->places.end());
    for (std::int64_t& one : places) one *= kDouble;
    return t.indexed(lists->lengths, places, t.basic(Basic::kDouble));
  };
  layout.loop = kBlocksDouble;
  layout.arguments.counts[0] = static_cast<std::int64_t>(lists->places.size());
  layout.arguments.places = lists->places.data();
  layout.arguments.lengths = lists->lengths.data();
  layout.lists = std::move(lists);
  return layout;
}

// One byte of every cache line; from 1 MiB on in columns of a million lines.
Layout byte_per_line(std::int64_t payload) {
  constexpr std::int64_t kLine = 64, kLines = 1 << 20;
  const std::int64_t columns = std::clamp<std::int64_t>(payload / kLines, 1, kLine);
  const std::int64_t lines = payload / columns;
  Layout layout;
  layout.build = [=](TypeBuilder& t) {
    return t.resized(0, 1, t.vector(lines, 1, kLine, t.basic(Basic::kByte)));
  };
  layout.count = columns;
  layout.loop = kGrid2Byte;
  layout.arguments.counts[0] = columns;
  layout.arguments.counts[1] = lines;
  layout.arguments.strides[0] = 1;
  layout.arguments.strides[1] = kLine;
  return layout;
}

// Pairs of doubles, each before the one before it.
Layout backwards(std::int64_t payload) {
  const std::int64_t n = payload / (2 * kDouble);
  Layout layout;
  layout.build = [n](TypeBuilder& t) {
    return t.vector(n, 2, -6 * kDouble, t.basic(Basic::kDouble));
  };
  layout.loop = kRows1Double;
  layout.arguments.counts[0] = n;
  layout.arguments.counts[1] = 2;
  layout.arguments.strides[0] = -6;
  return layout;
}

// Eight vectors of two in one another, no two strides in proportion; 256 bytes have six and two of
// one.
Layout deep(std::int64_t payload) {
  constexpr int kDepth = 8;
  constexpr std::int64_t kWord = sizeof(float);
  std::int64_t left = payload / kWord, span = 1;  // in words
  std::int64_t counts[kDepth], strides[kDepth];
  for (int level = 0; level < kDepth; ++level) {
    counts[level] = left > 1 ? 2 : 1;
    left /= counts[level];
    strides[level] = span + level + 1;
    span += (counts[level] - 1) * strides[level];
  }
  const std::int64_t extent = span + kDepth + 1;
  Layout layout;
  const std::vector<std::int64_t> n(counts, counts + kDepth), stride(strides, strides + kDepth);
  layout.build = [=](TypeBuilder& t) {
    Type type = t.basic(Basic::kFloat);
    for (int i = 0; i < kDepth; ++i) type = t.vector(n[i], 1, stride[i] * kWord, type);
    return t.resized(0, extent * kWord, type);
  };
  layout.count = left;
  layout.loop = kGrid9Float;
  layout.arguments.counts[0] = left;
  layout.arguments.strides[0] = extent;
  std::reverse_copy(counts, counts + kDepth, layout.arguments.counts + 1);
  std::reverse_copy(strides, strides + kDepth, layout.arguments.strides + 1);
  return layout;
}

}  // namespace

std::vector<LayoutKind> irregular_kinds() {
  return {
      {"seismic-8", "irregular list of doubles, ascending",
       [](auto p) { return doubles(ascending(p / kDouble)); }},
      {"seismic-12", "irregular list of 3 floats, ascending", seismic12},
      {"atoms-24", "irregular list of 3 doubles, by cells", atoms},
      {"mesh", "irregular blocks of 1 to 8 doubles", mesh},
  };
}

std::vector<LayoutKind> adversarial_kinds() {
  return {
      {"byte-per-line", "1 byte of every cache line", byte_per_line, &kByteOfEachLine},
      {"backwards", "pairs of doubles at a negative stride", backwards},
      {"deep-8", "8 vectors of 2 in one another", deep},
      {"random-8", "doubles in random order",
       [](auto p) { return doubles(shuffled(p / kDouble)); }},
  };
}

}  // namespace micro
