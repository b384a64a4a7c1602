#include "madlike/driver/ofi/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <set>

namespace mad {
namespace {

std::size_t size_of(const sockaddr* address) {
  return address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

bool is_ip(const sockaddr* address) {
  return address && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

std::string host_text(const sockaddr* address) {
  char host[NI_MAXHOST] = "?";
  getnameinfo(address, static_cast<socklen_t>(size_of(address)), host, sizeof(host), nullptr, 0,
              NI_NUMERICHOST);
  return host;
}

template <typename Sockaddr>
Sockaddr copy_of(const void* bytes) {
  Sockaddr address;
  std::memcpy(&address, bytes, sizeof(address));
  return address;
}

template <typename Sockaddr>
std::vector<std::byte> bytes_of(const Sockaddr& address) {
  std::vector<std::byte> bytes(sizeof(address));
  std::memcpy(bytes.data(), &address, sizeof(address));
  return bytes;
}

}  // namespace

Result<std::vector<std::byte>> to_address(const void* bytes, std::size_t size) {
  const Status wrong(StatusCode::kInvalidArgument, "not an address of an ofi engine");
  sa_family_t family = AF_UNSPEC;
  if (size < sizeof(sockaddr_in)) return wrong;
  std::memcpy(&family, static_cast<const std::byte*>(bytes) + offsetof(sockaddr, sa_family),
              sizeof(family));
  if (family == AF_INET && size == sizeof(sockaddr_in)) {
    auto address = copy_of<sockaddr_in>(bytes);
    std::memset(address.sin_zero, 0, sizeof(address.sin_zero));
    if (address.sin_port != 0) return bytes_of(address);
  } else if (family == AF_INET6 && size == sizeof(sockaddr_in6)) {
    auto address = copy_of<sockaddr_in6>(bytes);
    address.sin6_flowinfo = 0;
    if (address.sin6_port != 0) return bytes_of(address);
  }
  return wrong;
}

std::string to_text(const std::vector<std::byte>& address) {
  sockaddr_storage storage{};
  std::memcpy(&storage, address.data(), std::min(address.size(), sizeof(storage)));
  const auto* any = reinterpret_cast<const sockaddr*>(&storage);
  if (!is_ip(any)) return "?";
  if (any->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(any);
    return host_text(any) + ":" + std::to_string(ntohs(v4->sin_port));
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(any);
  return "[" + host_text(any) + "]:" + std::to_string(ntohs(v6->sin6_port));
}

bool is_local_to_link(const sockaddr* address) {
  if (!is_ip(address)) return true;
  if (address->sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr == htonl(INADDR_ANY);
  }
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return IN6_IS_ADDR_LINKLOCAL(&v6) || IN6_IS_ADDR_UNSPECIFIED(&v6);
}

Result<std::string> interface_address(const std::string& name) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return Status(StatusCode::kNotFound, "this host's network interfaces cannot be listed");
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  // IPv4 before global IPv6 before link-local IPv6.
  std::string found[3];
  std::set<std::string> names;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    if (!is_ip(entry->ifa_addr) || !(entry->ifa_flags & IFF_UP)) continue;
    names.insert(entry->ifa_name);
    if (name != entry->ifa_name) continue;
    const bool v4 = entry->ifa_addr->sa_family == AF_INET;
    std::string& place = found[v4 ? 0 : is_local_to_link(entry->ifa_addr) ? 2 : 1];
    if (place.empty()) place = host_text(entry->ifa_addr);
  }
  for (const std::string& address : found) {
    if (!address.empty()) return address;
  }
  std::string sentence = "no network interface \"" + name + "\" with an IP address; there are:";
  for (const std::string& each : names) sentence += " " + each;
  return Status(StatusCode::kNotFound, sentence);
}

}  // namespace mad
