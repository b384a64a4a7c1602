#include "madlike/driver/ip/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

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

TEST(IpAddress, WithoutANameThereIsAlwaysOne) {
  const auto any = listening_address("");
  ASSERT_TRUE(any.ok()) << any.status().message();
  EXPECT_GE(any->size(), sizeof(sockaddr_in));
}

}  // namespace
}  // namespace mad
