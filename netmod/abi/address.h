// EngineAddress: the business card of an engine, as other processes carry it around.
//
// It keeps what belongs to the node (the same for every engine there) apart from what belongs to
// the process: its fabrics, those first that it prefers, and its address on each of them.  The
// encoded form is
//
//   'm', version, bytes of the node part, number of fabrics, node part, and for each fabric
//   a byte: bytes of its name (bits 0-4), number of an earlier fabric (bits 5-6), of its end (bit
//   7); the name; bytes of the address; how many of them, at its beginning and at its end, are
//   those of the earlier fabric's address at the same places, or, "of its end", how many at its
//   end are those at that one's end (2 bytes); those between them
//
// since addresses of one process have most of their bytes in common.  The node part is empty when
// it is not known, as for a peer that connected to us and whose card we never saw.
#ifndef NETMOD_ABI_ADDRESS_H_
#define NETMOD_ABI_ADDRESS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "madlike/base/status.h"

namespace mad {

/// Where an engine is on one fabric.
struct FabricAddress {
  std::string fabric;              // as in DriverCaps::name
  std::vector<std::byte> address;  // the driver's; opaque to us

  /// What tells engines apart, as a key of maps.
  std::string key() const;
};

struct EngineAddress {
  static constexpr unsigned kVersion = 3;
  static constexpr std::size_t kNodeBytes = 8;
  static constexpr std::size_t kMostFabrics = 4;
  static constexpr std::size_t kFabricMax = 25;         // bytes of a fabric's name
  static constexpr std::size_t kDriverAddressMax = 64;  // bytes, see Driver::address()

  std::vector<std::byte> node;         // kNodeBytes, or empty
  std::vector<FabricAddress> fabrics;  // 1 to kMostFabrics

  /// As long as it comes out: MAD_ADDRESS_MAX is for the caller to check.
  std::vector<std::byte> encode() const;
  /// kVersion: a card of another version; kInvalidArgument: no card.
  static Result<EngineAddress> decode(const void* bytes, std::size_t size);

  /// Whether the two have an address on some fabric in common: they are one engine's.
  bool has_one_of(const EngineAddress& other) const;

  /// The fabrics' names as users write them: "ucx:posix;tcp".
  std::string fabric_names() const;
};

/// This node's part: a hash of the kernel's boot and the network namespace, so that equal parts
/// mean one machine and one network.  A host whose kernel tells neither is known by its name.
std::vector<std::byte> this_node();

}  // namespace mad

#endif  // NETMOD_ABI_ADDRESS_H_
