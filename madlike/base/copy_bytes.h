// copy_bytes: memcpy of payload.
#ifndef MADLIKE_BASE_COPY_BYTES_H_
#define MADLIKE_BASE_COPY_BYTES_H_

#include <cstddef>
#include <cstring>

namespace mad {

/// What is longer C libraries may copy by the processor's string instruction.
constexpr std::size_t kLongCopy = 2048;

/// For more than kLongCopy bytes.
void copy_long(void* to, const void* from, std::size_t bytes);

/// Copies like memcpy, but not by the string instruction of processors where that is slow.  Both
/// may be null where there is nothing to copy.
[[gnu::always_inline]] inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > kLongCopy) {
    copy_long(to, from, bytes);
  } else if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace mad

#endif  // MADLIKE_BASE_COPY_BYTES_H_
