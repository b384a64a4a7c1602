// Layouts of equal strides: RT-0306's, rows, columns, structures, nested vectors.
#include <algorithm>
#include <cstddef>

#include "perf/micro/layouts.h"

namespace micro {
namespace {

using Type = TypeBuilder::Type;

constexpr std::int64_t kWord = sizeof(float);
constexpr std::int64_t kDouble = sizeof(double);

// Doubles, and bytes where there are less than one.
Layout contiguous(std::int64_t payload) {
  const Basic basic = payload < kDouble ? Basic::kByte : Basic::kDouble;
  const std::int64_t n = payload / size_of(basic);
  Layout layout;
  layout.build = [n, basic](TypeBuilder& t) { return t.contiguous(n, t.basic(basic)); };
  layout.loop = basic == Basic::kByte ? kRunOfBytes : kRunOfDoubles;
  layout.arguments.counts[0] = n;
  return layout;
}

// RT-0306, appendix B.1: blocks of n/10 floats, the last with the n%10 left over as well.  Block
// starts are `gap` block lengths apart.
Layout index(std::int64_t payload, int gap) {
  constexpr int kBlocks = 10;
  const int words = static_cast<int>(payload / kWord);
  auto lists = std::make_shared<Lists>();
  lists->lengths.assign(kBlocks, words / kBlocks);
  lists->lengths.back() += words % kBlocks;
  Places places;
  for (int i = 0; i < kBlocks; ++i) {
    lists->places.push_back(i * (words / kBlocks) * gap);
    places.push_back(lists->places.back() * kWord);
  }
  Layout layout;
  layout.build = [lengths = lists->lengths, places](TypeBuilder& t) {
    return t.indexed(lengths, places, t.basic(Basic::kFloat));
  };
  layout.loop = kBlocksFloat;
  layout.arguments.counts[0] = kBlocks;
  layout.arguments.places = lists->places.data();
  layout.arguments.lengths = lists->lengths.data();
  layout.lists = std::move(lists);
  return layout;
}

// RT-0306, appendix B.2: equal blocks of floats.
Layout vector(std::int64_t payload, int gap) {
  constexpr std::int64_t kBlocks = 8;
  const std::int64_t length = payload / kWord / kBlocks;
  Layout layout;
  layout.build = [=](TypeBuilder& t) {
    return t.vector(kBlocks, length, length * gap * kWord, t.basic(Basic::kFloat));
  };
  layout.loop = kRows1Float;
  layout.arguments.counts[0] = kBlocks;
  layout.arguments.counts[1] = length;
  layout.arguments.strides[0] = length * gap;
  return layout;
}

// An array of structures of which `used` bytes each travel.
Layout structures(std::int64_t payload, std::int64_t used, const Loop& loop,
                  std::function<Type(TypeBuilder&)> build) {
  Layout layout;
  layout.build = std::move(build);
  layout.count = payload / used;
  layout.loop = loop;
  layout.arguments.counts[0] = layout.count;
  return layout;
}

// RT-0306, appendix B.3.
Layout particles(std::int64_t payload) {
  return structures(payload, sizeof(Particle), kRunOfParticles, [](TypeBuilder& t) {
    const Type number = t.basic(Basic::kFloat), word = t.basic(Basic::kInt);
    return t.structure({2, 1, 1},
                       {offsetof(Particle, x), offsetof(Particle, c), offsetof(Particle, z)},
                       {number, word, number});
  });
}

Layout gapped_particles(std::int64_t payload) {
  return structures(payload, 16, kGappedParticles, [](TypeBuilder& t) {
    const Type number = t.basic(Basic::kFloat), word = t.basic(Basic::kInt);
    const Type fields = t.structure(
        {2, 1, 1},
        {offsetof(GappedParticle, x), offsetof(GappedParticle, c), offsetof(GappedParticle, z)},
        {number, word, number});
    return t.resized(0, sizeof(GappedParticle), fields);
  });
}

Layout padded(std::int64_t payload) {
  return structures(payload, 17, kPadded, [](TypeBuilder& t) {
    const Type fields = t.structure({1, 1, 1, 1},
                                    {offsetof(Padded, kind), offsetof(Padded, id),
                                     offsetof(Padded, value), offsetof(Padded, link)},
                                    {t.basic(Basic::kByte), t.basic(Basic::kInt),
                                     t.basic(Basic::kDouble), t.basic(Basic::kInt)});
    return t.resized(0, sizeof(Padded), fields);
  });
}

// Four arrays in one type, each half full.
Layout four_arrays(std::int64_t payload) {
  const std::int64_t n = payload / (2 * kDouble + 2 * kWord);
  const Places places = {0, 2 * n * kDouble, 4 * n * kDouble, 4 * n * kDouble + 2 * n * kWord};
  Layout layout;
  layout.build = [=](TypeBuilder& t) {
    const int length = static_cast<int>(n);
    const Type real = t.basic(Basic::kDouble);
    return t.structure({length, length, length, length}, places,
                       {real, real, t.basic(Basic::kFloat), t.basic(Basic::kInt)});
  };
  layout.loop = kFourArrays;
  layout.arguments.counts[0] = n;
  std::copy(places.begin(), places.end(), layout.arguments.strides);
  return layout;
}

// Rows of `row` bytes with gaps of the same length.
Layout rows(std::int64_t payload, std::int64_t row) {
  row = std::min(row, payload / 2);
  const std::int64_t n = payload / row, length = row / kDouble;
  Layout layout;
  layout.build = [=](TypeBuilder& t) {
    return t.vector(n, length, 2 * row, t.basic(Basic::kDouble));
  };
  layout.loop = length == 1 ? kGrid1Double : kRows1Double;
  layout.arguments.counts[0] = n;
  layout.arguments.counts[1] = length;
  layout.arguments.strides[0] = 2 * length;
  return layout;
}

// Columns of a matrix whose rows are `stride` bytes: one column of `width` bytes is the type, and
// columns that lie side by side are its count.  As many as it takes to have columns of at least
// `rows_at_least` rows, and never more than the matrix has.
Layout columns(std::int64_t payload, std::int64_t width, std::int64_t stride,
               std::int64_t rows_at_least) {
  const std::int64_t n =
      std::clamp<std::int64_t>(payload / (width * rows_at_least), 1, stride / width);
  const std::int64_t rows = payload / width / n, length = width / kDouble;
  Layout layout;
  layout.build = [=](TypeBuilder& t) {
    return t.resized(0, width, t.vector(rows, length, stride, t.basic(Basic::kDouble)));
  };
  layout.count = n;
  layout.loop = length == 1 ? kGrid2Double : kRows2Double;
  layout.arguments.counts[0] = n;
  layout.arguments.counts[1] = rows;
  layout.arguments.counts[2] = length;
  layout.arguments.strides[0] = length;
  layout.arguments.strides[1] = stride / kDouble;
  return layout;
}

// Pairs of doubles, two, by four, by as many as there are.
Layout nested(std::int64_t payload) {
  const std::int64_t n = payload / (16 * kDouble);
  Layout layout;
  layout.build = [n](TypeBuilder& t) {
    const Type pairs = t.vector(2, 2, 5 * kDouble, t.basic(Basic::kDouble));
    return t.vector(n, 1, 40 * kDouble, t.vector(4, 1, 9 * kDouble, pairs));
  };
  layout.loop = kRows3Double;
  const std::int64_t counts[] = {n, 4, 2, 2}, strides[] = {40, 9, 5};
  std::copy(std::begin(counts), std::end(counts), layout.arguments.counts);
  std::copy(std::begin(strides), std::end(strides), layout.arguments.strides);
  return layout;
}

LayoutKind rows_kind(const char* name, std::int64_t row) {
  return {name, "rows with gaps as long", [row](std::int64_t p) { return rows(p, row); }};
}

}  // namespace

std::vector<LayoutKind> regular_kinds() {
  return {
      {"contiguous", "the reference", contiguous},
      {"index", "RT-0306: 10 blocks of floats that touch", [](auto p) { return index(p, 1); }},
      {"vector", "RT-0306: 8 equal blocks that touch", [](auto p) { return vector(p, 1); }},
      {"struct", "RT-0306: particles of 3 blocks that touch", particles},
      {"index-gap", "the same with gaps as long as blocks", [](auto p) { return index(p, 2); }},
      {"vector-gap", "the same with gaps as long as blocks", [](auto p) { return vector(p, 2); }},
      {"struct-gap", "the same with members that do not travel", gapped_particles},
      rows_kind("rows-8", 8),
      rows_kind("rows-16", 16),
      rows_kind("rows-32", 32),
      rows_kind("rows-64", 64),
      rows_kind("rows-256", 256),
      rows_kind("rows-4k", 4 << 10),
      rows_kind("rows-64k", 64 << 10),
      {"column-4k", "doubles 4 KiB apart, by columns",
       [](auto p) { return columns(p, 8, 4 << 10, 1024); }},
      {"column64-4k", "64 bytes of each 4 KiB, by columns",
       [](auto p) { return columns(p, 64, 4 << 10, 1024); }},
      {"column64-64k", "64 bytes of each 64 KiB, by columns",
       [](auto p) { return columns(p, 64, 64 << 10, 256); }},
      {"padded", "structures, 17 bytes of 32 in 3 runs", padded},
      {"arrays", "structure of 4 arrays, half of each", four_arrays},
      {"nested", "vector of vectors of vectors of pairs", nested},
  };
}

}  // namespace micro
