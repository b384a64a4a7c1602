// The tcp driver: one engine on this host's own TCP sockets.
//
// Every engine listens at one address and keeps at most one connection per peer, set up at the
// first connect() by either side.  A packet is one system call: its header and all its segments are
// gathered from where they are.  Remote writes go from the socket straight into exposed memory.
// docs/tcp_protocol.md describes the bytes; docs/adr/0012-own-tcp-driver.md says why there is one.
#ifndef MADLIKE_DRIVER_TCP_TCP_H_
#define MADLIKE_DRIVER_TCP_TCP_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "madlike/base/status.h"
#include "madlike/driver/door/secret.h"
#include "madlike/driver/door/silence.h"
#include "madlike/driver/driver.h"

namespace mad {

struct TcpOptions {
  std::string interface;  // network interface, e.g. "lo"; empty: the first that others can reach
  std::optional<DoorSecret> secret;           // of the engine's address; empty: a new one
  std::size_t max_packet_bytes = 257 * 1024;  // 256 KiB of payload and the headers before it
  std::size_t piece_bytes = 16 * 1024;        // read of a long packet before its receiver is asked
  std::size_t receive_chunks = 16;  // of 132 KiB; packets that are not yet released stand in them
  /// How long a host may leave a connection attempt without any answer.  A host that answered may
  /// take its time: its engine accepts when it is polled.  Time without poll() does not count.
  std::chrono::milliseconds connect_timeout{10000};
  /// How long who connected to us may take to prove that it knows our address.
  std::chrono::milliseconds stranger_timeout{60000};
  /// How long a host may leave what it is sent without any answer of its kernel before its
  /// connections end; 0: as long as the system's settings say.
  std::chrono::milliseconds silence_timeout = Silence::kTimeout;
  /// How long a connection that disconnect() ends may stay without its peer taking anything.
  std::chrono::milliseconds close_timeout{10000};
  /// How long closing the driver may wait for what disconnect() still has to send.
  std::chrono::milliseconds linger{2000};
};

/// Opens the fabric.  kNotFound: no such interface (the sentence lists what there is).
Result<std::unique_ptr<Driver>> open_tcp(const TcpOptions& options);

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_TCP_H_
