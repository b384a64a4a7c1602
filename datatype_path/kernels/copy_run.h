// copy_run: one run whose length may differ from call to call.
#ifndef DATATYPE_PATH_KERNELS_COPY_RUN_H_
#define DATATYPE_PATH_KERNELS_COPY_RUN_H_

#include <cstddef>
#include <cstring>

#include "madlike/base/copy_bytes.h"

namespace mad {

namespace copy_run_internal {

// Both ends of a run of kEnd..2*kEnd bytes.
template <std::size_t kEnd>
inline void two_ends(std::byte* to, const std::byte* from, std::size_t length) {
  std::memcpy(to, from, kEnd);
  std::memcpy(to + (length - kEnd), from + (length - kEnd), kEnd);
}

}  // namespace copy_run_internal

inline void copy_run(std::byte* to, const std::byte* from, std::size_t length) {
  using copy_run_internal::two_ends;
  if (length > 64) {
    copy_bytes(to, from, length);
  } else if (length >= 32) {
    two_ends<32>(to, from, length);
  } else if (length >= 16) {
    two_ends<16>(to, from, length);
  } else if (length >= 8) {
    two_ends<8>(to, from, length);
  } else if (length >= 4) {
    two_ends<4>(to, from, length);
  } else if (length >= 2) {
    two_ends<2>(to, from, length);
  } else if (length == 1) {
    *to = *from;
  }
}

}  // namespace mad

#endif  // DATATYPE_PATH_KERNELS_COPY_RUN_H_
