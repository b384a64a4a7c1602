// OfiFacts: what the driver does differently with one provider than with another, decided when its
// fabric is opened.
#ifndef MADLIKE_DRIVER_OFI_FACTS_H_
#define MADLIKE_DRIVER_OFI_FACTS_H_

#include <rdma/fabric.h>

#include <cstddef>

#include "madlike/driver/ofi/ofi.h"

namespace mad {

struct OfiFacts {
  /// An RDMA device moves the bytes.  It reads and writes registered memory only (FI_MR_LOCAL), so
  /// that packets are built in, or copied to, buffers of ours; it may not be sent what its receiver
  /// has no buffer for (credit.h); and opening an endpoint blocks, as it asks for the peer's host.
  bool by_device = false;
  /// A write of no bytes asks a silent peer's device whether it is there: a remote key is needed
  /// for bytes only.
  bool asks_the_silent = false;
  bool registers = false;          // memory that packets are sent from or received in
  bool virtual_addresses = false;  // a write goes to an address, not to an offset
  /// Of datagrams: what the provider has taken leaves though nobody polls it.
  bool leaves_by_itself = false;
  std::size_t packet_bytes = 0;  // the longest packet, without its header
  std::size_t receive_buffers = 0;
  std::size_t receives_ready = 0;  // posted at once, and one more for each connection
  std::size_t send_buffers = 0;    // 0: packets are gathered from where they lie

  static OfiFacts of(const fi_info& info, const OfiOptions& options);

 private:
  void use_small_buffers();
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_FACTS_H_
