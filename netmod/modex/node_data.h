// NodeData: what the processes of one node tell all others at the start, in the bytes that travel.
//
// Data has a name, which travels as a hash of 32 bits.  Data of a node is there once; of data that
// each of its processes has, what is the same for all of them at the same place is there once, too,
// so that a process costs only the bytes in which it differs from its neighbours.  The bytes are
//
//   version; number of processes; number of the node's data, and for each: name, size, bytes;
//   number of the processes' names, and for each: name, number of sizes, and for each of these:
//     size; number of ranges of processes that have data of this size (0: all have), and for each
//     range: processes left out before it, processes in it; a bit for each byte, from the lowest
//     bit of the first byte on: whether it differs; the bytes that do not; for each process in turn
//     those that do
//
// Names are 4 bytes, little-endian; numbers and sizes have 7 bits a byte, the low ones first, the
// high bit set where another byte follows.  Every number is the shortest that says it.
#ifndef NETMOD_MODEX_NODE_DATA_H_
#define NETMOD_MODEX_NODE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "madlike/base/status.h"

namespace mad {

using ModexBytes = std::vector<std::byte>;

/// What one process sends.
struct ModexRecord {
  std::map<std::uint32_t, ModexBytes> node;     // data of its node, by name
  std::map<std::uint32_t, ModexBytes> process;  // its own

  /// The record's own bytes, at most kBytes.
  static constexpr std::size_t kBytes = 512;
  /// kInvalidArgument: it takes more than kBytes.
  Result<ModexBytes> encode() const;
  /// `bytes` may be followed by others.  kProtocol: no record.
  static Result<ModexRecord> decode(const std::byte* bytes, std::size_t size);
};

class NodeData {
 public:
  static constexpr unsigned kVersion = 1;
  static constexpr std::size_t kMostBytes = 1 << 24;

  /// The bytes for the records of a node's processes, in their order.  Of the node's data that
  /// several sent the last one's wins.
  static ModexBytes pack(const std::vector<ModexRecord>& records);
  /// kProtocol: they are not what pack() gives.
  static Result<NodeData> parse(ModexBytes bytes);

  std::size_t processes() const { return processes_; }
  /// How many bytes there are, and how many of them are the processes' own.
  std::size_t bytes() const { return bytes_.size(); }
  std::size_t process_bytes() const;

  /// Empty: there is none of this name.
  std::optional<ModexBytes> of_node(std::uint32_t name) const;
  /// Of the process at `place` of the node's, 0 to processes() - 1.
  std::optional<ModexBytes> of_process(std::size_t place, std::uint32_t name) const;
  /// Each value once that processes have, and an empty one if one has none.
  std::vector<ModexBytes> values(std::uint32_t name) const;

 private:
  struct Span {
    std::size_t at = 0, size = 0;  // in bytes_
  };
  using Range = std::pair<std::size_t, std::size_t>;  // first process, processes
  struct Group {
    std::vector<Range> members;
    std::size_t count = 0;              // of members
    std::vector<std::uint16_t> differ;  // places of the bytes that do
    Span mask, common, rows;
    std::size_t size = 0;  // of a value
  };
  class Parser;

  ModexBytes value(const Group& group, std::size_t member) const;

  ModexBytes bytes_;
  std::size_t processes_ = 0;
  std::map<std::uint32_t, Span> node_;
  std::map<std::uint32_t, std::vector<Group>> columns_;
};

}  // namespace mad

#endif  // NETMOD_MODEX_NODE_DATA_H_
