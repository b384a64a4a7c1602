#include "madlike/driver/memory/exposures.h"

#include <utility>

namespace mad {

std::size_t Exposure::runs(std::uint64_t offset, std::size_t bytes, Segment* out,
                           std::size_t capacity) const {
  if (scattered != nullptr) return scattered->runs(first + offset, bytes, out, capacity);
  *out = {run.begin() + offset, bytes};
  return 1;
}

ExposureToken Exposures::add(const Exposure& exposure) {
  const ExposureToken token{0, next_key_++};
  if (spare_.empty()) {
    table_.try_emplace(token.key, exposure);
  } else {
    auto& spare = spare_.back();
    spare.key() = token.key;
    spare.mapped() = exposure;
    table_.insert(std::move(spare));
    spare_.pop_back();
  }
  return token;
}

bool Exposures::remove(std::uint64_t key) {
  auto removed = table_.extract(key);
  if (removed.empty()) return false;
  spare_.push_back(std::move(removed));
  return true;
}

const Exposure* Exposures::find(ConnectionId connection, std::uint64_t key) const {
  const auto found = table_.find(key);
  if (found == table_.end() || found->second.connection != connection) return nullptr;
  return &found->second;
}

}  // namespace mad
