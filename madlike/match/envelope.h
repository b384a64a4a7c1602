// Envelope: by what a message finds its receive.
#ifndef MADLIKE_MATCH_ENVELOPE_H_
#define MADLIKE_MATCH_ENVELOPE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "madlike/base/segment.h"

namespace mad {

/// What a receive does not care about; no message has it.
inline constexpr std::int32_t kAnySource = -1;
inline constexpr std::int32_t kAnyTag = -1;

/// Of a message, which has a source and a tag, both 0 or more; or of a receive, which may take any.
struct Envelope {
  Envelope() = default;
  constexpr Envelope(std::uint32_t its_context, std::int32_t its_source, std::int32_t its_tag)
      : source(its_source), tag(its_tag), context(its_context) {}

  // Source and tag come first, as one word: so they are written, and read when one is copied.
  std::int32_t source = 0;
  std::int32_t tag = 0;
  std::uint32_t context = 0;  // messages of one never match receives of another

  friend bool operator==(const Envelope& a, const Envelope& b) {
    return a.context == b.context && a.source == b.source && a.tag == b.tag;
  }
  friend bool operator!=(const Envelope& a, const Envelope& b) { return !(a == b); }
};

/// Whether a receive of `wanted` takes a message of `sent`.
inline bool matches(const Envelope& wanted, const Envelope& sent) {
  return wanted.context == sent.context &&
         (wanted.source == kAnySource || wanted.source == sent.source) &&
         (wanted.tag == kAnyTag || wanted.tag == sent.tag);
}

/// The longest value that a message takes along.
inline constexpr std::size_t kMostValueBytes = 256;

/// What a tagged message says of itself.  The value is in its sender's memory, or in the packet.
struct TaggedHeader {
  TaggedHeader() = default;
  constexpr TaggedHeader(const Envelope& its_envelope, std::uint8_t its_flags,
                         bool is_noted = false, std::array<std::uint64_t, 2> its_note = {})
      : note(its_note), envelope(its_envelope), flags(its_flags), noted(is_noted) {}

  // What is nothing most of the time comes first, of whole words, so that compilers clear no word
  // by two stores: a load of all of it would wait until both have left for the cache.
  Segment value{};  // what its user has it take along, at most kMostValueBytes; size 0: nothing
  std::array<std::uint64_t, 2>
      note{};  // what its user adds to it, e.g. of what type its payload is
  Envelope envelope;
  std::uint8_t flags = 0;  // its user's
  bool noted = false;      // whether there is a note
};

}  // namespace mad

#endif  // MADLIKE_MATCH_ENVELOPE_H_
