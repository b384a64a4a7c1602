// TcpOutbox: the records of one connection on their way into the socket.
//
// A record goes at once, in one system call, if the socket takes it.  What it does not take waits
// here, in order; the segments of a waiting record stay the caller's, but for short ones, which are
// copied one behind the other.  A cork keeps records here even if the socket would take them, so
// that one system call carries many.  A record is over when the socket has all of it, copied or
// not, or of copies that leave together, when it has all of these.
#ifndef MADLIKE_DRIVER_TCP_OUTBOX_H_
#define MADLIKE_DRIVER_TCP_OUTBOX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "madlike/base/segment.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/tcp/record.h"

namespace mad {

class TcpOutbox {
 public:
  static constexpr std::size_t kDepth = 16;  // records that may wait
  static constexpr std::size_t kMaxSegments = 256;
  /// Records of send() of at most so many bytes are copied when they have to wait.
  static constexpr std::size_t kCopyBytes = 512;
  /// Packets of at most so many bytes send_short() takes: payload of 8 KiB with its headers.
  static constexpr std::size_t kShortBytes = 8 * 1024 + 64;
  /// Records of at most so many bytes a cork keeps back: payload of 64 KiB with its headers.
  static constexpr std::size_t kCorkBytes = 65 * 1024;
  /// Of these, records of at most so many bytes are copied; the segments of others stay in place.
  static constexpr std::size_t kCorkCopyBytes = 8 * 1024;
  /// A record is filled up around segments of at least so many bytes
  /// (docs/adr/0040-lines-of-the-stream.md).
  static constexpr std::size_t kLongSegment = 4 * 1024;
  /// Bytes that a cork keeps back.
  static constexpr std::size_t kKeptBytes = 128 * 1024;
  /// Of them, bytes that are copied; as many as are copied to one place.
  static constexpr std::size_t kBatchBytes = 32 * 1024;

  enum class Outcome {
    kSent,    // the socket has it: the segments are free
    kWaits,   // Finished follows; segments that are copied are free
    kFull,    // nothing was done
    kBroken,  // the socket takes nothing any more; nothing was done
  };

  /// A record of the caller's that is over, as told by flush() and drop_all().
  struct Finished {
    Completion::Kind kind = Completion::Kind::kSent;
    void* context = nullptr;
  };

  /// `bytes` has at most kMaxSegments segments.  `tell` is told if it waits; null: nobody is.
  Outcome send(int socket, const TcpRecord& record, SegmentList bytes, const Finished* tell);
  /// A packet of at most kShortBytes.  kFull: nothing left, though it may have been written;
  /// kWaits: the system took a part after all, and the rest waits, of which nobody is told;
  /// kBroken: it may have been written.
  Outcome send_short(int socket, PacketWriter& packet);
  void cork() { corked_ = true; }
  void uncork() { corked_ = false; }
  /// What waits should be flushed, for it has not met a full socket yet.
  bool ripe() const {
    const bool enough = kept_ >= kKeptBytes || copied_ >= kBatchBytes || count_ == kDepth;
    return count_ > 0 && !full_ && (!corked_ || enough);
  }
  /// Whether a turn of progress should flush.  Of a socket that takes nothing, turn after turn, one
  /// turn in eight: its peer computes, and each attempt is a system call that others wait for.
  bool due();
  /// The next turn is due.
  void hurry() { skips_left_ = 0; }
  /// Sends what waits; appends to `finished`.  Whether anything left.
  bool flush(int socket, std::vector<Finished>* finished);
  /// Nothing waits any more: it will never leave.
  void drop_all(std::vector<Finished>* finished);

  bool empty() const { return count_ == 0; }

 private:
  // Bytes of the fillers around a record, each a multiple of TcpRecord::kAlignment below a line.
  struct Fill {
    std::size_t before = 0;
    std::size_t behind = 0;
  };
  struct Waiting {
    std::vector<Segment> left;  // from `first` on, not yet taken by the socket
    std::size_t first = 0;
    std::vector<std::byte> own;      // a header, or copies of whole records
    bool copies = false;             // the latter: more may join them
    std::vector<Finished> finished;  // records that are over with it
  };
  Waiting& at(std::size_t i) { return waiting_[(first_ + i) % kDepth]; }
  Waiting& add(bool copies);
  Waiting* add_copy(const TcpRecord& record, SegmentList bytes, std::size_t taken);
  Waiting* add_reference(const TcpRecord& record, const Fill& fill, SegmentList bytes,
                         std::size_t taken);
  static Fill fill_for(const TcpRecord& record, SegmentList bytes);
  void pop(std::vector<Finished>* finished);
  bool has_room(int socket, std::size_t bytes);
  std::size_t write(int socket, const iovec* segments, std::size_t count);
  std::size_t write_small(int socket, const TcpRecord& record, SegmentList bytes);
  std::size_t write_large(int socket, const TcpRecord& record, const Fill& fill, SegmentList bytes);

  std::array<Waiting, kDepth> waiting_;
  std::vector<std::byte> spare_;  // memory for copies, so that a batch allocates none
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool corked_ = false;
  std::size_t room_ = 0;    // bytes of system memory that the socket has for what is sent, at least
  bool full_ = false;       // the socket took less than it was offered
  std::size_t kept_ = 0;    // bytes added while it was not full
  std::size_t copied_ = 0;  // of them, copied
  std::uint32_t skips_ = 0;  // turns between the last two attempts that moved nothing
  std::uint32_t skips_left_ = 0;
  bool broken_ = false;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_OUTBOX_H_
