#include "madlike/driver/ofi/facts.h"

#include <rdma/fi_domain.h>

#include <algorithm>

#include "madlike/driver/ofi/header.h"

namespace mad {
namespace {

// Of a device: 2 MiB to receive into and 512 KiB to send from, whatever the number of peers.  Three
// engines of a process stay within 8 MiB of locked memory, which is many a host's limit.
constexpr std::size_t kBufferBytes = 8 * 1024;
constexpr std::size_t kReceiveBuffers = 256;
constexpr std::size_t kSendBuffers = 64;

// Ready at once elsewhere, besides those that stalled peers keep.  More than a poll usually brings;
// few enough that their memory stays in the cache.
constexpr std::size_t kReady = 16;

}  // namespace

OfiFacts OfiFacts::of(const fi_info& info, const OfiOptions& options) {
  OfiFacts facts;
  const int registers = info.domain_attr->mr_mode;
  facts.by_device = (registers & (FI_MR_LOCAL | FI_MR_BASIC)) != 0 || options.as_device;
  facts.asks_the_silent = (registers & (FI_MR_LOCAL | FI_MR_BASIC)) != 0;
  facts.virtual_addresses = (registers & (FI_MR_VIRT_ADDR | FI_MR_BASIC)) != 0;
  if (facts.by_device) {
    facts.packet_bytes = kBufferBytes - OfiHeader::kBytes;
    facts.receive_buffers = facts.receives_ready = kReceiveBuffers;
    facts.send_buffers = kSendBuffers;
  } else {
    facts.packet_bytes =
        std::min(options.max_packet_bytes, info.ep_attr->max_msg_size - OfiHeader::kBytes);
    facts.receive_buffers = options.receive_buffers;
    facts.receives_ready = kReady;
  }
  return facts;
}

}  // namespace mad
