// Greeting: what two engines tell each other inside a connection request, its acceptance or refusal
// (libfabric's connection data; docs/ofi_protocol.md).
//
//   request     who asks: its listening address, so that the other side knows whose connection it
//   is acceptance  the same refusal     why
//
// `incarnation` tells a restarted engine from the old one at the same address; `sequence` counts
// the connections an engine opened or accepted, so that a request that was given up meanwhile is
// told from a new one.  `tag` is what the other side must put into the header of every packet, and
// `credit` how many packets it may send before it is given more.
#ifndef MADLIKE_DRIVER_OFI_GREETING_H_
#define MADLIKE_DRIVER_OFI_GREETING_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace mad {

struct Greeting {
  /// What verbs leaves of the 56 bytes that the RDMA connection manager carries.
  static constexpr std::size_t kMaxBytes = 55;

  enum class Kind : std::uint8_t {
    kRequest = 1,
    kAcceptance = 2,
    kCrossing = 3,  // refused: our own request to you is under way, or yours is no longer current
    kForeign = 4    // refused: not understood
  };
  Kind kind = Kind::kRequest;
  std::uint64_t incarnation = 0;
  std::uint32_t sequence = 0;
  std::uint64_t tag = 0;
  std::uint16_t credit = 0;
  std::vector<std::byte> address;  // of a request; see madlike/driver/ip/address.h

  std::vector<std::byte> pack() const;
  /// Nothing when the bytes are no greeting of this version.
  static std::optional<Greeting> parse(const void* bytes, std::size_t size);
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_GREETING_H_
