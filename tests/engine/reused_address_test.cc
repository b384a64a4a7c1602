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

// A socket that keeps a port (0: any) for this process as long as it is open, or -1: the port is
// taken.  Only who asks for SO_REUSEADDR, as libfabric does, may listen there.
int hold_port(std::uint16_t wanted, std::uint16_t* held) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(wanted);
  socklen_t size = sizeof(name);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&name), size) == 0 &&
                     setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0;
  *held = ntohs(name.sin_port);
  if (bound) return fd;
  close(fd);
  return -1;
}

class ReusedAddress : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::uint16_t low = 0, high = 0;
    for (int i = 0; i < 100 && high_ < 0; ++i) {
      if (low_ >= 0) close(low_);
      low_ = hold_port(0, &low);
      ASSERT_GE(low_, 0);
      if (low < 0xFFFF) high_ = hold_port(static_cast<std::uint16_t>(low + 1), &high);
    }
    ASSERT_GE(high_, 0) << "no two ports in a row are free";
    setenv("FI_TCP_PORT_LOW_RANGE", std::to_string(low).c_str(), 1);
    setenv("FI_TCP_PORT_HIGH_RANGE", std::to_string(high).c_str(), 1);
  }
  static void TearDownTestSuite() {
    close(low_);
    close(high_);
  }

 private:
  static inline int low_ = -1, high_ = -1;  // sockets that hold the two ports
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
