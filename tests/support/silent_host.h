// fall_silent(): the host behind a socket as if its cable were pulled.
#ifndef TESTS_SUPPORT_SILENT_HOST_H_
#define TESTS_SUPPORT_SILENT_HOST_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include "gtest/gtest.h"

namespace mad {

/// Of what the connected socket (IPv4) is sent its kernel takes nothing any more, and so
/// acknowledges nothing: it drops segments that may have passed a router, and all seem to have.
inline void fall_silent(int socket) {
  const int least_hops_left = 255;  // loopback's have 64
  ASSERT_EQ(setsockopt(socket, IPPROTO_IP, IP_MINTTL, &least_hops_left, sizeof(least_hops_left)),
            0);
}

}  // namespace mad

#endif  // TESTS_SUPPORT_SILENT_HOST_H_
