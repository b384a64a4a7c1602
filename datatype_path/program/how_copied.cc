#include "datatype_path/program/how_copied.h"

#include <cstddef>
#include <cstdint>

#include "datatype_path/kernels/run_chunks.h"

namespace mad {
namespace {

std::string text(std::uint64_t value) { return std::to_string(value); }

std::string several(std::uint64_t count, const char* what) {
  return text(count) + " " + what + (count == 1 ? "" : "s");
}

std::string pieces(const LoopNode& node) {
  return "in " + text(node.piece_count) + " pieces of " + text(node.piece_bytes) + " B";
}

std::string short_body(const LoopNode& node) {
  std::string out = "in " + several(node.step_count, "step");
  if (node.step_count > 1) out += ", " + text(node.trips_at_once) + " trips at a time";
  if (node.row != nullptr) out += "; one trip as a row";
  if (node.pieces != nullptr) out += "; one trip " + pieces(node);
  return out;
}

// "8 B" or, of two moves, "8 + 4 B".
std::string moves(std::uint64_t length) {
  const RunMoves two = moves_of_run(length);
  const auto bytes = [](std::uint8_t place) { return text(std::uint64_t{1} << (place - 1)); };
  return bytes(two.first) + (two.second == 0 ? "" : " + " + bytes(two.second)) + " B";
}

}  // namespace

std::string how_copied(const LoopNode& node) {
  if (!node.leaf()) {
    if (node.tile_trips == 0) return "part by part";
    if (node.tile_rows[0] == 0) return "in tiles of whole lines";
    return "in tiles of " + text(node.tile_trips) + " trips by " + text(node.tile_rows[0]) +
           " rows, unpacked by " + text(node.tile_rows[1]);
  }
  if (node.step_count > 0) return short_body(node);
  if (node.pieces != nullptr) return pieces(node);
  if (node.chunks != nullptr) {
    return "in " + several(whole_chunks(node.parts), "chunk") + " of " + text(RunChunk::kRuns) +
           " runs";
  }
  if (node.uniform == 0) return "run by run";
  return "as a list, " + (node.uniform <= kLongestShortRun ? moves(node.uniform) : "memcpy") +
         " a run";
}

}  // namespace mad
