#include "datatype_path/kernels/run_chunks.h"

#include <array>

namespace mad {
namespace {

std::size_t class_of(std::uint32_t length) {
  constexpr std::size_t kLonger = RunChunk::kClasses - 1;
  if (length > kLongestShortRun) return kLonger;
  const auto log2 = static_cast<std::size_t>(31 - __builtin_clz(length));
  return log2 < kLonger ? log2 : kLonger - 1;  // 128 bytes are twice 64
}

// `ends` stands at the end of the run before the chunk's first.
RunChunk chunk_of(const std::uint32_t* ends) {
  RunChunk chunk;
  std::array<std::uint8_t, RunChunk::kRuns> classes;
  for (std::size_t i = 0; i < RunChunk::kRuns; ++i) {
    const std::size_t length_class = class_of(ends[i + 1] - ends[i]);
    classes[i] = static_cast<std::uint8_t>(length_class);
    ++chunk.count[length_class];
  }
  std::array<std::uint8_t, RunChunk::kClasses> next{};
  for (std::size_t c = 1; c < next.size(); ++c) {
    next[c] = static_cast<std::uint8_t>(next[c - 1] + chunk.count[c - 1]);
  }
  for (std::size_t i = 0; i < RunChunk::kRuns; ++i) {
    chunk.order[next[classes[i]]++] = static_cast<std::uint8_t>(i);
  }
  return chunk;
}

}  // namespace

void append_chunks(const std::uint32_t* ends, std::uint64_t runs, std::vector<RunChunk>* out) {
  for (std::uint64_t c = 0; c < whole_chunks(runs); ++c) {
    out->push_back(chunk_of(ends + first_of_chunk(c) - 1));
  }
}

}  // namespace mad
