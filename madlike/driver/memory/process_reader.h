// ProcessReader: the memory of another process of this host, read through the kernel
// (process_vm_readv()).
#ifndef MADLIKE_DRIVER_MEMORY_PROCESS_READER_H_
#define MADLIKE_DRIVER_MEMORY_PROCESS_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"

namespace mad {

/// A process, known by a word in its memory that nobody guesses: no other with its number has it
/// there, nor has its own next program.  What was read of it counts if the word stands there
/// afterwards.
struct ProcessName {
  std::uint64_t pid = 0;  // 0: none
  std::uint64_t address = 0;
  std::uint64_t word = 0;
};

/// Whether this process may read that one's memory.  kPeerFailed says why not.
Status check_readable(const ProcessName& process);
/// Whether the process of this number is that one still: its word stands where it stood.
/// kPeerFailed: it is another, or is gone, or has taken the word back.
Status check_is_still(const ProcessName& process);

/// Reads runs of a process's memory, from the first byte to the last, to wherever they belong.
class ProcessReader {
 public:
  static constexpr std::size_t kMostRuns = 256;

  /// From now on the runs of the process with that number, at most kMostRuns.
  void begin(std::uint64_t pid, SegmentList runs);
  /// Fills the places, at most kMostRuns, with the bytes that are next; there are as many.  Whose
  /// they are it does not know.  kPeerFailed: they cannot be read; then the places may hold
  /// anything.
  Status read(SegmentList places);

 private:
  class Runs {
   public:
    void set(SegmentList runs);
    /// The first `bytes` of others.
    void set_front(const Runs& others, std::size_t bytes);
    void add(Segment run) { all_[end_++] = run; }
    void take(std::size_t bytes);
    SegmentList left() const { return {all_.data() + first_, end_ - first_}; }

   private:
    std::array<Segment, kMostRuns> all_;
    std::size_t first_ = 0, end_ = 0;
  };
  std::uint64_t pid_ = 0;
  Runs runs_;
  Runs to_, from_;  // of one read()
};

/// Runs of a peer's memory, as the peer lists them in a message: Segments, one behind the other.
class ListedRuns {
 public:
  /// False: no engine sends such a list: it has no runs or too many, ends within one, or its runs
  /// have more than `most_bytes` together.
  [[nodiscard]] bool take(Segment list, std::size_t most_bytes);
  SegmentList runs() const { return {runs_.data(), count_}; }

 private:
  std::array<Segment, ProcessReader::kMostRuns> runs_;
  std::size_t count_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_MEMORY_PROCESS_READER_H_
