#include "madlike/driver/ofi/facts.h"

#include <rdma/fi_domain.h>

#include <algorithm>

#include "madlike/driver/ofi/header.h"

namespace mad {
namespace {

// Of a device, and of datagrams: 2 MiB to receive into and 512 KiB to send from, whatever the
// number of peers.  Three engines of a process stay within 8 MiB of locked memory, which is many a
// host's limit.
constexpr std::size_t kBufferBytes = 8 * 1024;
constexpr std::size_t kReceiveBuffers = 256;
constexpr std::size_t kSendBuffers = 64;

// Ready at once elsewhere, besides those that stalled peers keep.  More than a poll usually brings;
// few enough that their memory stays in the cache.
constexpr std::size_t kReady = 16;

}  // namespace

void OfiFacts::use_small_buffers() {
  packet_bytes = kBufferBytes - OfiHeader::kBytes;
  receive_buffers = kReceiveBuffers;
  send_buffers = kSendBuffers;
}

OfiFacts OfiFacts::of(const fi_info& info, const OfiOptions& options) {
  OfiFacts facts;
  const int wants = info.domain_attr->mr_mode;
  const bool registers = (wants & (FI_MR_LOCAL | FI_MR_BASIC)) != 0 || options.as_device;
  facts.registers = registers;
  facts.virtual_addresses = (wants & (FI_MR_VIRT_ADDR | FI_MR_BASIC)) != 0;
  if (info.ep_attr->type == FI_EP_RDM) {
    facts.use_small_buffers();
    facts.packet_bytes = std::min(kBufferBytes, info.ep_attr->max_msg_size) - OfiHeader::kBytes;
    facts.receive_buffers = std::min(kReceiveBuffers, info.rx_attr->size);
    // A packet is written before the provider is asked, and has left then: its queue is never full.
    const std::size_t queue = info.tx_attr->size;  // 0: it does not say
    if (queue > 0) facts.send_buffers = std::min(kSendBuffers, queue);
    facts.leaves_by_itself =
        info.domain_attr->data_progress == FI_PROGRESS_AUTO || options.as_device;
  } else if (registers) {
    facts.by_device = true;
    facts.asks_the_silent = (wants & (FI_MR_LOCAL | FI_MR_BASIC)) != 0;
    facts.use_small_buffers();
  } else {
    facts.packet_bytes =
        std::min(options.max_packet_bytes, info.ep_attr->max_msg_size - OfiHeader::kBytes);
    facts.receive_buffers = options.receive_buffers;
    facts.receives_ready = kReady;
    return facts;
  }
  facts.receives_ready = facts.receive_buffers;
  return facts;
}

}  // namespace mad
