// What an outbox does when the system lacks memory, and how much it keeps itself.
#include <dlfcn.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "madlike/driver/tcp/narrow_socket.h"
#include "madlike/driver/tcp/outbox.h"
#include "tests/support/allocations.h"

namespace {

// What send() and sendmsg() fail with; 0: they work.
int send_error = 0;
// Bytes that send() takes at most; 0: all of them.
std::size_t send_at_most = 0;
// What a socket's buffer holds, and what of it is used, by what the system says; 0: it says
// nothing.
std::uint32_t buffer_bytes = 1 << 20, queued_bytes = 0;
int times_asked = 0;

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
  if (send_error != 0) return fail();
  const std::size_t taken = send_at_most == 0 ? size : std::min(size, send_at_most);
  return real<decltype(send)>("send")(socket, bytes, taken, flags);
}
extern "C" int getsockopt(int socket, int level, int name, void* value, socklen_t* size) noexcept {
  if (level != SOL_SOCKET || name != SO_MEMINFO) {
    return real<decltype(getsockopt)>("getsockopt")(socket, level, name, value, size);
  }
  ++times_asked;
  if (buffer_bytes == 0) {
    errno = ENOPROTOOPT;
    return -1;
  }
  auto* const memory = static_cast<std::uint32_t*>(value);
  memory[SK_MEMINFO_SNDBUF] = buffer_bytes;
  memory[SK_MEMINFO_WMEM_QUEUED] = queued_bytes;
  return 0;
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

class Written final : public PacketWriter {
 public:
  explicit Written(const Bytes& bytes) : PacketWriter(bytes.size()), bytes_(bytes) {}

 private:
  void write_next(Segment room) override { std::copy_n(bytes_.begin(), room.size, room.begin()); }

  const Bytes& bytes_;
};

// The system said that there is room, and then has no memory for all of it.
TEST_F(TcpOutboxMemory, TheRestOfAShortPacketGoesBeforeAllThatFollows) {
  const Bytes first = pattern(101, 3);
  Bytes second(40, std::byte{2});
  const Segment segment{second.data(), second.size()};
  TcpRecord record, next;
  record.bytes = static_cast<std::uint32_t>(first.size());
  next.bytes = static_cast<std::uint32_t>(second.size());
  for (std::size_t taken = 1; taken < record.all_bytes(); ++taken) {
    TcpOutbox outbox;
    Written writer(first);
    send_at_most = taken;
    EXPECT_EQ(outbox.send_short(near(), writer), TcpOutbox::Outcome::kWaits);
    send_at_most = 0;
    expect(record, first);
    Written overtakes(first);
    EXPECT_EQ(outbox.send_short(near(), overtakes), TcpOutbox::Outcome::kFull);
    int context = 0;
    const TcpOutbox::Finished tell{Completion::Kind::kSent, &context};
    EXPECT_EQ(outbox.send(near(), next, {&segment, 1}, &tell), TcpOutbox::Outcome::kWaits);
    expect(next, second);
    std::vector<TcpOutbox::Finished> finished;
    EXPECT_TRUE(outbox.flush(near(), &finished));
    EXPECT_TRUE(outbox.empty());
    ASSERT_EQ(finished.size(), 1u) << "of the first nobody is told";
    EXPECT_EQ(finished[0].context, &context);
    read_all();
    ASSERT_EQ(read_, expected_) << taken;
  }
}

TEST_F(TcpOutboxMemory, ShortPacketsLeaveOnlyWhereThereIsRoomForAllOfThem) {
  const Bytes bytes = pattern(1000, 3);
  TcpOutbox outbox;
  const auto send = [&] {
    Written writer(bytes);
    const TcpOutbox::Outcome outcome = outbox.send_short(near(), writer);
    read_all();
    return outcome;
  };
  queued_bytes = buffer_bytes - 16 * 1024 - 3000;
  EXPECT_EQ(send(), TcpOutbox::Outcome::kFull);
  queued_bytes = buffer_bytes + 1;
  EXPECT_EQ(send(), TcpOutbox::Outcome::kFull);
  const std::uint32_t known = std::exchange(buffer_bytes, 0);
  EXPECT_EQ(send(), TcpOutbox::Outcome::kFull) << "nothing is known";
  buffer_bytes = known;
  queued_bytes = buffer_bytes - 16 * 1024 - 15000;
  times_asked = 0;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(send(), TcpOutbox::Outcome::kSent);
  EXPECT_EQ(times_asked, 1) << "it is asked again when it may be full";
  EXPECT_EQ(send(), TcpOutbox::Outcome::kSent);
  EXPECT_EQ(times_asked, 2);
  queued_bytes = 0;
  send_error = EAGAIN;
  EXPECT_EQ(send(), TcpOutbox::Outcome::kFull) << "it takes nothing all the same";
  send_error = 0;
  for (int i = 0; i < 5; ++i) {
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(bytes.size());
    expect(record, bytes);
  }
  read_all();
  EXPECT_EQ(read_, expected_);
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
