// UcxRegistration: memory that a device may read or write, while it exists.
#ifndef MADLIKE_DRIVER_UCX_REGISTRATION_H_
#define MADLIKE_DRIVER_UCX_REGISTRATION_H_

#include <uct/api/uct.h>

#include <cstdint>
#include <utility>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/driver/ucx/domain.h"

namespace mad {

/// Locked in memory: it counts against the process's limit (ulimit -l).
class UcxRegistration {
 public:
  enum class For { kReading, kPeersWriting };
  /// Of nothing.
  UcxRegistration() = default;
  /// kNoMemory: the system or the device does not take so much more, or not this memory.
  static Result<UcxRegistration> of(const UcxDomain& domain, Segment memory, For use);

  UcxRegistration(UcxRegistration&& other) noexcept
      : md_(std::exchange(other.md_, nullptr)), memory_(other.memory_) {}
  UcxRegistration& operator=(UcxRegistration&& other) noexcept {
    std::swap(md_, other.md_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~UcxRegistration() {
    if (md_ != nullptr) (void)uct_md_mem_dereg(md_, memory_);
  }

  explicit operator bool() const { return md_ != nullptr; }
  uct_mem_h handle() const { return memory_; }
  /// By which a peer names it.
  Result<std::uint64_t> key() const;

 private:
  uct_md_h md_ = nullptr;
  uct_mem_h memory_ = UCT_MEM_HANDLE_NULL;
};

/// A peer's key, for UCX's calls.
class UcxPeerKey {
 public:
  UcxPeerKey() = default;
  /// kProtocol: UCX does not know such a key.
  static Result<UcxPeerKey> of(const UcxDomain& domain, std::uint64_t key);
  UcxPeerKey(UcxPeerKey&& other) noexcept
      : component_(std::exchange(other.component_, nullptr)), bundle_(other.bundle_) {}
  UcxPeerKey& operator=(UcxPeerKey&& other) noexcept {
    std::swap(component_, other.component_);
    std::swap(bundle_, other.bundle_);
    return *this;
  }
  ~UcxPeerKey() {
    if (component_ != nullptr) (void)uct_rkey_release(component_, &bundle_);
  }
  uct_rkey_t get() const { return bundle_.rkey; }

 private:
  uct_component_h component_ = nullptr;
  uct_rkey_bundle_t bundle_{};
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_REGISTRATION_H_
