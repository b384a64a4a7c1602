#include "madlike/driver/tcp/outbox.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace mad {
namespace {

constexpr std::byte kPadding[TcpRecord::kAlignment] = {};

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
                                   Finished tell) {
  if (broken_) return Outcome::kBroken;
  std::size_t taken = 0;
  if (count_ == 0) {
    taken = record.bytes <= kCopyBytes ? write_small(socket, record, bytes)
                                       : write_large(socket, record, bytes);
    if (broken_) return Outcome::kBroken;
    const std::size_t all = record.header_bytes() + record.bytes + record.padding_bytes();
    if (taken == all) return Outcome::kSent;
  }
  if (count_ == kDepth) return Outcome::kFull;
  add(record, bytes, taken, tell);
  return record.bytes <= kCopyBytes ? Outcome::kSent : Outcome::kWaits;
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

std::size_t TcpOutbox::write_large(int socket, const TcpRecord& record, SegmentList bytes) {
  std::array<std::byte, TcpRecord::kMostBytes> header;
  encode_record(record, header.data());
  std::array<iovec, kMaxSegments + 2> all;  // not cleared, unlike segments
  all[0] = {header.data(), record.header_bytes()};
  std::size_t count = 1;
  for (const Segment& segment : bytes) all[count++] = {segment.data, segment.size};
  const std::size_t padding = record.padding_bytes();
  if (padding > 0) all[count++] = {const_cast<std::byte*>(kPadding), padding};
  return write(socket, all.data(), count);
}

void TcpOutbox::add(const TcpRecord& record, SegmentList bytes, std::size_t taken, Finished tell) {
  Waiting& waiting = at(count_++);
  const bool copy = record.bytes <= kCopyBytes;
  waiting.own.resize(record.header_bytes());
  encode_record(record, waiting.own.data());
  if (copy) {
    for (const Segment& s : bytes) waiting.own.insert(waiting.own.end(), s.begin(), s.end());
  }
  waiting.left.clear();
  waiting.left.push_back({waiting.own.data(), waiting.own.size()});
  if (!copy) waiting.left.insert(waiting.left.end(), bytes.begin(), bytes.end());
  const std::size_t padding = record.padding_bytes();
  if (padding > 0) waiting.left.push_back({const_cast<std::byte*>(kPadding), padding});
  waiting.first = 0;
  skip(waiting.left, &waiting.first, taken);
  waiting.tell = !copy;
  waiting.finished = tell;
}

bool TcpOutbox::flush(int socket, std::vector<Finished>* finished) {
  bool moved = false;
  while (count_ > 0 && !broken_) {
    std::array<iovec, kMaxSegments + 2> all;
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
  return moved;
}

void TcpOutbox::pop(std::vector<Finished>* finished) {
  const Waiting& waiting = at(0);
  if (waiting.tell) finished->push_back(waiting.finished);
  first_ = (first_ + 1) % kDepth;
  --count_;
}

void TcpOutbox::drop_all(std::vector<Finished>* finished) {
  while (count_ > 0) pop(finished);
}

}  // namespace mad
