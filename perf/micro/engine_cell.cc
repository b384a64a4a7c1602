#include "perf/micro/engine_cell.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace micro {

EngineCell::EngineCell(const LayoutKind& kind, std::int64_t payload)
    : cell_(kind, payload), plain_(kind.plain), program_(compile(*describe(cell_.layout()))) {}

void EngineCell::verify() const {
  constexpr unsigned kSeed = 306;
  cell_.verify_pack("engine", [this] { pack(); });
  cell_.verify_unpack("engine", [this] { unpack(); });
  cell_.verify_pack("engine with CRC32C", [this] { pack_checked(); });
  cell_.verify_pack("engine through the caches", [this] { pack_cached(); });
  cell_.verify_pack("engine's fragments", [this] { pack_fragments(); });
  cell_.verify_pack("engine's fragments out of order", [this] { pack_out_of_order(kSeed); });
  verify_loop("loop", cell_.layout().loop);
  if (plain_ != nullptr) verify_loop("plain loop", *plain_);
}

void EngineCell::pack_out_of_order(unsigned seed) const {
  constexpr std::size_t kCuts = 15;
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> ends = {bytes()};
  for (std::size_t i = 0; i < kCuts; ++i) {
    ends.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bytes())));
  }
  std::sort(ends.begin(), ends.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> fragments;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) fragments.emplace_back(std::exchange(begin, end), end);
  std::shuffle(fragments.begin(), fragments.end(), random);
  mad::Cursor cursor = this->cursor();
  for (const auto& [from, to] : fragments) {
    cursor.seek(static_cast<std::uint64_t>(from));
    cursor.pack(cell_.packed() + from, static_cast<std::size_t>(to - from));
  }
}

void EngineCell::verify_loop(const char* who, const Loop& loop) const {
  cell_.verify_pack(who, [&] { pack(loop); });
  cell_.verify_unpack(who, [&] { unpack(loop); });
}

}  // namespace micro
