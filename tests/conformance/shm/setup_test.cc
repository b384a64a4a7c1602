// How connections come, and what it takes.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/shm/correspondent.h"
#include "tests/support/lack.h"

namespace mad {
namespace {

TEST(ShmSetup, TheMemoryLimitIsANumberOfMebibytes) {
  const char* const variable = "MAD_SHM_LIMIT";
  for (const char* const text :
       {"", "0", "-1", "x", "12x", " 1", "1048577", "18446744073709551617"}) {
    ASSERT_EQ(setenv(variable, text, 1), 0);
    const Status why = open_shm({}).status();
    EXPECT_EQ(why.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(why.message().find(variable), std::string_view::npos) << why.message();
  }
  ASSERT_EQ(setenv(variable, "1048576", 1), 0);
  EXPECT_TRUE(open_shm({}).ok());
  ASSERT_EQ(setenv(variable, "1", 1), 0);
  ShmEngine a;
  ASSERT_EQ(unsetenv(variable), 0);
  std::optional<ConnectionId> last;
  for (std::size_t used = 0; used <= std::size_t{1} << 20;) {
    last = a.connect(address_of(getpid(), random_secret()));
    used += kShmPieceLimit + kShmLaneHeadBytes;
  }
  const Status why = end_of(a, *last, {&a});
  EXPECT_EQ(why.code(), StatusCode::kNoMemory);
  EXPECT_NE(why.message().find(" 1024 KiB"), std::string_view::npos) << why.message();
}

/// The link of two such engines.
LinkCaps link_of_two() {
  ShmEngine a, b;
  const ConnectionId to_b = a.connect(b);
  EXPECT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(to_b) == 1; }));
  EXPECT_EQ(a.driver->caps().remote_write,
            a.driver->link(to_b).write_runs_from != LinkCaps::kNever);
  return a.driver->link(to_b);
}

TEST(ShmSetup, SingleCopyIsAsTheEnvironmentSays) {
  const char* const variable = "MAD_SHM_SINGLE_COPY";
  const LinkCaps unset = link_of_two();
  EXPECT_EQ(unset.write_runs_from, 4096u);
  EXPECT_EQ(unset.offered_from, 16u * 1024);
  EXPECT_EQ(unset.most_offered, 16u * 1024 * 1024);
  EXPECT_TRUE(unset.weighs_offers && unset.offers_are_weighed);
  ASSERT_EQ(setenv(variable, "1", 1), 0);
  const LinkCaps always = link_of_two();
  EXPECT_EQ(always.write_runs_from, 4096u);
  EXPECT_EQ(always.offered_from, 12u * 1024);
  EXPECT_FALSE(always.weighs_offers || always.offers_are_weighed);
  ASSERT_EQ(setenv(variable, "0", 1), 0);
  const LinkCaps never = link_of_two();
  EXPECT_EQ(never.write_runs_from, LinkCaps::kNever);
  EXPECT_EQ(never.most_offered, 0u);
  EXPECT_FALSE(never.offers_are_weighed);
  for (const char* const text : {"", "yes", "11"}) {
    ASSERT_EQ(setenv(variable, text, 1), 0);
    const Status why = open_shm({}).status();
    EXPECT_EQ(why.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(why.message().find(variable), std::string_view::npos) << why.message();
  }
  ASSERT_EQ(unsetenv(variable), 0);
}

TEST(ShmSetup, WithoutFilesItMayBeOpenedLater) {
  EXPECT_TRUE(open_shm({}).ok());
  rlim_t spare = 0;
  StatusCode code = StatusCode::kNoMemory;
  for (; code == StatusCode::kNoMemory && spare < 20; ++spare) {
    const NoFiles none(spare);
    code = open_shm({}).status().code();
  }
  EXPECT_EQ(code, StatusCode::kOk) << spare;
  EXPECT_GT(spare, 1u);
}

/// This process may not call `number` any more, as on old systems and in their containers.
bool forbid(unsigned number) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof(rules) / sizeof(rules[0]), rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// What open_shm() says in a process that `prepare` was called in, if that was possible.
std::optional<StatusCode> opened_in_child(const std::function<bool()>& prepare) {
  constexpr int kImpossible = 100;
  const pid_t child = fork();
  if (child == 0) {
    if (!prepare()) _exit(kImpossible);
    _exit(static_cast<int>(open_shm({}).status().code()));
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == kImpossible) return std::nullopt;
  return static_cast<StatusCode>(WEXITSTATUS(status));
}

// Without the one there is no memory, without the other the end of a process would go unnoticed.
TEST(ShmSetup, WhereTheSystemLacksCallsThereIsNoShm) {
  for (const unsigned number : {SYS_memfd_create, SYS_pidfd_open}) {
    const auto code = opened_in_child([&] { return forbid(number); });
    if (!code) GTEST_SKIP() << "may not forbid calls here";
    EXPECT_EQ(*code, StatusCode::kNotFound) << number;
  }
}

// As daemons do: then its first file has the number 0.
TEST(ShmSetup, AProcessMayHaveClosedItsInput) {
  EXPECT_EQ(opened_in_child([] { return close(0) == 0; }), StatusCode::kOk);
}

// A file is the peer's process.
TEST(ShmSetup, WithoutFilesAPeerMayBeReachedLater) {
  Met met;
  ShmEngine c;
  testing::internal::CaptureStderr();
  ConnectionId id = 0;
  {
    const NoFiles none;
    id = met.a.connect(c);
  }
  EXPECT_EQ(end_of(met.a, id, {&met.a}).code(), StatusCode::kNoMemory);
  met.a.driver->disconnect(id);
  (void)testing::internal::GetCapturedStderr();
  id = met.a.connect(c);
  EXPECT_TRUE(pump({&met.a, &c}, [&] { return met.a.station.connected.count(id) == 1; }));
}

// By strangers, say: the owner has time to read, and whoever waits for that may sleep.
TEST(ShmSetup, WhoseBoxIsFullIsMetLater) {
  ShmEngine a, b;
  Correspondent stranger(b);
  while (stranger.send().ok()) {
  }
  const ConnectionId id = a.connect(b);
  std::vector<pollfd> sleep;
  ASSERT_TRUE(pump({&a}, [&] { return a.driver->watch(&sleep).ok(); }));
  ASSERT_EQ(sleep.size(), 1u);
  EXPECT_EQ(::poll(sleep.data(), 1, 10000), 1) << "but not for ever";
  EXPECT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(id) == 1; }));
}

