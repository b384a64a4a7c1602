// The loop that copy_bytes() has beside memcpy().
#ifndef MADLIKE_BASE_COPY_LONG_H_
#define MADLIKE_BASE_COPY_LONG_H_

#include <cstddef>

namespace mad {

using LongCopy = void(std::byte* to, const std::byte* from, std::size_t bytes);

/// For 32 bytes and more, which do not overlap; null where the processor or the build has none.
LongCopy* copy_avx2();

}  // namespace mad

#endif  // MADLIKE_BASE_COPY_LONG_H_
