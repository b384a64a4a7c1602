#include "datatype_path/kernels/stream_out.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mad {

#if defined(__SSE2__)

namespace {

constexpr std::size_t kWord = sizeof(__m128i);
constexpr std::size_t kWordsAtOnce = 4;  // a cache line's

__m128i load(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

}  // namespace

void stream_out(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % kWord;
  const std::size_t head = past == 0 ? 0 : std::min(bytes, kWord - past);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; bytes - at >= kWordsAtOnce * kWord; at += kWordsAtOnce * kWord) {
    __m128i words[kWordsAtOnce];
    for (std::size_t i = 0; i < kWordsAtOnce; ++i) words[i] = load(from + at + i * kWord);
    auto* const out = reinterpret_cast<__m128i*>(to + at);
    for (std::size_t i = 0; i < kWordsAtOnce; ++i) _mm_stream_si128(out + i, words[i]);
  }
  std::memcpy(to + at, from + at, bytes - at);
}

void stream_out_done() { _mm_sfence(); }

#else

void stream_out(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
void stream_out_done() {}

#endif

}  // namespace mad
