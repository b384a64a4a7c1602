#include "perf/compare/exchange.h"

#include <cstring>

namespace compare {
namespace {

constexpr std::uint64_t sent_seed(std::uint64_t stamp, int rank) {
  return 4 * stamp + static_cast<std::uint64_t>(rank);
}
constexpr std::uint64_t untouched_seed(std::uint64_t stamp, int rank) {
  return sent_seed(stamp, rank) + 2;
}

}  // namespace

Exchange::Exchange(const micro::LayoutKind& kind, std::int64_t bytes)
    : layout_(kind.make(bytes)),
      expansion_(micro::expand(layout_)),
      low_(expansion_.low()),
      out_(expansion_.high() - low_),
      in_(expansion_.high() - low_) {}

void Exchange::prepare(std::uint64_t stamp, int rank) const {
  micro::fill(out_, sent_seed(stamp, rank));
  micro::fill(in_, untouched_seed(stamp, rank));
}

std::string Exchange::verify(std::uint64_t stamp, int rank) const {
  const micro::Memory sent(in_.size()), should(in_.size());
  micro::fill(sent, sent_seed(stamp, 1 - rank));
  micro::fill(should, untouched_seed(stamp, rank));
  expansion_.for_each_run([&](std::int64_t place, std::int64_t, std::int64_t bytes) {
    std::memcpy(should.data() + place - low_, sent.data() + place - low_,
                static_cast<std::size_t>(bytes));
  });
  for (std::int64_t i = 0; i < in_.size(); ++i) {
    if (in_.data()[i] == should.data()[i]) continue;
    return "byte " + std::to_string(i + low_) + " of what rank " + std::to_string(rank) +
           " received is wrong";
  }
  return {};
}

}  // namespace compare
