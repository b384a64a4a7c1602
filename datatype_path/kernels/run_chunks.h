// Lists of mostly short runs of different lengths, in chunks: within a chunk the runs are copied in
// the order of their lengths, so that the processor foresees all but a few branches.
#ifndef DATATYPE_PATH_KERNELS_RUN_CHUNKS_H_
#define DATATYPE_PATH_KERNELS_RUN_CHUNKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datatype_path/kernels/kernels.h"

namespace mad {

/// The chunks of a list begin behind its first run: chunk c holds runs first_of_chunk(c) to
/// first_of_chunk(c + 1), each of which has one before it, whose end says where it starts.
constexpr std::uint64_t first_of_chunk(std::uint64_t chunk) { return 1 + chunk * RunChunk::kRuns; }

/// Chunks of a list of so many runs; what is left behind the last belongs to none.
constexpr std::uint64_t whole_chunks(std::uint64_t runs) {
  return runs == 0 ? 0 : (runs - 1) / RunChunk::kRuns;
}

/// The first chunk that begins at run `run` or later.
constexpr std::uint64_t first_chunk_from(std::uint64_t run) {
  return run <= 1 ? 0 : (run - 2) / RunChunk::kRuns + 1;
}

/// Appends the chunks of a list; `ends[i]`: packed bytes up to the end of run i, none of no bytes.
void append_chunks(const std::uint32_t* ends, std::uint64_t runs, std::vector<RunChunk>* out);

}  // namespace mad

#endif  // DATATYPE_PATH_KERNELS_RUN_CHUNKS_H_
