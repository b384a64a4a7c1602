// Sockets that no engine stands behind.
#ifndef TESTS_CONFORMANCE_IP_RAW_SOCKET_H_
#define TESTS_CONFORMANCE_IP_RAW_SOCKET_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "tests/conformance/ip/engine.h"

namespace mad {

/// A raw TCP socket connected to the engine's listening address.
inline int raw_connection(const Bytes& address) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in peer;
  EXPECT_GE(address.size(), sizeof(peer));  // tcp has a secret behind it
  std::memcpy(&peer, address.data(), sizeof(peer));
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&peer), sizeof(peer)), 0);
  return fd;
}

/// A listening socket on lo that no engine stands behind, at what looks like an address of
/// `fabric`.
inline int raw_listener(int backlog, const std::string& fabric, Bytes* address) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  EXPECT_EQ(listen(fd, backlog), 0);
  socklen_t size = sizeof(name);
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
  address->resize(sizeof(name));
  std::memcpy(address->data(), &name, sizeof(name));
  if (fabric.compare(0, 3, "ofi") != 0)
    address->resize(sizeof(name) + 16, std::byte{0x5E});  // the secret
  return fd;
}

}  // namespace mad

#endif  // TESTS_CONFORMANCE_IP_RAW_SOCKET_H_
