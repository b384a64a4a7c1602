#include "madlike/driver/tcp/outbox.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace mad {
namespace {

constexpr std::byte kPadding[TcpRecord::kAlignment] = {};

// A filler record of `bytes`, its header among them.
Segment filler(std::size_t bytes) {
  using Filler = std::array<std::byte, TcpRecord::kLine>;
  static const auto all = [] {
    std::array<Filler, TcpRecord::kLine / TcpRecord::kAlignment> fillers{};
    for (std::size_t i = 1; i < fillers.size(); ++i) {
      TcpRecord record;
      record.kind = TcpRecord::Kind::kFiller;
      record.bytes = static_cast<std::uint32_t>(i * TcpRecord::kAlignment - TcpRecord::kFixedBytes);
      encode_record(record, fillers[i].data());
    }
    return fillers;
  }();
  return {const_cast<std::byte*>(all[bytes / TcpRecord::kAlignment].data()), bytes};
}

// Segments of a record that are not the caller's: its header, padding, two fillers.
constexpr std::size_t kMaxOwn = 4;

constexpr std::uint32_t kMostSkips = 7;

// What the system needs, about, for a packet beside its bytes, and what is left to it for what it
// does with the stream.
constexpr std::size_t kSystemBytes = 2048, kReserve = 16 * 1024;
// A buffer may shrink when the system lacks memory.
constexpr std::size_t kMostRoom = 256 * 1024;

// Bytes that may be queued there before the socket is full; 0 also where the system does not tell.
std::size_t room_of(int socket) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t size = sizeof(memory);
  if (getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory.data(), &size) != 0) return 0;
  const std::uint32_t all = memory[SK_MEMINFO_SNDBUF], used = memory[SK_MEMINFO_WMEM_QUEUED];
  return all > used + kReserve ? std::min<std::size_t>(all - used - kReserve, kMostRoom) : 0;
}

// Memory that each place of an outbox keeps; of more than that the whole outbox keeps one.
constexpr std::size_t kRestingBytes = 1024;

// Takes the first `taken` bytes off `segments`, from `first` on.
void skip(std::vector<Segment>& segments, std::size_t* first, std::size_t taken) {
  while (*first < segments.size()) {
    Segment& segment = segments[*first];
    if (taken < segment.size) {
      segment = {segment.begin() + taken, segment.size - taken};
      return;
    }
    taken -= segment.size;
    ++*first;
  }
}

}  // namespace

// How many bytes the socket took; 0: none now, or broken_.
std::size_t TcpOutbox::write(int socket, const iovec* segments, std::size_t count) {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  room_ = 0;
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(segments);
  message.msg_iovlen = count;
  for (;;) {
    const ssize_t taken = count == 1 ? ::send(socket, segments->iov_base, segments->iov_len, kFlags)
                                     : sendmsg(socket, &message, kFlags);
    if (taken >= 0) return static_cast<std::size_t>(taken);
    if (errno == EINTR) continue;
    broken_ = errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS && errno != ENOMEM;
    return 0;
  }
}

TcpOutbox::Outcome TcpOutbox::send(int socket, const TcpRecord& record, SegmentList bytes,
                                   const Finished* tell) {
  if (broken_) return Outcome::kBroken;
  const bool keep = corked_ && record.bytes <= kCorkBytes;
  const bool copy = record.bytes <= (keep ? kCorkCopyBytes : kCopyBytes);
  const Fill fill = copy ? Fill{} : fill_for(record, bytes);
  const std::size_t all = fill.before + record.all_bytes() + fill.behind;
  std::size_t taken = 0;
  if (count_ == 0 && !keep) {
    taken = copy ? write_small(socket, record, bytes) : write_large(socket, record, fill, bytes);
    if (broken_) return Outcome::kBroken;
    full_ = taken < all;
  }
  const bool waits = count_ > 0 || keep || full_;
  if (waits) {
    Waiting* const waiting =
        copy ? add_copy(record, bytes, taken) : add_reference(record, fill, bytes, taken);
    if (waiting == nullptr) return Outcome::kFull;
    if (tell != nullptr) waiting->finished.push_back(*tell);
    if (!full_) kept_ += all;
    if (!full_ && copy) copied_ += all;
  }
  return waits ? Outcome::kWaits : Outcome::kSent;
}

