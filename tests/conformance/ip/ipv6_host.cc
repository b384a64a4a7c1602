#include "tests/conformance/ip/ipv6_host.h"

#include <dlfcn.h>
#include <ifaddrs.h>
#include <sys/socket.h>

#include <atomic>

#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

std::atomic<bool> hides_ipv4{false};

}  // namespace

Ipv6Host::Ipv6Host() { hides_ipv4 = true; }
Ipv6Host::~Ipv6Host() { allow_ipv4(); }
void Ipv6Host::allow_ipv4() const { hides_ipv4 = false; }
bool Ipv6Host::has_ipv6(const std::string& interface) const {
  return interface_names().count(interface) > 0;
}

}  // namespace mad

// In place of the C library's.
extern "C" int getifaddrs(ifaddrs** list) noexcept {
  using Function = int (*)(ifaddrs**);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getifaddrs"));
  const int error = real(list);
  if (error != 0 || !mad::hides_ipv4) return error;
  for (ifaddrs* each = *list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET) each->ifa_addr = nullptr;
  }
  return 0;
}
