// RdmOffer: what an engine says of its endpoint for datagrams to who came by its door
// (docs/ofi_protocol.md).
#ifndef MADLIKE_DRIVER_OFI_RDM_OFFER_H_
#define MADLIKE_DRIVER_OFI_RDM_OFFER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mad {

struct RdmOffer {
  static constexpr std::size_t kBytes = 320;
  static constexpr std::size_t kMostProvider = 32;  // bytes of its name
  static constexpr std::size_t kMostName = 256;     // bytes of an endpoint's

  /// The provider's name is cut to kMostProvider; `name` has at most kMostName bytes.
  std::array<std::byte, kBytes> pack() const;
  /// Nothing: no engine of this version says this.
  static std::optional<RdmOffer> parse(const std::byte* bytes);

  std::string provider;  // as libfabric names it, layers too: "tcp;ofi_rxm"
  std::uint32_t protocol = 0, protocol_version = 0;  // fi_ep_attr's: only the same are compatible
  std::uint32_t packet_bytes = 0;                    // the longest packet, without its header
  std::uint64_t tag = 0;                             // in packets to this engine
  std::uint16_t credit = 0;     // packets that may be sent before more are given
  std::vector<std::byte> name;  // the endpoint's (fi_getname())
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_RDM_OFFER_H_
