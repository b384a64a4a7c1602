// Memory of an ofi engine: the buffers that its packets are received into and sent from, and the
// regions its peers may write.
#ifndef MADLIKE_DRIVER_OFI_MEMORY_H_
#define MADLIKE_DRIVER_OFI_MEMORY_H_

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <vector>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/libfabric/fid.h"
#include "madlike/driver/ofi/facts.h"

namespace mad {

/// What every context given to libfabric begins with: completions tell operations from buffers by
/// it.  Some providers keep words of their own in its first bytes (FI_CONTEXT, FI_CONTEXT2).
struct OfiContext {
  enum class Role : std::uint32_t { kReceive, kOperation };
  explicit OfiContext(Role role) : role(role) {}
  fi_context2 of_provider;
  Role role;
};
static_assert(offsetof(OfiContext, of_provider) == 0);

struct ReceiveBuffer : OfiContext {
  ReceiveBuffer() : OfiContext(Role::kReceive) {}
  std::byte* bytes = nullptr;
  ConnectionId connection = 0;  // whose packet it holds, while the caller or an order has it
  std::size_t size = 0;         // bytes of it, while it waits for its turn
};

/// A number of buffers of one packet each in one run of memory, which is registered where a device
/// reads or writes it.
class Slab {
 public:
  /// Throws std::bad_alloc, or std::runtime_error with the sentence of a registration that failed.
  Slab(fid_domain& domain, const OfiFacts& facts, std::size_t buffers, std::uint64_t access);

  std::byte* at(std::size_t buffer) const { return bytes_.get() + buffer * bytes_each_; }
  std::size_t bytes_each() const { return bytes_each_; }
  /// What the provider wants with it; null: nothing.
  void* descriptor() const { return descriptor_; }

 private:
  struct Freer {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::size_t bytes_each_;
  std::unique_ptr<std::byte, Freer> bytes_;
  FidPtr<fid_mr> region_;
  void* descriptor_ = nullptr;
};

/// A fixed number of receive buffers.  Some or all of them stand in the shared receive context; the
/// buffer released last is posted first, so that few buffers stay in use and in the cache.  A
/// provider may take a buffer when the head of a packet has come, so a peer that stops in the
/// middle of one keeps it: there is one more for each connection, as far as there are buffers.
class ReceivePool {
 public:
  ReceivePool(fid_domain& domain, const OfiFacts& facts);

  /// Posts free buffers until enough of them stand ready for so many connections; to a shared
  /// context, or to an endpoint that all peers send to.
  void replenish(fid_ep* receives, std::size_t connections);
  /// A buffer that was posted has come back with a packet, or with an error.
  void taken() { --posted_; }
  /// Its packet has been dealt with.
  void give_back(ReceiveBuffer* buffer) { free_.push_back(buffer); }

 private:
  Slab slab_;
  std::size_t ready_;
  std::vector<ReceiveBuffer> buffers_;
  std::vector<ReceiveBuffer*> free_;
  std::size_t posted_ = 0;
};

/// The buffers that packets to a device's peers stand in until the device has sent them.
class SendPool {
 public:
  SendPool(fid_domain& domain, const OfiFacts& facts);

  /// Null: all are in use.
  std::byte* take();
  void give_back(std::byte* buffer) { free_.push_back(buffer); }
  void* descriptor() const { return slab_ ? slab_->descriptor() : nullptr; }

 private:
  std::unique_ptr<Slab> slab_;
  std::vector<std::byte*> free_;
};

/// Regions that peers may write, or read, by key.  Keys are not guessable where the provider lets
/// us choose them: a peer comes only where it was told.
class RegisteredRegions {
 public:
  /// `access`: FI_REMOTE_WRITE, FI_REMOTE_READ.
  Result<ExposureToken> add(fid_domain& domain, const OfiFacts& facts, Segment memory,
                            std::uint64_t access);
  /// False when there is no such region.
  bool remove(const ExposureToken& token) { return regions_.erase(token.key) > 0; }
  /// Bytes of all of them.
  std::size_t bytes() const;

 private:
  struct Region {
    FidPtr<fid_mr> object;
    std::size_t bytes = 0;
  };
  std::unordered_map<std::uint64_t, Region> regions_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_MEMORY_H_
