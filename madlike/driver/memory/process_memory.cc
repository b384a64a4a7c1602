#include "madlike/driver/memory/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace mad {
namespace {

// `count` is what the system call returned, of `bytes`.
Status moved(ssize_t count, std::size_t bytes) {
  if (count == static_cast<ssize_t>(bytes)) return {};
  return {StatusCode::kPeerFailed, count < 0    ? std::strerror(errno)
                                   : count == 0 ? "the process has ended"
                                                : "only a part can be reached"};
}

// Runs as the kernel moves them fastest: it takes a page's bytes at a time, counted from where a
// run begins, and looks up the pages there that they are of, which is one instead of two if they
// begin where it does.
class Pieces {
 public:
  Pieces(std::uint64_t address, SegmentList runs) {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (const Segment& run : runs) {
      const std::size_t before = (page - address % page) % page;
      const std::size_t first = run.size > 2 * page ? before : 0;
      if (first > 0) add(run.begin(), first);
      add(run.begin() + first, run.size - first);
      address += run.size;
    }
  }
  const iovec* data() const { return pieces_.data(); }
  int count() const { return count_; }

 private:
  void add(std::byte* data, std::size_t size) {
    pieces_[static_cast<std::size_t>(count_++)] = {data, size};
  }

  std::array<iovec, 2 * ProcessMemory::kMostRuns> pieces_;
  int count_ = 0;
};

}  // namespace

Result<ProcessMemory> ProcessMemory::open(const ProcessName& process) {
  const std::string path = "/proc/" + std::to_string(process.pid) + "/mem";
  const auto failed = [&path](const std::string& why) {
    return Status(StatusCode::kPeerFailed, path + ": " + why);
  };
  ProcessMemory memory(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (memory.fd_ < 0) return failed(std::strerror(errno));
  std::uint64_t word = ~process.word;
  const Segment segment{&word, sizeof(word)};
  Status status = memory.read(process.address, {&segment, 1});
  if (status.ok() && word != process.word) return failed("it is another process");
  // What others do at the same time writes the same.
  if (status.ok()) status = memory.write(process.address, {&segment, 1});
  if (!status.ok()) return failed(std::string(status.message()));
  return memory;
}

ProcessMemory::~ProcessMemory() {
  if (fd_ >= 0) close(fd_);
}

Status ProcessMemory::read(std::uint64_t address, SegmentList places) const {
  const Pieces pieces(address, places);
  return moved(preadv(fd_, pieces.data(), pieces.count(), static_cast<off_t>(address)),
               places.bytes());
}

Status ProcessMemory::write(std::uint64_t address, SegmentList runs) const {
  const Pieces pieces(address, runs);
  return moved(pwritev(fd_, pieces.data(), pieces.count(), static_cast<off_t>(address)),
               runs.bytes());
}

}  // namespace mad