// The socket is asked rarely: what it had room for when it was asked last, less what it got since.
bool TcpOutbox::has_room(int socket, std::size_t bytes) {
  if (room_ < bytes) room_ = room_of(socket);
  return room_ >= bytes;
}

// What waits goes first, and what is corked is to leave together.  A message is complete when its
// packet has left this process (ADR 27): so there has to be room for all of it.
TcpOutbox::Outcome TcpOutbox::send_short(int socket, PacketWriter& packet) {
  static_assert(kShortBytes % TcpRecord::kAlignment == 0, "padding has room");
  if (broken_) return Outcome::kBroken;
  TcpRecord record;
  record.bytes = static_cast<std::uint32_t>(packet.left());
  const std::size_t all = record.all_bytes();
  if (count_ > 0 || corked_ || !has_room(socket, all + kSystemBytes)) return Outcome::kFull;
  alignas(TcpRecord::kAlignment) std::array<std::byte, TcpRecord::kFixedBytes + kShortBytes>
      whole;  // not cleared
  encode_record(record, whole.data());
  Segment bytes{whole.data() + TcpRecord::kFixedBytes, record.bytes};
  packet.write(bytes);
  std::memset(bytes.end(), 0, record.padding_bytes());
  const iovec one{whole.data(), all};
  const std::size_t room = room_ - all - kSystemBytes;
  const std::size_t taken = write(socket, &one, 1);
  if (broken_) return Outcome::kBroken;
  if (taken == 0) return Outcome::kFull;
  room_ = room;
  if (taken == all) return Outcome::kSent;
  full_ = true;
  try {
    add_copy(record, {&bytes, 1}, taken);
  } catch (const std::bad_alloc&) {  // nothing can follow half a record
    broken_ = true;
    return Outcome::kBroken;
  }
  return Outcome::kWaits;
}

// The first long segment is to be as far from the begin of a line in what is sent as in memory, and
// what is sent then ends with a line.  A segment that fillers cannot move there gets none.
TcpOutbox::Fill TcpOutbox::fill_for(const TcpRecord& record, SegmentList bytes) {
  std::size_t ahead = record.header_bytes();
  for (const Segment& segment : bytes) {
    if (segment.size < kLongSegment) {
      ahead += segment.size;
      continue;
    }
    Fill fill;
    fill.before = (reinterpret_cast<std::uintptr_t>(segment.data) - ahead) % TcpRecord::kLine;
    if (fill.before % TcpRecord::kAlignment != 0) break;
    const std::size_t over = (fill.before + record.all_bytes()) % TcpRecord::kLine;
    fill.behind = (TcpRecord::kLine - over) % TcpRecord::kLine;
    return fill;
  }
  return {};
}

// One buffer costs the system less than a list of them.
std::size_t TcpOutbox::write_small(int socket, const TcpRecord& record, SegmentList bytes) {
  std::array<std::byte, TcpRecord::kMostBytes + kCopyBytes + TcpRecord::kAlignment> whole;
  encode_record(record, whole.data());
  std::byte* end = whole.data() + record.header_bytes();
  for (const Segment& segment : bytes) {
    if (segment.size > 0) std::memcpy(end, segment.data, segment.size);
    end += segment.size;
  }
  std::memset(end, 0, record.padding_bytes());
  end += record.padding_bytes();
  const iovec one{whole.data(), static_cast<std::size_t>(end - whole.data())};
  return write(socket, &one, 1);
}

std::size_t TcpOutbox::write_large(int socket, const TcpRecord& record, const Fill& fill,
                                   SegmentList bytes) {
  std::array<std::byte, TcpRecord::kMostBytes> header;
  encode_record(record, header.data());
  std::array<iovec, kMaxOwn + kMaxSegments> all;  // not cleared, unlike segments
  std::size_t count = 0;
  const auto append = [&](const Segment& segment) {
    if (segment.size > 0) all[count++] = {segment.data, segment.size};
  };
  append(filler(fill.before));
  append({header.data(), record.header_bytes()});
  for (const Segment& segment : bytes) append(segment);
  append({const_cast<std::byte*>(kPadding), record.padding_bytes()});
  append(filler(fill.behind));
  return write(socket, all.data(), count);
}

TcpOutbox::Waiting& TcpOutbox::add(bool copies) {
  Waiting& waiting = at(count_++);
  waiting.left.clear();
  waiting.first = 0;
  waiting.copies = copies;
  return waiting;
}

