#include "perf/compare/one_sided_cell.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "perf/micro/cell.h"

namespace compare {
namespace {

using micro::Layout;
using micro::TypeBuilder;

constexpr std::int64_t kDouble = sizeof(double);
constexpr std::int64_t kColumn = 16;         // bytes of it in each row
constexpr std::int64_t kRow = 64 * kColumn;  // bytes from one row of the matrix to the next

Layout of_micro(const std::string& name, std::int64_t bytes) {
  const auto& kinds = micro::layout_kinds();
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return name == one.name; });
  if (kind == kinds.end()) throw std::runtime_error("no layout " + name);
  return kind->make(bytes);
}

// Ten blocks with gaps as long, the last with what is left over: RT-0306's, but of doubles.
Layout index_gap(std::int64_t bytes) {
  constexpr int kBlocks = 10;
  const int words = static_cast<int>(bytes / kDouble);
  std::vector<int> lengths(kBlocks, words / kBlocks);
  lengths.back() += words % kBlocks;
  micro::Places places;
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    places.push_back(2 * i * (words / kBlocks) * kDouble);
  }
  Layout layout;
  layout.build = [lengths, places](TypeBuilder& t) {
    return t.indexed(lengths, places, t.basic(micro::Basic::kDouble));
  };
  return layout;
}

// Columns of a matrix, as many as it takes for 1024 rows, and never more than it has.
Layout columns(std::int64_t bytes, std::int64_t most) {
  const auto count = std::clamp<std::int64_t>(bytes / kColumn / 1024, 1, most);
  const std::int64_t rows = bytes / kColumn / count;
  Layout layout;
  layout.count = count;
  layout.build = [rows](TypeBuilder& t) {
    const auto column = t.vector(rows, kColumn / kDouble, kRow, t.basic(micro::Basic::kDouble));
    return t.resized(0, kColumn, column);
  };
  return layout;
}

Layout layout_of(const std::string& name, std::int64_t bytes) {
  if (name == "index-gap") return index_gap(bytes);
  if (name == "column16") return columns(bytes, kRow / kColumn);
  if (name == "rows-64") return of_micro(name, bytes);
  throw std::runtime_error("no holes " + name);
}

Side side_of(Layout layout) {
  Side side;
  side.expansion = micro::expand(layout);
  side.layout = std::move(layout);
  side.step = side.expansion.high();
  return side;
}

Operation operation_of(const std::string& name) {
  static constexpr std::pair<const char*, Operation> kOperations[] = {
      {"put", Operation::kPut},
      {"get", Operation::kGet},
      {"accumulate", Operation::kAccumulate},
      {"fetch_and_op", Operation::kFetchAndOp},
      {"compare_and_swap", Operation::kCompareAndSwap}};
  for (const auto& one : kOperations) {
    if (name == one.first) return one.second;
  }
  throw std::runtime_error("no operation " + name);
}

// The places of the doubles in the order in which they are moved.
std::vector<std::int64_t> places_of(const Side& side) {
  std::vector<std::int64_t> places;
  side.expansion.for_each_run([&](std::int64_t place, std::int64_t, std::int64_t bytes) {
    for (std::int64_t at = 0; at < bytes; at += kDouble) places.push_back((place + at) / kDouble);
  });
  return places;
}

}  // namespace

std::int64_t Side::doubles() const { return ((slots - 1) * step + expansion.high()) / kDouble; }

OneSidedCell::OneSidedCell(const std::string& name, std::int64_t bytes, int window)
    : window_(window) {
  if (window < 1) throw std::runtime_error("no operation in flight");
  if (bytes <= 0 || bytes % kDouble != 0) throw std::runtime_error("bytes are no doubles");
  const auto colon = name.find(':');
  if (name == "columns-fence") {
    if (bytes % kColumn != 0 || window_ > kRow / kColumn)
      throw std::runtime_error("no such column");
    fence_ = true;
    origin_ = side_of(columns(bytes, 1));
    origin_.step = kColumn;
    origin_.slots = window_;
    target_ = origin_;
    return;
  }
  std::string what = name.substr(0, colon);
  if (what == "put-fence") {
    fence_ = true;
    what = "put";
  }
  operation_ = operation_of(what);
  if (counts() && (bytes != kDouble || colon != std::string::npos)) {
    throw std::runtime_error(what + " has 8 bytes");
  }
  origin_ = target_ = side_of(of_micro("contiguous", bytes));
  if (colon != std::string::npos) {
    const auto second = name.find(':', colon + 1);
    const std::string where = second == std::string::npos ? "" : name.substr(second + 1);
    const Side holes = side_of(layout_of(name.substr(colon + 1, second - colon - 1), bytes));
    if (where != "origin" && where != "target" && where != "both") {
      throw std::runtime_error("no side " + where);
    }
    if (holes.expansion.bytes() != bytes) throw std::runtime_error("no such size with these holes");
    if (where != "target") origin_ = holes;
    if (where != "origin") target_ = holes;
  }
  const std::int64_t fit = kSlotsBytes / std::max(origin_.step, target_.step);
  origin_.slots = target_.slots =
      static_cast<int>(std::clamp<std::int64_t>(fit, 1, counts() ? 1 : window_));
}

std::vector<double> OneSidedCell::result(std::vector<double> memory,
                                         const std::vector<double>& source, int windows) const {
  const Side& from = operation_ == Operation::kGet ? target_ : origin_;
  const Side& to = operation_ == Operation::kGet ? origin_ : target_;
  const std::vector<std::int64_t> sources = places_of(from), places = places_of(to);
  for (int slot = 0; slot < to.slots; ++slot) {
    const int uses = windows * (window_ / to.slots + (slot < window_ % to.slots ? 1 : 0));
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto out = static_cast<std::size_t>(sources[i] + slot * from.step / kDouble);
      const auto in = static_cast<std::size_t>(places[i] + slot * to.step / kDouble);
      memory[in] =
          operation_ == Operation::kAccumulate ? memory[in] + uses * source[out] : source[out];
    }
  }
  return memory;
}

std::vector<double> numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<double> all(static_cast<std::size_t>(count));
  // The middle of a 64-bit product: Fibonacci hashing (Knuth, TAOCP 3, 6.4).
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<double>(((i + 1) * (2 * seed + 1) * 0x9E3779B97F4A7C15U) >> 44);
  }
  return all;
}

}  // namespace compare
