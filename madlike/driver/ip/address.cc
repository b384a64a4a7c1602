#include "madlike/driver/ip/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

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

struct InterfaceList {
  InterfaceList() {
    if (getifaddrs(&first) != 0) first = nullptr;
  }
  ~InterfaceList() {
    if (first) freeifaddrs(first);
  }
  InterfaceList(const InterfaceList&) = delete;
  InterfaceList& operator=(const InterfaceList&) = delete;
  ifaddrs* first = nullptr;
};

bool is_up(const ifaddrs& entry) {
  return is_ip(entry.ifa_addr) && (entry.ifa_flags & IFF_UP) != 0;
}

// Which of an interface's addresses is taken: smaller ranks first.
enum Rank { kV4, kV6, kLinkLocalV6, kRanks };

Rank rank_of(const sockaddr* address) {
  if (address->sa_family == AF_INET) return kV4;
  return is_local_to_link(address) ? kLinkLocalV6 : kV6;
}

std::vector<std::byte> copy_bytes(const sockaddr* address) {
  const auto* bytes = reinterpret_cast<const std::byte*>(address);
  return {bytes, bytes + size_of(address)};
}

}  // namespace

Result<std::vector<std::byte>> to_address(const void* bytes, std::size_t size) {
  const Status wrong(StatusCode::kInvalidArgument, "not a socket address with a port");
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
  std::copy_n(address.data(), std::min(address.size(), sizeof(storage)),
              reinterpret_cast<std::byte*>(&storage));
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

std::set<std::string> interface_names() {
  const InterfaceList list;
  std::set<std::string> names;
  for (const ifaddrs* entry = list.first; entry; entry = entry->ifa_next) {
    if (is_up(*entry)) names.insert(entry->ifa_name);
  }
  return names;
}

Result<std::string> interface_address(const std::string& name) {
  Result<std::vector<std::byte>> address = listening_address(name);
  if (!address.ok()) return address.status();
  return host_text(reinterpret_cast<const sockaddr*>(address->data()));
}

Result<std::string> interface_of(const std::vector<std::byte>& address) {
  const std::string wanted = host_text(reinterpret_cast<const sockaddr*>(address.data()));
  const InterfaceList list;
  for (const ifaddrs* entry = list.first; entry; entry = entry->ifa_next) {
    if (is_ip(entry->ifa_addr) && host_text(entry->ifa_addr) == wanted) return {entry->ifa_name};
  }
  return Status(StatusCode::kNotFound, "no network interface has the address " + wanted);
}

Result<std::vector<std::byte>> listening_address(const std::string& name) {
  const InterfaceList list;
  const ifaddrs* found[kRanks] = {};
  const ifaddrs* loopback = nullptr;
  for (const ifaddrs* entry = list.first; entry; entry = entry->ifa_next) {
    if (!is_up(*entry)) continue;
    if (name.empty() ? (entry->ifa_flags & IFF_LOOPBACK) != 0 : name != entry->ifa_name) {
      if (name.empty() && !loopback) loopback = entry;
      continue;
    }
    const ifaddrs*& place = found[rank_of(entry->ifa_addr)];
    if (!place) place = entry;
  }
  for (const ifaddrs* entry : found) {
    if (entry) return copy_bytes(entry->ifa_addr);
  }
  if (loopback) return copy_bytes(loopback->ifa_addr);
  std::string sentence = "no network interface \"" + name + "\" with an IP address; there are:";
  for (const std::string& each : interface_names()) sentence += " " + each;
  return Status(StatusCode::kNotFound, sentence);
}

}  // namespace mad