// Behind the copies that wait last, if they do; null: nothing more may wait.
TcpOutbox::Waiting* TcpOutbox::add_copy(const TcpRecord& record, SegmentList bytes,
                                        std::size_t taken) {
  const std::size_t size = record.all_bytes();
  const bool joins =
      count_ > 0 && at(count_ - 1).copies && at(count_ - 1).own.size() + size <= kBatchBytes;
  if (!joins && count_ == kDepth) return nullptr;
  Waiting& waiting = joins ? at(count_ - 1) : add(true);
  std::vector<std::byte>& own = waiting.own;
  if (!joins && spare_.capacity() > own.capacity()) own.swap(spare_);
  if (!joins) own.clear();
  const std::size_t start = own.size();
  if (joins) taken = start - waiting.left.front().size;
  own.resize(start + size);
  encode_record(record, own.data() + start);
  std::byte* end = own.data() + start + record.header_bytes();
  for (const Segment& segment : bytes) {
    if (segment.size > 0) std::memcpy(end, segment.data, segment.size);
    end += segment.size;
  }
  waiting.left.assign(1, {own.data() + taken, own.size() - taken});
  return &waiting;
}

TcpOutbox::Waiting* TcpOutbox::add_reference(const TcpRecord& record, const Fill& fill,
                                             SegmentList bytes, std::size_t taken) {
  if (count_ == kDepth) return nullptr;
  Waiting& waiting = add(false);
  waiting.own.resize(record.header_bytes());
  encode_record(record, waiting.own.data());
  waiting.left.reserve(kMaxOwn + bytes.count);
  const auto append = [&](const Segment& segment) {
    if (segment.size > 0) waiting.left.push_back(segment);
  };
  append(filler(fill.before));
  append({waiting.own.data(), waiting.own.size()});
  for (const Segment& segment : bytes) append(segment);
  append({const_cast<std::byte*>(kPadding), record.padding_bytes()});
  append(filler(fill.behind));
  skip(waiting.left, &waiting.first, taken);
  return &waiting;
}

bool TcpOutbox::due() {
  if (skips_left_ == 0) return true;
  --skips_left_;
  return false;
}

bool TcpOutbox::flush(int socket, std::vector<Finished>* finished) {
  kept_ = copied_ = 0;
  bool moved = false;
  while (count_ > 0 && !broken_) {
    std::array<iovec, kMaxOwn + kMaxSegments> all;
    std::size_t count = 0, offered = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const Waiting& waiting = at(i);
      const std::size_t left = waiting.left.size() - waiting.first;
      if (count + left > all.size()) break;  // the first one fits
      for (std::size_t s = waiting.first; s < waiting.left.size(); ++s) {
        offered += waiting.left[s].size;
        all[count++] = {waiting.left[s].data, waiting.left[s].size};
      }
    }
    std::size_t taken = write(socket, all.data(), count);
    moved = moved || taken > 0;
    const bool all_taken = taken == offered;
    full_ = !all_taken;
    while (count_ > 0) {
      Waiting& waiting = at(0);
      std::size_t left = 0;
      for (std::size_t s = waiting.first; s < waiting.left.size(); ++s) {
        left += waiting.left[s].size;
      }
      skip(waiting.left, &waiting.first, std::min(taken, left));
      if (taken < left) break;
      taken -= left;
      pop(finished);
      if (taken == 0) break;
    }
    if (!all_taken) break;
  }
  skips_ = moved ? 0 : std::min(2 * skips_ + 1, kMostSkips);
  skips_left_ = skips_;
  return moved;
}

void TcpOutbox::pop(std::vector<Finished>* finished) {
  Waiting& waiting = at(0);
  finished->insert(finished->end(), waiting.finished.begin(), waiting.finished.end());
  waiting.finished.clear();
  if (waiting.own.capacity() > kRestingBytes) {
    if (waiting.own.capacity() > spare_.capacity()) waiting.own.swap(spare_);
    if (waiting.own.capacity() > kRestingBytes) std::vector<std::byte>().swap(waiting.own);
  }
  first_ = (first_ + 1) % kDepth;
  --count_;
}

void TcpOutbox::drop_all(std::vector<Finished>* finished) {
  while (count_ > 0) pop(finished);
}

}  // namespace mad
