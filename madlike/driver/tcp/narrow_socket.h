// What tests of the tcp driver's outbox write to.
#ifndef MADLIKE_DRIVER_TCP_NARROW_SOCKET_H_
#define MADLIKE_DRIVER_TCP_NARROW_SOCKET_H_

#include <sys/socket.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "madlike/driver/tcp/record.h"
#include "madlike/driver/tcp/record_bytes.h"
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
  /// Reads all that is there.
  void read_all() {
    for (std::size_t before = read_.size() + 1; before != read_.size();) {
      before = read_.size();
      read(100000);
    }
  }
  void expect(const TcpRecord& record, const Bytes& bytes) {
    const Bytes packed = packed_record(record, bytes);
    expected_.insert(expected_.end(), packed.begin(), packed.end());
  }
  int pair_[2] = {-1, -1};
  Bytes read_, expected_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_NARROW_SOCKET_H_
