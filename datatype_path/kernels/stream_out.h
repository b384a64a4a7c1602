// stream_out: bytes written past the caches.
#ifndef DATATYPE_PATH_KERNELS_STREAM_OUT_H_
#define DATATYPE_PATH_KERNELS_STREAM_OUT_H_

#include <cstddef>

namespace mad {

/// Whether stream_out() goes past the caches on this kind of processor.
#if defined(__SSE2__)
constexpr bool kStreamsOut = true;
#else
constexpr bool kStreamsOut = false;
#endif

/// Copies like memcpy.  Whole 16-byte words of `to` are written without reading their lines first
/// and are not in any cache afterwards; they are seen by other threads in order only after
/// stream_out_done().
void stream_out(std::byte* to, const std::byte* from, std::size_t bytes);
void stream_out_done();

}  // namespace mad

#endif  // DATATYPE_PATH_KERNELS_STREAM_OUT_H_
