// TcpOutbox: the records of one connection on their way into the socket.
//
// A record goes at once, in one system call, if the socket takes it.  What it does not take waits
// here, in order; the segments of a waiting record stay the caller's.
#ifndef MADLIKE_DRIVER_TCP_OUTBOX_H_
#define MADLIKE_DRIVER_TCP_OUTBOX_H_

#include <array>
#include <cstddef>
#include <vector>

#include "madlike/base/segment.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/tcp/record.h"

namespace mad {

class TcpOutbox {
 public:
  static constexpr std::size_t kDepth = 16;  // records that may wait
  static constexpr std::size_t kMaxSegments = 256;
  /// Records of at most so many bytes are copied when they have to wait.
  static constexpr std::size_t kCopyBytes = 512;

  enum class Outcome {
    kSent,    // the socket has it, or a copy waits: the segments are free
    kWaits,   // finished() follows
    kFull,    // nothing was done
    kBroken,  // the socket takes nothing any more; nothing was done
  };

  /// A record of the caller's that is over, as told by flush() and drop_all().
  struct Finished {
    Completion::Kind kind = Completion::Kind::kSent;
    void* context = nullptr;
  };

  /// `bytes` has at most kMaxSegments segments.
  Outcome send(int socket, const TcpRecord& record, SegmentList bytes, Finished tell);
  /// Sends what waits; appends to `finished`.  Whether anything left.
  bool flush(int socket, std::vector<Finished>* finished);
  /// Nothing waits any more: it will never leave.
  void drop_all(std::vector<Finished>* finished);

  bool empty() const { return count_ == 0; }

 private:
  struct Waiting {
    std::vector<Segment> left;  // from `first` on, not yet taken by the socket
    std::size_t first = 0;
    std::vector<std::byte> own;  // header, and what was copied
    bool tell = false;
    Finished finished;
  };
  Waiting& at(std::size_t i) { return waiting_[(first_ + i) % kDepth]; }
  void add(const TcpRecord& record, SegmentList bytes, std::size_t taken, Finished tell);
  void pop(std::vector<Finished>* finished);
  std::size_t write(int socket, const iovec* segments, std::size_t count);
  std::size_t write_small(int socket, const TcpRecord& record, SegmentList bytes);
  std::size_t write_large(int socket, const TcpRecord& record, SegmentList bytes);

  std::array<Waiting, kDepth> waiting_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool broken_ = false;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_OUTBOX_H_
