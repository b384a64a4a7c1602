// ProcessMemory: the memory of another process of this host, read and written through the kernel
// by a descriptor of /proc/PID/mem.
//
// The descriptor is of the process that had the number when it was opened.  Once that has ended, or
// runs another program, nothing is read or written by it, whoever has the number then.
#ifndef MADLIKE_DRIVER_MEMORY_PROCESS_MEMORY_H_
#define MADLIKE_DRIVER_MEMORY_PROCESS_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/driver/memory/process_reader.h"

namespace mad {

class ProcessMemory {
 public:
  static constexpr std::size_t kMostRuns = 64;  // of one call

  /// Only if the word stands where the name says and can be written there, as the word that it is.
  /// kPeerFailed says why not.
  static Result<ProcessMemory> open(const ProcessName& process);
  ~ProcessMemory();
  ProcessMemory(ProcessMemory&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ProcessMemory& operator=(ProcessMemory&&) = delete;

  /// Fills the places, at most kMostRuns, with what is there from `address` on.  kPeerFailed: they
  /// may hold anything.
  Status read(std::uint64_t address, SegmentList places) const;
  /// Writes the runs, at most kMostRuns, one behind the other from `address` on.  kPeerFailed: some
  /// of it may be written.
  Status write(std::uint64_t address, SegmentList runs) const;

 private:
  explicit ProcessMemory(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_MEMORY_PROCESS_MEMORY_H_
