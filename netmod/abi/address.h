// EngineAddress: the business card of an engine, as other processes carry it around.
//
// It keeps what belongs to the node (the same for every engine there) apart from what belongs to
// the process (the fabric and its driver's address), so that cards of one node can later be sent in
// a compressed form. Two cards name the same engine when their process parts are equal.  The
// encoded form is
//
//   'm', version, bytes of the node part, bytes of the process part, node part, process part
//
// with process part = length of the fabric's name, the name, the driver's address.  The node part
// is empty when it is not known, as for a peer that connected to us and whose card we never saw.
#ifndef NETMOD_ABI_ADDRESS_H_
#define NETMOD_ABI_ADDRESS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "madlike/base/status.h"

namespace mad {

struct EngineAddress {
  static constexpr unsigned kVersion = 1;
  static constexpr std::size_t kNodeBytes = 16;
  static constexpr std::size_t kFabricMax = 25;         // bytes of a fabric's name
  static constexpr std::size_t kDriverAddressMax = 64;  // bytes, see Driver::address()

  std::vector<std::byte> node;            // kNodeBytes, or empty
  std::string fabric;                     // as in DriverCaps::name
  std::vector<std::byte> driver_address;  // opaque to us

  std::vector<std::byte> encode() const;
  /// kVersion: a card of another version; kInvalidArgument: no card.
  static Result<EngineAddress> decode(const void* bytes, std::size_t size);

  /// What tells engines apart, as a key of maps.
  std::string process_key() const;
};

/// This node's part: the kernel's boot and the network namespace, so that equal parts mean one
/// machine and one network.  A host whose kernel tells neither is known by its name.
std::vector<std::byte> this_node();

}  // namespace mad

#endif  // NETMOD_ABI_ADDRESS_H_
