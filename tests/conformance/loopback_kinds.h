// Loopback networks of several kinds, for the conformance suite.
#pragma once
#include <cstddef>
#include <vector>

#include "madlike/driver/loopback/loopback.h"
#include "tests/conformance/driver_conformance.h"

namespace mad::loopback {

inline LoopbackOptions narrow() {
  LoopbackOptions options;
  options.max_iov = 1;
  options.max_packet_bytes = 256;
  options.inject_bytes = 0;
  options.queue_depth = 1;
  options.remote_write = false;
  return options;
}

inline LoopbackOptions like_tcp() {
  LoopbackOptions options;
  options.max_iov = 4;
  options.inject_bytes = 128;
  options.max_write_iov = 4;
  return options;
}

inline LoopbackOptions in_pieces() {
  LoopbackOptions options = like_tcp();
  options.piece_bytes = 1000;
  options.short_bytes = 600;
  return options;
}

inline LoopbackOptions lending() {
  LoopbackOptions options;
  options.queue_depth = 5;
  options.lent_bytes = 1000;
  options.offered_from = 100;
  options.most_offered = 100000;
  return options;
}

/// The address of the network's next port: nobody has opened it yet.
inline std::vector<std::byte> nobody(const DriverPair& pair) {
  std::vector<std::byte> address = pair.b->address();
  address.back() = std::byte{0x7F};
  return address;
}

}  // namespace mad::loopback
