// An engine at the address of one that is gone: ports are used again.
//
// libfabric's tcp is told, before any engine opens, to listen at one of two ports.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "tests/engine/node.h"

namespace mad::test {
namespace {

// A port nobody listens at; 0: `wanted` is taken (0: any).
std::uint16_t free_port(std::uint16_t wanted) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(wanted);
  socklen_t size = sizeof(name);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&name), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0;
  close(fd);
  return bound ? ntohs(name.sin_port) : std::uint16_t{0};
}

class ReusedAddress : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::uint16_t low = 0;
    for (int i = 0; i < 100 && low == 0; ++i) {
      const std::uint16_t port = free_port(0);
      if (port < 0xFFFF && free_port(static_cast<std::uint16_t>(port + 1)) != 0) low = port;
    }
    ASSERT_NE(low, 0);
    setenv("FI_TCP_PORT_LOW_RANGE", std::to_string(low).c_str(), 1);
    setenv("FI_TCP_PORT_HIGH_RANGE", std::to_string(low + 1).c_str(), 1);
  }
};

TEST_F(ReusedAddress, IsAnotherPeersForWhoSendsToItAndForWhoHearsFromIt) {
  Node node("ofi:tcp");
  auto first = std::make_unique<Node>("ofi:tcp");
  const auto address = first->address();
  mad_peer* const gone = node.peer(*first);
  int context = 0;
  mad_peer_set_context(gone, &context);
  ASSERT_EQ(mad_send_header(node.engine(), gone, 1, "x", 1), MAD_SUCCESS);
  ASSERT_TRUE(progress_until({&node, first.get()}, [&] { return !first->arrivals.empty(); }));
  first.reset();
  ASSERT_TRUE(progress_until({&node}, [&] { return node.departures.size() == 1; }));
  EXPECT_EQ(mad_peer_status(gone), MAD_ERR_CLOSED);

  auto second = std::make_unique<Node>("ofi:tcp");
  ASSERT_EQ(second->address(), address);
  mad_peer* const next = node.peer(*second);
  EXPECT_NE(next, gone);
  EXPECT_EQ(mad_peer_context(next), nullptr);
  ASSERT_EQ(mad_send_header(node.engine(), next, 1, "y", 1), MAD_SUCCESS) << mad_last_error();
  ASSERT_TRUE(progress_until({&node, second.get()}, [&] { return !second->arrivals.empty(); }));
  EXPECT_EQ(second->arrivals[0].header, "y");
  EXPECT_EQ(mad_send_header(node.engine(), gone, 1, "z", 1), MAD_ERR_CLOSED);
  second.reset();
  ASSERT_TRUE(progress_until({&node}, [&] { return node.departures.size() == 2; }));
  EXPECT_EQ(node.departures[1].peer, next);

  Node third("ofi:tcp");
  ASSERT_EQ(third.address(), address);
  ASSERT_EQ(mad_send_header(third.engine(), third.peer(node), 1, "hello", 5), MAD_SUCCESS);
  ASSERT_TRUE(progress_until({&node, &third}, [&] { return !node.arrivals.empty(); }));
  mad_peer* const from = node.arrivals[0].from;
  EXPECT_NE(from, gone);
  EXPECT_NE(from, next);
  EXPECT_EQ(from, node.peer(third));
  EXPECT_EQ(mad_peer_status(next), MAD_ERR_CLOSED) << "its status is for ever";
  close_together({&node, &third});
}

}  // namespace
}  // namespace mad::test
