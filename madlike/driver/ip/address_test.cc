#include "madlike/driver/ip/address.h"

#include <arpa/inet.h>
#include <linux/ipv6.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "gtest/gtest.h"

namespace mad {
namespace {

sockaddr_in v4(const char* host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  EXPECT_EQ(inet_pton(AF_INET, host, &address.sin_addr), 1);
  return address;
}

TEST(IpAddress, WhatDoesNotNameTheEngineIsLeftOut) {
  sockaddr_in padded = v4("127.0.0.1", 4711);
  std::memset(padded.sin_zero, 0x55, sizeof(padded.sin_zero));
  const sockaddr_in clean = v4("127.0.0.1", 4711);
  const auto a = to_address(&padded, sizeof(padded));
  const auto b = to_address(&clean, sizeof(clean));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(*a, *b);
  EXPECT_EQ(to_text(*a), "127.0.0.1:4711");
}

TEST(IpAddress, V6) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(80);
  address.sin6_flowinfo = 7;
  address.sin6_addr = in6addr_loopback;
  const auto bytes = to_address(&address, sizeof(address));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(to_text(*bytes), "[::1]:80");
}

TEST(IpAddress, OtherBytesAreRefused) {
  const sockaddr_in no_port = v4("127.0.0.1", 0);
  sockaddr_in other_family = v4("127.0.0.1", 1);
  other_family.sin_family = AF_UNIX;
  EXPECT_FALSE(to_address(&no_port, sizeof(no_port)).ok());
  EXPECT_FALSE(to_address(&other_family, sizeof(other_family)).ok());
  EXPECT_FALSE(to_address("abc", 3).ok());
  EXPECT_FALSE(to_address(nullptr, 0).ok());
}

TEST(IpAddress, OtherFamiliesHaveNoText) {
  EXPECT_EQ(to_text({}), "?");
  for (const int family : {AF_UNIX, AF_IPX, AF_PACKET}) {
    sockaddr_storage other{};
    other.ss_family = static_cast<sa_family_t>(family);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&other);
    EXPECT_EQ(to_text({bytes, bytes + sizeof(other)}), "?") << family;
  }
}

bool only_here(const char* host) {
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    return is_local_to_link(reinterpret_cast<const sockaddr*>(&v6));
  }
  const sockaddr_in address = v4(host, 1);
  return is_local_to_link(reinterpret_cast<const sockaddr*>(&address));
}

TEST(IpAddress, WhatNoOtherEngineCouldUse) {
  for (const char* host : {"0.0.0.0", "::", "fe80::1"}) EXPECT_TRUE(only_here(host)) << host;
  for (const char* host : {"127.0.0.1", "10.0.0.1", "::1", "fd00::1"}) {
    EXPECT_FALSE(only_here(host)) << host;
  }
  EXPECT_TRUE(is_local_to_link(nullptr)) << "an interface without an address";
  sockaddr other{};
  other.sa_family = AF_PACKET;
  EXPECT_TRUE(is_local_to_link(&other)) << "a link's own address";
}

TEST(IpAddress, InterfacesByName) {
  const auto lo = interface_address("lo");
  ASSERT_TRUE(lo.ok());
  EXPECT_EQ(*lo, "127.0.0.1");
  const auto unknown = interface_address("eth4711");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), StatusCode::kNotFound);
  EXPECT_NE(unknown.status().message().find(" lo"), std::string_view::npos);
}

TEST(IpAddress, InterfacesByAddress) {
  const auto lo = listening_address("lo");
  ASSERT_TRUE(lo.ok());
  const auto found = interface_of(*lo);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, "lo");
  const sockaddr_in nowhere = v4("240.0.0.1", 1);  // nobody has one of these
  const auto none = interface_of(*to_address(&nowhere, sizeof(nowhere)));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
}

