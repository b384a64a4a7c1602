// The ucx driver: one engine on UCX's transports (UCT), shared memory, RDMA devices and TCP.
//
// Every engine listens at one address and keeps at most one connection per peer, set up at the
// first connect() by either side.  A connection has a TCP socket of our own, the control socket,
// over which the two agree on a transport and notice each other's end; packets go over that
// transport as active messages.  docs/ucx_protocol.md describes the bytes.
#ifndef MADLIKE_DRIVER_UCX_UCX_H_
#define MADLIKE_DRIVER_UCX_UCX_H_

#include <memory>
#include <string>

#include "madlike/base/status.h"
#include "madlike/driver/door/options.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/registering.h"

namespace mad {

/// Closing waits `linger` for peers over tcp to take their leave, as nobody tells whether their
/// hosts have what left, and UCX drops what came as soon as the peer's own sending fails; for
/// others 2 s at most.
struct UcxOptions : DoorDriverOptions {
  bool posix = true;  // shared memory, with peers of this host
  bool tcp = true;    // with all others
  /// UCX's names of transports of an RDMA device, empty: none: one of reliable connections
  /// ("rc_verbs", "rc_mlx5", "dc_mlx5"), and one of datagrams ("ud_verbs", "ud_mlx5").  Beside tcp
  /// they may be missing.
  std::string rc, ud;
  /// Long writes between processes of this host by the kernel's copy, where it may be used; else as
  /// without.  Not without posix.
  bool cma = false;
  std::size_t least_pull_bytes = 32 * 1024;  // writes that go by cma
  /// Bytes of a write to a peer on an RDMA device from which on its source is registered rather
  /// than copied.
  std::size_t registered_from = kRegisteredFrom;
  /// Bytes of a packet in shared memory and what we put before it; at most 61440.  The same on all
  /// engines.  Every peer of this host takes 24 times as much of /dev/shm.
  std::size_t posix_segment_bytes = 40 * 1024;
  std::size_t receive_chunks = 64;  // of 64 KiB; copied packets that are not released stand in them
};

/// Opens the fabric.  kNotFound: no such interface, or a transport that UCX does not have here (the
/// sentence says which).
Result<std::unique_ptr<Driver>> open_ucx(const UcxOptions& options);

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_UCX_H_
