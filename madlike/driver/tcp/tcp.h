// The tcp driver: one engine on this host's own TCP sockets.
//
// Every engine listens at one address and keeps at most one connection per peer, set up at the
// first connect() by either side.  A packet is one system call: its header and all its segments are
// gathered from where they are.  Remote writes go from the socket straight into exposed memory.
// docs/tcp_protocol.md describes the bytes; docs/adr/0012-own-tcp-driver.md says why there is one.
#ifndef MADLIKE_DRIVER_TCP_TCP_H_
#define MADLIKE_DRIVER_TCP_TCP_H_

#include <memory>

#include "madlike/base/status.h"
#include "madlike/driver/door/options.h"
#include "madlike/driver/driver.h"

namespace mad {

struct TcpOptions : DoorDriverOptions {
  std::size_t max_packet_bytes = 257 * 1024;  // 256 KiB of payload and the headers before it
  std::size_t piece_bytes = 16 * 1024;        // read of a long packet before its receiver is asked
  std::size_t receive_chunks = 16;  // of 132 KiB; packets that are not yet released stand in them
};

/// Opens the fabric.  kNotFound: no such interface (the sentence lists what there is).
Result<std::unique_ptr<Driver>> open_tcp(const TcpOptions& options);

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_TCP_H_
