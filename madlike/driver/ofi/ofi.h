// The ofi drivers: one engine on a libfabric provider, by its connected endpoints (FI_EP_MSG), or
// by one for reliable datagrams (FI_EP_RDM) where it has no others.
//
// Every engine listens at one address and keeps at most one connection per peer, set up at the
// first connect() by either side.  docs/adr/0002-ofi-msg-endpoints.md says why connected endpoints,
// docs/adr/0046-datagrams-of-libfabric.md how the others are used.
#ifndef MADLIKE_DRIVER_OFI_OFI_H_
#define MADLIKE_DRIVER_OFI_OFI_H_

#include <memory>
#include <string>

#include "madlike/base/status.h"
#include "madlike/driver/door/options.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/registering.h"

namespace mad {

/// `close_timeout` and `linger` are those of a DoorDriver also where no door is used: nobody tells
/// whether a peer's host has what left, and libfabric drops what came as soon as the peer's own
/// sending fails.
struct OfiOptions : DoorDriverOptions {
  /// "tcp", "verbs", or another that fi_info names, with '+' for ';' between layers, as in
  /// "tcp+ofi_rxm".
  std::string provider = "tcp";
  std::size_t max_packet_bytes = 65 * 1024;  // 64 KiB of payload and the headers before it
  std::size_t receive_buffers = 64;  // packets of all peers together that are not yet released
  /// On a device: bytes of a write from which on its source is registered rather than copied.
  std::size_t registered_from = kRegisteredFrom;
  /// For tests: the provider is used as one of an RDMA device, which has packets and buffers of its
  /// own number and size, and sends what it has without being polled (facts.h).
  bool as_device = false;
};

/// Opens the fabric.  kNotFound: no such provider or interface (the sentence lists what there is),
/// or the provider cannot do what a driver needs.
Result<std::unique_ptr<Driver>> open_ofi(const OfiOptions& options);

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_OFI_H_
