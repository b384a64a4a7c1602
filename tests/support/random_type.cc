#include "tests/support/random_type.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "datatype_path/describe/array_types.h"
#include "tests/support/type_map.h"

namespace mad::test {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }
std::string text(std::uint64_t value) { return std::to_string(value); }

template <typename T>
std::string text(const std::vector<T>& values) {
  std::string out = "[";
  for (const T& value : values) out += (out.size() > 1 ? "," : "") + text(value);
  return out + "]";
}

RandomType made(Result<TypeDescPtr> type, std::string how) {
  if (!type.ok()) return {nullptr, std::move(how)};
  return {*type, std::move(how)};
}

bool within(std::int64_t value, std::int64_t limit) { return value >= -limit && value <= limit; }

bool acceptable(const RandomType& made, const RandomTypeOptions& options) {
  if (made.type == nullptr) return false;
  const TypeDesc& t = *made.type;
  if (t.size() > options.max_bytes || !within(t.lb(), options.max_span) ||
      !within(t.extent(), options.max_span) || !within(t.true_lb(), options.max_span) ||
      !within(t.true_extent(), options.max_span)) {
    return false;
  }
  return options.overlaps || receivable(expand(t, 1));
}

}  // namespace

std::uint64_t seed_from_environment(std::uint64_t otherwise) {
  const char* given = std::getenv("MAD_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : otherwise;
  std::printf("MAD_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

std::int64_t RandomTypes::between(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
}

RandomType RandomTypes::next(const RandomTypeOptions& options) {
  RandomType out = make(static_cast<int>(between(0, options.max_depth)), options);
  if (options.overlaps || receivable(expand(*out.type, 3))) return out;
  // Elements overlap one another: set them apart.
  const std::int64_t extent = out.type->true_extent() + between(0, 16);
  return made(TypeDesc::resized(out.type->true_lb(), extent, out.type),
              "resized(" + text(out.type->true_lb()) + "," + text(extent) + "," + out.text + ")");
}

RandomType RandomTypes::make(int depth, const RandomTypeOptions& options) {
  if (depth == 0) return leaf(options);
  for (int attempt = 0; attempt < 8; ++attempt) {
    RandomType type = construct(depth, options);
    if (acceptable(type, options)) return type;
  }
  return make(depth - 1, options);
}

RandomType RandomTypes::leaf(const RandomTypeOptions& options) {
  if (!options.typed || between(0, 7) == 0) return basic();
  const auto type = static_cast<BasicType>(between(0, kBasicTypes - 1));
  return made(TypeDesc::basic(type), std::string(info(type).name));
}

RandomType RandomTypes::basic() {
  static constexpr std::int64_t kSizes[] = {1, 1, 2, 3, 4, 4, 5, 8, 8, 8, 12, 16, 16, 24, 40, 64};
  const auto size = static_cast<std::uint64_t>(kSizes[between(0, 15)]);
  if (between(0, 40) == 0) return made(TypeDesc::bytes(0), "bytes(0)");
  return made(TypeDesc::bytes(size), "bytes(" + text(size) + ")");
}

// Mostly near multiples of the child's extent, where runs touch and strides are equal; sometimes
// anywhere.
std::int64_t RandomTypes::displacement(const TypeDesc& child) {
  const std::int64_t unit = child.extent() != 0 ? child.extent() : 4;
  switch (between(0, 3)) {
    case 0:
      return between(-300, 300);
    case 1:
      return between(-6, 12) * unit;
    default:
      return between(0, 40) * unit;
  }
}

RandomType RandomTypes::construct(int depth, const RandomTypeOptions& options) {
  const RandomType child = make(depth - 1, options);
  const TypeDesc& c = *child.type;
  switch (between(0, 9)) {
    case 0: {
      const std::uint64_t count = small(between(0, 4) == 0 ? 20 : 4);
      return made(TypeDesc::contiguous(count, child.type),
                  "contiguous(" + text(count) + "," + child.text + ")");
    }
    case 1: {
      const std::uint64_t count = small(between(0, 4) == 0 ? 40 : 5);
      const std::uint64_t length = small(3);
      const std::int64_t stride = displacement(c);
      return made(TypeDesc::vector(count, length, stride, child.type),
                  "vector(" + text(count) + "," + text(length) + "," + text(stride) + "," +
                      child.text + ")");
    }
    case 2:
      return indexed(child);
    case 3:
      return indexed_block(child);
    case 4:
      return structure(depth, options);
    case 5: {
      const std::int64_t lb = between(0, 1) == 0 ? c.true_lb() : between(-40, 40);
      const std::int64_t extent =
          between(0, 2) == 0 ? between(-100, 100) : c.true_extent() + between(0, 24);
      return made(TypeDesc::resized(lb, extent, child.type),
                  "resized(" + text(lb) + "," + text(extent) + "," + child.text + ")");
    }
    case 6:
      return array(child);
    case 7:
      return long_list(child);
    case 8:
      return by_columns(child);
    default:
      return distributed(child);
  }
}

// A count of at most `high`, seldom 0.
std::uint64_t RandomTypes::small(std::int64_t high) {
  return static_cast<std::uint64_t>(between(between(0, 6) == 0 ? 0 : 1, high));
}

RandomType RandomTypes::indexed(const RandomType& child) {
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  // Now and then blocks go on as the last two did, so that long regular stretches come up.
  std::int64_t regular = 0;
  for (std::uint64_t i = small(between(0, 4) == 0 ? 30 : 5); i > 0; --i) {
    if (regular == 0 && places.size() > 1 && between(0, 5) == 0) regular = between(1, 30);
    if (regular > 0) {
      --regular;
      lengths.push_back(lengths.back());
      places.push_back(2 * places.back() - places[places.size() - 2]);
    } else {
      lengths.push_back(small(3));
      places.push_back(displacement(*child.type));
    }
  }
  const std::string how = "indexed(" + text(lengths) + "," + text(places) + "," + child.text + ")";
  return made(TypeDesc::indexed(std::move(lengths), std::move(places), child.type), how);
}

RandomType RandomTypes::indexed_block(const RandomType& child) {
  const std::uint64_t length = small(3);
  const std::int64_t step = displacement(*child.type), jitter = between(0, 2) == 0 ? 7 : 0;
  std::vector<std::int64_t> places;
  for (std::int64_t i = between(0, between(0, 4) == 0 ? 40 : 6); i > 0; --i) {
    places.push_back(i * step + between(0, jitter));
  }
  const std::string how =
      "indexed_block(" + text(length) + "," + text(places) + "," + child.text + ")";
  return made(TypeDesc::indexed_block(length, std::move(places), child.type), how);
}

RandomType RandomTypes::structure(int depth, const RandomTypeOptions& options) {
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  std::vector<TypeDescPtr> children;
  std::string how = "struct(";
  for (std::uint64_t i = small(4); i > 0; --i) {
    const RandomType field = make(static_cast<int>(between(0, depth - 1)), options);
    lengths.push_back(small(2));
    places.push_back(between(0, 1) == 0 || places.empty()
                         ? displacement(*field.type)
                         : places.back() + children.back()->extent() + between(0, 4));
    children.push_back(field.type);
    how += text(lengths.back()) + "@" + text(places.back()) + ":" + field.text + ",";
  }
  return made(TypeDesc::structure(std::move(lengths), std::move(places), std::move(children)),
              how + ")");
}

// More blocks than copying takes as one chunk, of different lengths, upwards with gaps.
RandomType RandomTypes::long_list(const RandomType& child) {
  const std::int64_t unit = std::max<std::int64_t>(1, std::abs(child.type->extent()));
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  std::int64_t place = between(-500, 500);
  const std::int64_t longest = between(2, 6);
  for (std::int64_t i = between(60, 150); i > 0; --i) {
    lengths.push_back(static_cast<std::uint64_t>(between(1, longest)));
    places.push_back(place);
    place += static_cast<std::int64_t>(lengths.back()) * unit + between(1, 9);
  }
  const std::string how = "indexed(" + text(lengths) + "," + text(places) + "," + child.text + ")";
  return made(TypeDesc::indexed(std::move(lengths), std::move(places), child.type), how);
}

// A matrix by columns, of a few rows or of many.
RandomType RandomTypes::by_columns(const RandomType& child) {
  const std::int64_t step = child.type->true_extent() + between(0, 8);
  const std::int64_t columns = between(1, 12), rows = between(2, 80);
  const std::int64_t stride = (between(0, 3) == 0 ? -1 : 1) * (step * columns + between(0, 200));
  const std::string how = "contiguous(" + text(columns) + ",resized(0," + text(step) + ",vector(" +
                          text(rows) + ",1," + text(stride) + "," + child.text + ")))";
  const auto column = TypeDesc::vector(static_cast<std::uint64_t>(rows), 1, stride, child.type);
  if (!column.ok()) return {nullptr, how};
  const auto element = TypeDesc::resized(0, step, *column);
  if (!element.ok()) return {nullptr, how};
  return made(TypeDesc::contiguous(static_cast<std::uint64_t>(columns), *element), how);
}

RandomType RandomTypes::array(const RandomType& child) {
  std::vector<std::uint64_t> sizes, subsizes, starts;
  for (std::int64_t d = between(1, 3); d > 0; --d) {
    sizes.push_back(static_cast<std::uint64_t>(between(1, 6)));
    subsizes.push_back(static_cast<std::uint64_t>(
        between(between(0, 9) == 0 ? 0 : 1, static_cast<std::int64_t>(sizes.back()))));
    starts.push_back(static_cast<std::uint64_t>(
        between(0, static_cast<std::int64_t>(sizes.back() - subsizes.back()))));
  }
  const bool c_order = between(0, 1) == 0;
  return made(subarray(sizes, subsizes, starts, c_order ? ArrayOrder::kC : ArrayOrder::kFortran,
                       child.type),
              "subarray(" + text(sizes) + "," + text(subsizes) + "," + text(starts) +
                  (c_order ? ",C," : ",F,") + child.text + ")");
}

RandomType RandomTypes::distributed(const RandomType& child) {
  std::vector<DistributedDimension> dimensions;
  int processes = 1;
  std::string how;
  for (std::int64_t i = between(1, 3); i > 0; --i) {
    DistributedDimension d;
    d.size = static_cast<std::uint64_t>(between(1, 9));
    d.distribution = static_cast<Distribution>(between(0, 2));
    if (d.distribution != Distribution::kNone) d.processes = static_cast<int>(between(1, 3));
    if (between(0, 1) == 0) {
      const auto least =
          static_cast<std::int64_t>((d.size + 2) / static_cast<unsigned>(d.processes));
      d.argument = d.distribution == Distribution::kBlock ? least + 1 : between(1, 3);
    }
    processes *= d.processes;
    how += text(d.size) + "/" + text(std::int64_t{d.processes}) + " dist " +
           text(static_cast<std::int64_t>(d.distribution)) + " arg " + text(d.argument) + ",";
    dimensions.push_back(d);
  }
  const int rank = static_cast<int>(between(0, processes - 1));
  const bool c_order = between(0, 1) == 0;
  return made(darray(processes, rank, dimensions, c_order ? ArrayOrder::kC : ArrayOrder::kFortran,
                     child.type),
              "darray(" + text(std::int64_t{rank}) + "," + how + (c_order ? "C," : "F,") +
                  child.text + ")");
}

}  // namespace mad::test