// The peer has our first letter, and its box has no room for the second.
TEST(ShmSetup, WhoIsMetNeedsNoOtherLetter) {
  ShmEngine a, b;
  Correspondent stranger(a);
  const auto fill_box = [&] {
    while (stranger.send().ok()) {
    }
  };
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump({&b}, [&] { return b.shm().connection(0) != nullptr; }));
  const ConnectionId to_a = b.connect(a);
  const ShmConnection& at_b = *b.shm().connection(to_a);
  ASSERT_TRUE(at_b.in && at_b.greeted);
  fill_box();
  ASSERT_TRUE(pump({&b}, [&] { return !at_b.greeted; })) << "it asks again";
  ASSERT_TRUE(pump({&a}, [&] { return a.station.connected.count(to_b) == 1; }));
  std::byte byte{1};
  const Segment segment{&byte, 1};
  ASSERT_TRUE(a.driver->post_send(to_b, {&segment, 1}, nullptr).ok());
  fill_box();
  Completion news;
  ASSERT_EQ(b.driver->poll(&news, 1), 1u);
  EXPECT_EQ(news.kind, Completion::Kind::kConnected);
  EXPECT_EQ(b.driver->link(to_a).max_packet_bytes, kShmPieceBytes);
  EXPECT_TRUE(pump({&b}, [&] { return b.station.received.size() == 1; }));
}

// All that it had to say stands in its lane.
TEST(ShmSetup, WhoLeftOnceItWasConnectedIsHeardOut) {
  ShmEngine b;
  auto a = std::make_unique<ShmEngine>();
  const ConnectionId to_b = a->connect(b);
  ASSERT_TRUE(pump({&b}, [&] { return b.shm().connection(0) != nullptr; }));
  const ConnectionId to_a = b.connect(*a);
  std::vector<pollfd> sleep;
  ASSERT_TRUE(pump({&b}, [&] { return b.driver->watch(&sleep).ok(); }));
  ASSERT_TRUE(pump({a.get()}, [&] { return a->station.connected.count(to_b) == 1; }));
  std::byte byte{1};
  const Segment segment{&byte, 1};
  ASSERT_TRUE(a->driver->post_send(to_b, {&segment, 1}, nullptr).ok());
  a->driver->disconnect(to_b);
  a.reset();
  std::this_thread::sleep_for(kShmProbeEvery + milliseconds(50));
  EXPECT_EQ(end_of(b, to_a, {&b}).code(), StatusCode::kClosed);
  EXPECT_EQ(b.station.received.size(), 1u);
}

// Of an engine whose process goes on nobody else tells.
TEST(ShmSetup, WhoLeftWithoutReadingItsLettersIsMissed) {
  testing::internal::CaptureStderr();
  ShmEngine a;
  auto other = std::make_unique<Correspondent>(a);
  const ConnectionId id = a.connect(other->address());
  a.station.poll();
  other.reset();
  const Status why = end_of(a, id, {&a});
  EXPECT_EQ(why.code(), StatusCode::kUnreachable);
  EXPECT_NE(why.message().find("left before we were connected"), std::string_view::npos)
      << why.message();
  (void)testing::internal::GetCapturedStderr();
}

TEST(ShmSetup, AlsoByWhoSleeps) {
  testing::internal::CaptureStderr();
  ShmEngine a;
  auto other = std::make_unique<Correspondent>(a);
  const ConnectionId id = a.connect(other->address());
  while (a.station.disconnected.count(id) == 0) {
    std::vector<pollfd> sleep;
    const Status may = a.driver->watch(&sleep);
    ASSERT_TRUE(may.ok() || may.again());
    other.reset();
    if (may.ok()) {
      ASSERT_GT(::poll(sleep.data(), sleep.size(), 20000), 0);
    }
    a.station.poll();
  }
  EXPECT_EQ(a.station.disconnected[id].code(), StatusCode::kUnreachable);
  (void)testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace mad
