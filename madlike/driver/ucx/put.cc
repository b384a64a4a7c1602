#include "madlike/driver/ucx/put.h"

#include <algorithm>
#include <utility>

#include "madlike/base/copy_bytes.h"
#include "madlike/driver/memory/registering.h"

namespace mad {
Result<UcxPut> UcxPut::of(const UcxLane& lane, SegmentList content, std::uint64_t key,
                          std::uint64_t address, std::size_t registered_from) {
  UcxPut put;
  auto unpacked = UcxPeerKey::of(lane.domain(), key);
  if (!unpacked.ok()) return unpacked.status();
  put.key_ = std::move(*unpacked);
  put.address_ = address;
  for (const Segment& each : content) {
    if (each.size > 0) put.segments_[put.end_++] = each;
  }
  put.most_copied_ = lane.limits().max_put_copied;
  if (is_worth_registering(content, registered_from)) {
    auto source =
        UcxRegistration::of(lane.domain(), span_of(content), UcxRegistration::For::kReading);
    if (source.ok()) put.source_ = std::move(*source);  // else it is copied
  }
  return put;
}

ucs_status_t UcxPut::go_on(uct_ep_h endpoint, uct_completion_t* done) {
  if (!source_) return copy(endpoint);
  std::array<uct_iov_t, kMostSegments> list;
  for (std::size_t i = 0; i < end_; ++i) {
    list[i] = {segments_[i].data, segments_[i].size, source_.handle(), 0, 1};
  }
  return uct_ep_put_zcopy(endpoint, list.data(), end_, address_, key_.get(), done);
}

ucs_status_t UcxPut::copy(uct_ep_h endpoint) {
  while (first_ < end_) {
    const ssize_t copied = uct_ep_put_bcopy(endpoint, pack, this, address_, key_.get());
    if (copied < 0) return static_cast<ucs_status_t>(copied);
    take(static_cast<std::size_t>(copied));
  }
  return UCS_OK;
}

// Copies what is next, and takes none of it: take() does.
std::size_t UcxPut::pack(void* out, void* self) {
  const auto& put = *static_cast<const UcxPut*>(self);
  std::size_t copied = 0;
  for (std::size_t i = put.first_; i < put.end_ && copied < put.most_copied_; ++i) {
    const std::size_t bytes = std::min(put.segments_[i].size, put.most_copied_ - copied);
    copy_bytes(static_cast<std::byte*>(out) + copied, put.segments_[i].data, bytes);
    copied += bytes;
  }
  return copied;
}

void UcxPut::take(std::size_t bytes) {
  address_ += bytes;
  while (bytes > 0) {
    Segment& next = segments_[first_];
    const std::size_t taken = std::min(bytes, next.size);
    next = {next.begin() + taken, next.size - taken};
    bytes -= taken;
    if (next.size == 0) ++first_;
  }
}

}  // namespace mad
