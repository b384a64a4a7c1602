// Socket addresses that engines listen at, as bytes and as text, and the network interfaces of this
// host.  For every fabric that runs over IP.
#ifndef MADLIKE_DRIVER_IP_ADDRESS_H_
#define MADLIKE_DRIVER_IP_ADDRESS_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "madlike/base/status.h"

struct sockaddr;

namespace mad {

/// The bytes of an IPv4 or IPv6 socket address in the one form used for comparing: what does not
/// name the engine (padding, flow) is 0.  kInvalidArgument: not such an address, or no port.
Result<std::vector<std::byte>> to_address(const void* bytes, std::size_t size);

/// "127.0.0.1:4711", "[::1]:4711"
std::string to_text(const std::vector<std::byte>& address);

/// Addresses that no other engine could use: a link's own IPv6 addresses and "any".
bool is_local_to_link(const sockaddr* address);

/// The network interfaces of this host that are up and have an IP address.
std::set<std::string> interface_names();

/// The numeric IP address of a network interface of this host, IPv4 if it has one.
/// kNotFound: the sentence lists the interfaces there are.
Result<std::string> interface_address(const std::string& name);

/// The network interface of this host that has the host part of `address`.  kNotFound: there is
/// none.
Result<std::string> interface_of(const std::vector<std::byte>& address);

/// The socket address, without port, of interface `name`; of the host's first interface that others
/// can reach when it is empty, or the loopback one when there is no other.
/// kNotFound: the sentence lists the interfaces there are.
Result<std::vector<std::byte>> listening_address(const std::string& name);

}  // namespace mad

#endif  // MADLIKE_DRIVER_IP_ADDRESS_H_