TEST(IpAddress, EveryInterfaceThatIsNamedHasOne) {
  const std::set<std::string> names = interface_names();
  EXPECT_EQ(names.count("lo"), 1u);
  for (const std::string& name : names) EXPECT_TRUE(interface_address(name).ok()) << name;
}

/// A network of its own; at first its one interface is "lo", down and without an address.
class OtherNetwork {
 public:
  bool is_there() const { return there_; }
  bool add_v4(const char* name, const char* host) const {
    ifreq request = of(name);
    const sockaddr_in address = v4(host, 0);
    std::memcpy(&request.ifr_addr, &address, sizeof(address));
    return ioctl(v4_.fd, SIOCSIFADDR, &request) == 0;
  }
  bool add_v6(const char* name, const char* host) const {
    in6_ifreq request{};
    request.ifr6_prefixlen = 128;
    request.ifr6_ifindex = static_cast<int>(if_nametoindex(name));
    return inet_pton(AF_INET6, host, &request.ifr6_addr) == 1 &&
           ioctl(v6_.fd, SIOCSIFADDR, &request) == 0;
  }
  bool add_bridge(const char* name) const { return ioctl(v4_.fd, SIOCBRADDBR, name) == 0; }
  bool set_up(const char* name) const {
    ifreq request = of(name);
    request.ifr_flags = IFF_UP;
    return ioctl(v4_.fd, SIOCSIFFLAGS, &request) == 0;
  }

 private:
  struct Socket {
    explicit Socket(int family) : fd(socket(family, SOCK_DGRAM, 0)) {}
    ~Socket() { close(fd); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    const int fd;
  };
  static ifreq of(const char* name) {
    ifreq request{};
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    return request;
  }
  const bool there_ = unshare(CLONE_NEWNET) == 0;
  Socket v4_{AF_INET}, v6_{AF_INET6};
};

enum Outcome { kGood, kBad, kCannotTry };

/// What `check` says in a child process, in a network of its own.
Outcome in_another_network(const std::function<Outcome(const OtherNetwork&)>& check) {
  const pid_t child = fork();
  if (child == 0) {
    const OtherNetwork network;
    _exit(network.is_there() ? check(network) : kCannotTry);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return kBad;
  return static_cast<Outcome>(WEXITSTATUS(status));
}

TEST(IpAddress, AnInterfaceThatIsDownIsNone) {
  const Outcome outcome = in_another_network([](const OtherNetwork& network) {
    const sockaddr_in local = v4("127.0.0.1", 1);
    if (!network.add_v4("lo", "127.0.0.1")) return kCannotTry;
    if (!interface_of(*to_address(&local, sizeof(local))).ok()) return kCannotTry;
    const bool none = interface_names().empty() && !interface_address("lo").ok();
    return none && network.set_up("lo") && interface_address("lo").ok() ? kGood : kBad;
  });
  if (outcome == kCannotTry) GTEST_SKIP() << "may not have another network here";
  EXPECT_EQ(outcome, kGood);
}

TEST(IpAddress, WithoutANameTheOneThatOthersReachIsTaken) {
  const Outcome outcome = in_another_network([](const OtherNetwork& network) {
    const char* const names[] = {"br0", "br1"};
    for (const char* name : names) {
      if (!network.add_bridge(name) || !network.set_up(name)) return kCannotTry;
    }
    if (!network.add_v6(names[0], "fe80::1")) return kCannotTry;
    if (!network.add_v6(names[1], "fd00::1")) return kCannotTry;
    const auto taken = interface_address("");
    return taken.ok() && *taken == "fd00::1" ? kGood : kBad;
  });
  if (outcome == kCannotTry) GTEST_SKIP() << "may not have another network with IPv6 here";
  EXPECT_EQ(outcome, kGood);
}

TEST(IpAddress, WithoutANameThereIsAlwaysOne) {
  const auto any = listening_address("");
  ASSERT_TRUE(any.ok()) << any.status().message();
  EXPECT_GE(any->size(), sizeof(sockaddr_in));
}

}  // namespace
}  // namespace mad
