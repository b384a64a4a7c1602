#include "madlike/driver/memory/process_reader.h"

#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace mad {
namespace {

Status unreadable(std::uint64_t pid, const std::string& why) {
  return {StatusCode::kPeerFailed,
          "the memory of process " + std::to_string(pid) + " cannot be read: " + why};
}

// Less than all of it at once: the kernel takes at most 2 GiB, and stops where memory cannot be
// read.
ssize_t read_some(std::uint64_t pid, SegmentList to, SegmentList from) {
  return process_vm_readv(static_cast<pid_t>(pid), reinterpret_cast<const iovec*>(to.first),
                          to.count, reinterpret_cast<const iovec*>(from.first), from.count, 0);
}

}  // namespace

Status check_is_still(const ProcessName& process) {
  std::uint64_t word = ~process.word;
  const Segment to{&word, sizeof(word)};
  const Segment from{reinterpret_cast<void*>(process.address), sizeof(word)};
  const ssize_t count = read_some(process.pid, {&to, 1}, {&from, 1});
  if (count < 0) return unreadable(process.pid, std::strerror(errno));
  if (word == process.word) return {};
  return unreadable(process.pid, "it is another process, or wants that no more");
}

Status check_readable(const ProcessName& process) {
  Status read = check_is_still(process);
  if (read.ok()) return read;
  return {read.code(), std::string(read.message()) +
                           "; both need the same user, one pid namespace and leave to trace each "
                           "other (kernel.yama.ptrace_scope 0, no seccomp filter against it)"};
}

void ProcessReader::Runs::set(SegmentList runs) {
  std::copy(runs.begin(), runs.end(), all_.begin());
  first_ = 0;
  end_ = runs.count;
}

void ProcessReader::Runs::set_front(const Runs& others, std::size_t bytes) {
  first_ = end_ = 0;
  for (const Segment& run : others.left()) {
    if (bytes == 0) return;
    add({run.data, std::min(run.size, bytes)});
    bytes -= all_[end_ - 1].size;
  }
}

void ProcessReader::Runs::take(std::size_t bytes) {
  while (first_ < end_ && bytes >= all_[first_].size) bytes -= all_[first_++].size;
  if (bytes > 0) all_[first_] = {all_[first_].begin() + bytes, all_[first_].size - bytes};
}

void ProcessReader::begin(std::uint64_t pid, SegmentList runs) {
  pid_ = pid;
  runs_.set(runs);
}

Status ProcessReader::read(SegmentList places) {
  const std::size_t bytes = places.bytes();
  to_.set(places);
  from_.set_front(runs_, bytes);
  runs_.take(bytes);
  for (std::size_t left = bytes; left > 0;) {
    const ssize_t count = read_some(pid_, to_.left(), from_.left());
    if (count <= 0) return unreadable(pid_, std::strerror(count < 0 ? errno : EFAULT));
    to_.take(static_cast<std::size_t>(count));
    from_.take(static_cast<std::size_t>(count));
    left -= static_cast<std::size_t>(count);
  }
  return {};
}

bool ListedRuns::take(Segment list, std::size_t most_bytes) {
  count_ = list.size / sizeof(Segment);
  if (count_ == 0 || count_ > runs_.size() || list.size % sizeof(Segment) != 0) return false;
  std::memcpy(runs_.data(), list.data, list.size);
  for (const Segment& run : runs()) {
    if (run.size > most_bytes) return false;
    most_bytes -= run.size;
  }
  return true;
}

}  // namespace mad
