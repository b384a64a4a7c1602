// The ofi_shm driver: one engine on libfabric's provider shm, shared memory of one host.
//
// Every engine listens at one address and keeps at most one connection per peer, set up at the
// first connect() by either side.  A connection has a TCP socket of our own, the control socket,
// over which the two agree and notice each other's end, and on each side an endpoint of its own,
// so that a peer that dies takes nobody else with it.  docs/ofi_shm_protocol.md describes the
// bytes.
#ifndef MADLIKE_DRIVER_OFI_SHM_OFI_SHM_H_
#define MADLIKE_DRIVER_OFI_SHM_OFI_SHM_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "madlike/base/status.h"
#include "madlike/driver/door/secret.h"
#include "madlike/driver/driver.h"

namespace mad {

struct OfiShmOptions {
  std::string interface;  // network interface of the door, e.g. "lo"; empty: the first that others
                          // can reach
  std::optional<DoorSecret> secret;  // of the engine's address; empty: a new one
  /// The same on all engines.
  std::size_t max_packet_bytes = 65 * 1024;  // 64 KiB of payload and the headers before it
  std::size_t receive_buffers = 64;  // packets of all peers together that are not yet released
  /// How long a host may leave a connection attempt without any answer.  A host that answered may
  /// take its time: its engine accepts when it is polled.  Time without poll() does not count.
  std::chrono::milliseconds connect_timeout{10000};
  /// How long who connected to us may take to prove that it knows our address.
  std::chrono::milliseconds stranger_timeout{60000};
  /// How long a connection that disconnect() ends may stay without its peer taking anything.
  std::chrono::milliseconds close_timeout{10000};
  /// How long closing the driver may wait for what disconnect() still has to send.
  std::chrono::milliseconds linger{2000};
};

/// Opens the fabric.  kNotFound: no such interface, or libfabric has no provider shm here.
Result<std::unique_ptr<Driver>> open_ofi_shm(const OfiShmOptions& options);

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_SHM_OFI_SHM_H_
