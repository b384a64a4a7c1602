// The loops among which copy_bytes() chooses.
#ifndef MADLIKE_BASE_COPY_LONG_H_
#define MADLIKE_BASE_COPY_LONG_H_

#include <cstddef>

namespace mad {

/// As memcpy.
using LongCopy = void*(void* to, const void* from, std::size_t bytes);

/// For 32 bytes and more; null where the processor or the build has none.
LongCopy* copy_avx2();

}  // namespace mad

#endif  // MADLIKE_BASE_COPY_LONG_H_
