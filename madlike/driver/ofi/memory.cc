#include "madlike/driver/ofi/memory.h"

#include <rdma/fi_errno.h>

#include <new>

#include "madlike/driver/door/handshake.h"
#include "madlike/driver/libfabric/status.h"

namespace mad {
namespace {

constexpr std::size_t kCacheLine = 64;

std::size_t round_up(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace

ReceivePool::ReceivePool(std::size_t buffers, std::size_t bytes_each)
    : bytes_each_(round_up(bytes_each)),
      slab_(static_cast<std::byte*>(std::aligned_alloc(kCacheLine, buffers * bytes_each_))),
      buffers_(buffers) {
  if (!slab_) throw std::bad_alloc();
  free_.reserve(buffers);
  for (std::size_t i = 0; i < buffers; ++i) {
    buffers_[i].bytes = slab_.get() + i * bytes_each_;
    free_.push_back(&buffers_[i]);
  }
}

void ReceivePool::replenish(fid_ep* shared_context, std::size_t connections) {
  while (posted_ < kPosted + connections && !free_.empty()) {
    ReceiveBuffer* buffer = free_.back();
    const ssize_t error = fi_recv(shared_context, buffer->bytes, bytes_each_, nullptr,
                                  FI_ADDR_UNSPEC, static_cast<OfiContext*>(buffer));
    if (error != 0) return;  // -FI_EAGAIN; the next poll tries again
    free_.pop_back();
    ++posted_;
  }
}

Result<ExposureToken> RegisteredRegions::add(fid_domain* domain, bool virtual_addresses,
                                             Segment memory) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const std::uint64_t wanted = random_number<std::uint64_t>() >> 1;
    fid_mr* region = nullptr;
    const int error = fi_mr_reg(domain, memory.data, memory.size, FI_REMOTE_WRITE, 0, wanted, 0,
                                &region, nullptr);
    if (error == -FI_ENOKEY) continue;  // this key is taken
    if (error != 0) return ofi_status(StatusCode::kNoMemory, "exposing memory", error);
    ExposureToken token;
    token.key = fi_mr_key(region);
    token.address = virtual_addresses ? reinterpret_cast<std::uintptr_t>(memory.data) : 0;
    regions_[token.key].reset(region);
    return token;
  }
  return Status(StatusCode::kNoMemory, "exposing memory: no free key");
}

}  // namespace mad
