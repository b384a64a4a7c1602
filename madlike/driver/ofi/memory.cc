#include "madlike/driver/ofi/memory.h"

#include <rdma/fi_errno.h>
#include <sys/resource.h>

#include <new>
#include <stdexcept>
#include <string>

#include "madlike/driver/door/handshake.h"
#include "madlike/driver/libfabric/status.h"
#include "madlike/driver/ofi/header.h"

namespace mad {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kPage = 4096;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::string registering(std::size_t bytes) {
  rlimit locked{};
  (void)getrlimit(RLIMIT_MEMLOCK, &locked);
  const std::string limit =
      locked.rlim_cur == RLIM_INFINITY ? "any" : std::to_string(locked.rlim_cur);
  return "registering " + std::to_string(bytes) + " bytes (this process may lock " + limit +
         ", see ulimit -l)";
}

}  // namespace

Slab::Slab(fid_domain& domain, const OfiFacts& facts, std::size_t buffers, std::uint64_t access)
    : bytes_each_(round_up(facts.packet_bytes + OfiHeader::kBytes, kCacheLine)),
      bytes_(static_cast<std::byte*>(
          std::aligned_alloc(kPage, round_up(buffers * bytes_each_, kPage)))) {
  if (!bytes_) throw std::bad_alloc();
  if (!facts.registers) return;
  fid_mr* region = nullptr;
  const std::size_t bytes = buffers * bytes_each_;
  const int error = fi_mr_reg(&domain, bytes_.get(), bytes, access, 0,
                              random_number<std::uint64_t>() >> 1, 0, &region, nullptr);
  if (error != 0) {
    const Status status = ofi_status(StatusCode::kNoMemory, registering(bytes), error);
    throw std::runtime_error(std::string(status.message()));
  }
  region_.reset(region);
  descriptor_ = fi_mr_desc(region);
}

ReceivePool::ReceivePool(fid_domain& domain, const OfiFacts& facts)
    : slab_(domain, facts, facts.receive_buffers, FI_RECV),
      ready_(facts.receives_ready),
      buffers_(facts.receive_buffers) {
  free_.reserve(buffers_.size());
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    buffers_[i].bytes = slab_.at(i);
    free_.push_back(&buffers_[i]);
  }
}

void ReceivePool::replenish(fid_ep* receives, std::size_t connections) {
  while (posted_ < ready_ + connections && !free_.empty()) {
    ReceiveBuffer* buffer = free_.back();
    const ssize_t error = fi_recv(receives, buffer->bytes, slab_.bytes_each(), slab_.descriptor(),
                                  FI_ADDR_UNSPEC, static_cast<OfiContext*>(buffer));
    if (error != 0) return;  // -FI_EAGAIN; the next poll tries again
    free_.pop_back();
    ++posted_;
  }
}

SendPool::SendPool(fid_domain& domain, const OfiFacts& facts) {
  if (facts.send_buffers == 0) return;
  slab_ = std::make_unique<Slab>(domain, facts, facts.send_buffers, FI_SEND | FI_WRITE | FI_READ);
  free_.reserve(facts.send_buffers);
  for (std::size_t i = 0; i < facts.send_buffers; ++i) free_.push_back(slab_->at(i));
}

std::byte* SendPool::take() {
  if (free_.empty()) return nullptr;
  std::byte* const buffer = free_.back();
  free_.pop_back();
  return buffer;
}

Result<ExposureToken> RegisteredRegions::add(fid_domain& domain, const OfiFacts& facts,
                                             Segment memory, std::uint64_t access) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const std::uint64_t wanted = random_number<std::uint64_t>() >> 1;
    fid_mr* region = nullptr;
    const int error =
        fi_mr_reg(&domain, memory.data, memory.size, access, 0, wanted, 0, &region, nullptr);
    if (error == -FI_ENOKEY) continue;  // this key is taken
    if (error != 0) return ofi_status(StatusCode::kNoMemory, "exposing memory", error);
    ExposureToken token;
    token.key = fi_mr_key(region);
    token.address = facts.virtual_addresses ? reinterpret_cast<std::uintptr_t>(memory.data) : 0;
    regions_[token.key] = {FidPtr<fid_mr>(region), memory.size};
    return token;
  }
  return Status(StatusCode::kNoMemory, "exposing memory: no free key");
}

std::size_t RegisteredRegions::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, region] : regions_) bytes += region.bytes;
  return bytes;
}

}  // namespace mad
