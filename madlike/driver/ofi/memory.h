// Memory of an ofi engine: the receive buffers of all its peers, and the regions its peers may
// write.
#ifndef MADLIKE_DRIVER_OFI_MEMORY_H_
#define MADLIKE_DRIVER_OFI_MEMORY_H_

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <vector>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/ofi/fabric.h"

namespace mad {

/// What every context given to libfabric begins with: completions tell operations from buffers by
/// it.
struct OfiContext {
  enum class Role : std::uint32_t { kReceive, kOperation };
  explicit OfiContext(Role role) : role(role) {}
  Role role;
};

struct ReceiveBuffer : OfiContext {
  ReceiveBuffer() : OfiContext(Role::kReceive) {}
  std::byte* bytes = nullptr;
};

/// A fixed number of receive buffers in one slab.  A few of them stand in the shared receive
/// context; the buffer released last is posted first, so that few buffers stay in use and in the
/// cache.  A provider takes a buffer when the head of a packet has come, so a peer that stops in
/// the middle of one keeps it: there is one more for each connection, as far as there are buffers.
class ReceivePool {
 public:
  ReceivePool(std::size_t buffers, std::size_t bytes_each);

  /// Posts free buffers until enough of them stand ready for so many connections.
  void replenish(fid_ep* shared_context, std::size_t connections);
  /// A buffer that was posted has come back with a packet, or with an error.
  void taken() { --posted_; }
  /// Its packet has been dealt with.
  void give_back(ReceiveBuffer* buffer) { free_.push_back(buffer); }

  std::size_t buffer_bytes() const { return bytes_each_; }

 private:
  // Ready at once, besides those that stalled peers keep.  More than a poll usually brings; few
  // enough that their memory stays in the cache.
  static constexpr std::size_t kPosted = 16;

  struct Freer {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::size_t bytes_each_;
  std::unique_ptr<std::byte, Freer> slab_;
  std::vector<ReceiveBuffer> buffers_;
  std::vector<ReceiveBuffer*> free_;
  std::size_t posted_ = 0;
};

/// Regions that peers may write, by key.  Keys are not guessable: a peer writes only where it was
/// told.
class RegisteredRegions {
 public:
  Result<ExposureToken> add(fid_domain* domain, bool virtual_addresses, Segment memory);
  /// False when there is no such region.
  bool remove(const ExposureToken& token) { return regions_.erase(token.key) > 0; }

 private:
  std::unordered_map<std::uint64_t, FidPtr<fid_mr>> regions_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_MEMORY_H_
