// The ofi driver: one engine on a libfabric provider with connected endpoints (FI_EP_MSG).
//
// Every engine listens at one address and keeps at most one connection per peer, set up at the
// first connect() by either side.  docs/adr/0002-ofi-msg-endpoints.md says why connected endpoints.
#ifndef MADLIKE_DRIVER_OFI_OFI_H_
#define MADLIKE_DRIVER_OFI_OFI_H_

#include <chrono>
#include <memory>
#include <string>

#include "madlike/base/status.h"
#include "madlike/driver/door/silence.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/registering.h"

namespace mad {

struct OfiOptions {
  std::string provider = "tcp";  // "tcp", "verbs", or another that fi_info names
  std::string interface;         // network interface, e.g. "lo"; empty: the provider's choice
  std::size_t max_packet_bytes = 65 * 1024;  // 64 KiB of payload and the headers before it
  std::size_t receive_buffers = 64;  // packets of all peers together that are not yet released
  /// On a device: bytes of a write from which on its source is registered rather than copied.
  std::size_t registered_from = kRegisteredFrom;
  /// For tests: the provider is used as one of an RDMA device, which has packets and buffers of its
  /// own number and size (facts.h).
  bool as_device = false;
  /// How long a host may leave a connection attempt, or our acceptance of its own, without any
  /// answer.  A host that answered may take its time: its engine accepts when it is polled.
  std::chrono::milliseconds connect_timeout{10000};
  /// How long a connection that disconnect() ends may stay without its peer taking anything.
  std::chrono::milliseconds close_timeout{10000};
  /// How long closing the driver may wait for peers to take their leave: nobody tells whether a
  /// peer's host has what left, and libfabric drops what came as soon as the peer's own sending
  /// fails.
  std::chrono::milliseconds linger{2000};
  /// On a device: how long the host of a connected peer may leave the question whether it is there,
  /// which is asked every half of the time while nothing else is under way, without an answer.  0:
  /// nobody asks.  What is under way the device gives up by itself.
  std::chrono::milliseconds silence_timeout = Silence::kTimeout;
};

/// Opens the fabric.  kNotFound: no such provider or interface (the sentence lists what there is),
/// or the provider cannot do what the driver needs.
Result<std::unique_ptr<Driver>> open_ofi(const OfiOptions& options);

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_OFI_H_
