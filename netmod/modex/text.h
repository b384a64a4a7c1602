// Bytes as the text that launchers carry: their values hold neither zeros, spaces nor separators,
// and are no longer than so many characters.
#ifndef NETMOD_MODEX_TEXT_H_
#define NETMOD_MODEX_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mad {

/// 6 bits a character, of A-Z a-z 0-9 + -, without padding.
std::string to_text(const std::byte* bytes, std::size_t size);
/// Empty: not what to_text() gives.
std::optional<std::vector<std::byte>> from_text(std::string_view text);

/// The characters of to_text() for so many bytes.
inline constexpr std::size_t text_length(std::size_t bytes) { return (bytes * 8 + 5) / 6; }

}  // namespace mad

#endif  // NETMOD_MODEX_TEXT_H_
