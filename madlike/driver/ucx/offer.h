// What two engines say to each other on the control socket of their connection, once it stands.
//
// Each sends an offer first: which transports it has, how they are laid out, and where it is to be
// found on them.  Both then try the same transports in the same order and say of each whether it
// works, until both say yes.  docs/ucx_protocol.md has the bytes.
#ifndef MADLIKE_DRIVER_UCX_OFFER_H_
#define MADLIKE_DRIVER_UCX_OFFER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/memory/process_reader.h"

namespace mad {

/// UCX's transports that we use, in the order in which they are tried: shared memory, reliable
/// connections and datagrams of an RDMA device, TCP.
enum class UcxTransport : std::uint32_t { kPosix, kRc, kUd, kTcp };
inline constexpr std::size_t kUcxTransports = 4;
inline constexpr std::array<UcxTransport, kUcxTransports> kAllUcxTransports{
    UcxTransport::kPosix, UcxTransport::kRc, UcxTransport::kUd, UcxTransport::kTcp};
const char* to_string(UcxTransport transport);
inline bool is_rdma(UcxTransport transport) {
  return transport == UcxTransport::kRc || transport == UcxTransport::kUd;
}

/// One transport as one side has it.
struct UcxLaneOffer {
  using Geometry = std::array<std::uint32_t, 6>;
  static constexpr std::size_t kMostDevice = 32, kMostInterface = 24, kMostEndpoint = 24;

  bool open = false;
  /// What both sides must have alike: a sender writes by its own sizes into the other's memory.
  Geometry geometry{};
  std::vector<std::byte> device, interface, endpoint;  // UCX's addresses
};

struct UcxOffer {
  static constexpr std::size_t kBytes = 488;

  std::array<std::byte, kBytes> pack() const;
  /// Empty: no engine of this version sends this.
  static std::optional<UcxOffer> parse(const std::byte* bytes);

  std::uint64_t tag = 0;  // what the other side's active messages begin with
  /// Names the network namespace: in two of them on one host, engines are of two hosts.  0: unknown
  std::uint64_t namespace_device = 0, namespace_inode = 0;
  ProcessName process;  // whose memory the other side may read, if it can
  std::array<UcxLaneOffer, kUcxTransports> lanes;
};

/// The transports to be tried, in order, the same on both sides.  Those of RDMA devices that are
/// laid out differently are not: devices differ.  kVersion: shared memory or TCP is, or all that
/// there is; kUnreachable: there is none.
Result<std::vector<UcxTransport>> transports_in_common(const UcxOffer& a, const UcxOffer& b);

/// What follows the offers: of one transport after the other.
struct UcxNote {
  enum class Kind : std::uint32_t {
    kYes = 1,  // the transport works here
    kNo        // it does not
  };
  static constexpr std::size_t kBytes = 8;

  std::array<std::byte, kBytes> pack() const;
  static std::optional<UcxNote> parse(const std::byte* bytes);

  Kind kind = Kind::kYes;
  UcxTransport transport = UcxTransport::kPosix;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_OFFER_H_
