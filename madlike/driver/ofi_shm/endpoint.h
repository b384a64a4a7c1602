// OfiShmEndpoint: one side of a connection in libfabric: an endpoint that only one peer sends to,
// with a queue of completions and a table of addresses of its own.
//
// One for all peers would not do: what a peer that died left unfinished stands in the way of what
// was sent to others later (smr_progress_resp()), and memory of its own is never let go.
#ifndef MADLIKE_DRIVER_OFI_SHM_ENDPOINT_H_
#define MADLIKE_DRIVER_OFI_SHM_ENDPOINT_H_

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/driver/libfabric/fid.h"
#include "madlike/driver/ofi_shm/fabric.h"
#include "madlike/driver/ofi_shm/name.h"

namespace mad {

class OfiShmEndpoint {
 public:
  static constexpr std::size_t kMostSegments = 4;
  static constexpr std::size_t kMostInjected = 4096;  // bytes
  // Of a packet: more would take several rounds, which nobody is called for.
  static constexpr std::size_t kMostBytes = 64 * 32 * 1024;

  /// Opens one whose memory is the new object of shared memory `name`.  kNoMemory: there is no room
  /// for it (the sentence says how much it takes); kAgain, only `in_turn`: another engine of this
  /// host makes memory just now, and may need the room that there seems to be.
  static Result<std::unique_ptr<OfiShmEndpoint>> open(std::shared_ptr<OfiShmFabric> fabric,
                                                      const std::string& name,
                                                      std::size_t max_packet_bytes,
                                                      bool in_turn = true);

  /// Of its memory; whoever has opened that needs it no more.
  OfiShmName& name() { return name_; }
  /// Opens the peer's memory.  kUnreachable: it is not to be found here.
  Status reach(const std::string& peer);

  // What follows is libfabric's, which a side calls inside of the gate only.  0, or a negative
  // error number of libfabric's; -FI_EAGAIN: nothing was done.

  ssize_t send(SegmentList packet, std::uint64_t data);
  /// Of at most kMostInjected bytes, which are free at once; no completion follows.
  ssize_t inject(SegmentList packet, std::uint64_t data);
  ssize_t receive(void* bytes, std::size_t size, void* context);
  /// Completions, or a negative error number.
  ssize_t read(fi_cq_data_entry* entries, std::size_t count);
  /// The completion behind -FI_EAVAIL.
  fi_cq_err_entry read_error();

 private:
  OfiShmEndpoint(std::shared_ptr<OfiShmFabric> fabric, const std::string& name)
      : fabric_(std::move(fabric)), name_(name) {}
  Status open_objects();
  ssize_t post(SegmentList packet, std::uint64_t data, std::uint64_t flags);

  // In the order of opening: members are destroyed in the opposite one.
  std::shared_ptr<OfiShmFabric> fabric_;
  OfiShmName name_;
  FidPtr<fid_cq> completions_;
  FidPtr<fid_av> addresses_;
  FidPtr<fid_ep> endpoint_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_SHM_ENDPOINT_H_
