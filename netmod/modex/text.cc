#include "netmod/modex/text.h"

#include <cstdint>

namespace mad {
namespace {

constexpr std::string_view kCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
constexpr unsigned kBits = 6;
constexpr unsigned kByteBits = 8;

}  // namespace

std::string to_text(const std::byte* bytes, std::size_t size) {
  std::string out;
  out.reserve(text_length(size));
  std::uint32_t held = 0;  // bits that wait, the next ones lowest
  unsigned bits = 0;
  for (std::size_t i = 0; i < size; ++i) {
    held |= std::to_integer<std::uint32_t>(bytes[i]) << bits;
    for (bits += kByteBits; bits >= kBits; bits -= kBits, held >>= kBits) {
      out.push_back(kCharacters[held % kCharacters.size()]);
    }
  }
  if (bits > 0) out.push_back(kCharacters[held]);
  return out;
}

std::optional<std::vector<std::byte>> from_text(std::string_view text) {
  std::vector<std::byte> out;
  out.reserve(text.size() * kBits / kByteBits);
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char each : text) {
    const std::size_t value = kCharacters.find(each);
    if (value == std::string_view::npos) return std::nullopt;
    held |= static_cast<std::uint32_t>(value) << bits;
    bits += kBits;
    if (bits < kByteBits) continue;
    out.push_back(std::byte(held & 0xff));
    held >>= kByteBits;
    bits -= kByteBits;
  }
  const bool is_whole = held == 0 && bits < kBits && text_length(out.size()) == text.size();
  return is_whole ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace mad
