// Ipv6Host: this process' host as one that has no IPv4 address.
#ifndef TESTS_CONFORMANCE_IP_IPV6_HOST_H_
#define TESTS_CONFORMANCE_IP_IPV6_HOST_H_

#include <string>

namespace mad {

/// While one exists, and until allow_ipv4(), the interfaces of this host have no IPv4 addresses.
class Ipv6Host {
 public:
  Ipv6Host();
  ~Ipv6Host();
  Ipv6Host(const Ipv6Host&) = delete;
  Ipv6Host& operator=(const Ipv6Host&) = delete;

  /// Whether the interface has an address still.
  bool has_ipv6(const std::string& interface) const;
  void allow_ipv4() const;
};

}  // namespace mad

#endif  // TESTS_CONFORMANCE_IP_IPV6_HOST_H_
