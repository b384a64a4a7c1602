// What tests of the tcp driver's outbox write to.
#ifndef MADLIKE_DRIVER_TCP_NARROW_SOCKET_H_
#define MADLIKE_DRIVER_TCP_NARROW_SOCKET_H_

#include <sys/socket.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "madlike/driver/tcp/record.h"
#include "tests/support/bytes.h"

namespace mad {

/// A socket that takes little, and its other end.
class TcpNarrowSocket : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair_), 0);
    const int small = 4096;
    ASSERT_EQ(setsockopt(pair_[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
  }
  void TearDown() override {
    close(pair_[0]);
    close(pair_[1]);
  }
  int near() const { return pair_[0]; }
  /// Reads at most `limit` bytes of what is there.
  void read(std::size_t limit) {
    Bytes bytes(limit);
    const ssize_t got = ::read(pair_[1], bytes.data(), bytes.size());
    if (got > 0) read_.insert(read_.end(), bytes.begin(), bytes.begin() + got);
  }
  void expect(const TcpRecord& record, const Bytes& bytes) {
    Bytes header(record.header_bytes());
    encode_record(record, header.data());
    expected_.insert(expected_.end(), header.begin(), header.end());
    expected_.insert(expected_.end(), bytes.begin(), bytes.end());
    expected_.resize(expected_.size() + record.padding_bytes(), std::byte{0});
  }
  int pair_[2] = {-1, -1};
  Bytes read_, expected_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_NARROW_SOCKET_H_
