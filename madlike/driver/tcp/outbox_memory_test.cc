// What an outbox does when the system lacks memory, and how much it keeps itself.
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

#include <cstring>

#include "madlike/driver/tcp/narrow_socket.h"
#include "madlike/driver/tcp/outbox.h"
#include "tests/support/allocations.h"

namespace {

// What send() and sendmsg() fail with; 0: they work.
int send_error = 0;

// The system's function of that name and type.
template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

ssize_t fail() {
  errno = send_error;
  return -1;
}

}  // namespace

// In the place of the system's.
extern "C" ssize_t send(int socket, const void* bytes, std::size_t size, int flags) {
  return send_error != 0 ? fail() : real<decltype(send)>("send")(socket, bytes, size, flags);
}
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  return send_error != 0 ? fail() : real<decltype(sendmsg)>("sendmsg")(socket, message, flags);
}

namespace mad {
namespace {

class TcpOutboxMemory : public TcpNarrowSocket {};

// The system lacks memory, or its buffer is full.
TEST_F(TcpOutboxMemory, WhatASocketDoesNotTakeNowWaits) {
  for (const int error : {EAGAIN, ENOBUFS, ENOMEM}) {
    TcpOutbox outbox;
    Bytes bytes(TcpOutbox::kCopyBytes, std::byte{1});
    const Segment segment{bytes.data(), bytes.size()};
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(bytes.size());
    expect(record, bytes);
    send_error = error;
    EXPECT_EQ(outbox.send(near(), record, {&segment, 1}, nullptr), TcpOutbox::Outcome::kWaits);
    send_error = 0;
    bytes.assign(bytes.size(), std::byte{2});  // what is short is copied
    std::vector<TcpOutbox::Finished> finished;
    EXPECT_TRUE(outbox.flush(near(), &finished)) << std::strerror(error);
    read(1000);
    EXPECT_EQ(read_, expected_);
  }
}

// A connection that rests has memory for one batch, not for one in each of its places.
TEST_F(TcpOutboxMemory, OfLongCopiesThatLeftTheMemoryOfOneIsKept) {
  TcpOutbox outbox;
  std::vector<TcpOutbox::Finished> finished;
  Bytes copied(3000), referenced(TcpOutbox::kCorkCopyBytes + 1);  // between copies, in their place
  const auto send = [&](Bytes& bytes) {
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(bytes.size());
    const Segment segment{bytes.data(), bytes.size()};
    ASSERT_EQ(outbox.send(near(), record, {&segment, 1}, nullptr), TcpOutbox::Outcome::kWaits);
  };
  std::size_t allocated = 0;
  for (int round = 0; round < 2; ++round) {
    const std::size_t before = test::allocations().bytes;
    outbox.cork();
    for (std::size_t i = 0; i < TcpOutbox::kDepth / 2; ++i) {
      send(copied);
      send(referenced);
    }
    outbox.uncork();
    allocated = test::allocations().bytes - before;
    while (!outbox.empty()) {
      read(10000);
      outbox.flush(near(), &finished);
    }
  }
  EXPECT_GE(allocated, (TcpOutbox::kDepth / 2 - 1) * copied.size()) << "bytes in the second round";
}

}  // namespace
}  // namespace mad
