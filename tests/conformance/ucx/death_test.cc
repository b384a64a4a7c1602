// A process that dies inside a send through shared memory leaves a place in its peer's queue that
// nobody fills: its own queue, so that others go on.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/ucx/engine.h"

namespace mad {
namespace {

/// How a child dies.
enum class Death {
  kBetween,   // between two sends
  kInside,    // inside of its second send, where it copies memory that it may not read
  kLeavingIt  // there, once its peer has disconnected
};

/// A child that connects to the address it reads from `in`, sends a packet, and dies.
[[noreturn]] void die_sending(int in, Death death) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  Bytes address(32);
  if (read(in, address.data(), address.size()) < 0) _exit(1);
  auto opened = open_ucx(on_lo(true, false));
  if (!opened.ok()) _exit(1);
  Driver& driver = **opened;
  const auto to = driver.connect(address.data(), address.size());
  void* const forbidden = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::uint64_t word = 1;
  const Segment first{&word, sizeof(word)}, second{forbidden, 8192};
  const auto deadline = Clock::now() + milliseconds(20000);
  while (driver.post_send(*to, {&first, 1}, nullptr).again() && Clock::now() < deadline) {
    Completion news;
    driver.poll(&news, 1);
  }
  if (death == Death::kLeavingIt && read(in, &word, 1) < 0) _exit(1);
  signal(SIGSEGV, SIG_DFL);  // a sanitizer's is there, too
  if (death != Death::kBetween) (void)driver.post_send(*to, {&second, 1}, nullptr);
  raise(SIGKILL);
  _exit(1);
}

struct Child {
  explicit Child(Death death) {
    EXPECT_EQ(pipe(pipes), 0);
    pid = fork();  // before this process opens UCX
    if (pid == 0) {
      close(pipes[1]);
      die_sending(pipes[0], death);
    }
    close(pipes[0]);
  }
  ~Child() {
    close(pipes[1]);
    if (pid > 0) {
      kill(pid, SIGKILL);
      wait();
    }
  }
  void meet(const UcxEngine& engine) {
    const Bytes address = engine.driver->address();
    EXPECT_EQ(write(pipes[1], address.data(), address.size()),
              static_cast<ssize_t>(address.size()));
  }
  void go_on() { EXPECT_EQ(write(pipes[1], "!", 1), 1); }
  int wait() {
    int status = 0;
    waitpid(pid, &status, 0);
    pid = -1;
    return WTERMSIG(status);
  }
  int pipes[2];
  pid_t pid = -1;
};

class UcxDeath : public ::testing::TestWithParam<Death> {};

TEST_P(UcxDeath, EndsItsOwnConnectionOnly) {
  Child child(GetParam());
  UcxEngine a, b;
  const std::vector<UcxEngine*> all{&a, &b};
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump(all, [&] { return a.station.connected.count(to_b) == 1; }));
  child.meet(a);
  ASSERT_TRUE(pump(all, [&] { return a.station.received.size() == 1; }));
  const ConnectionId of_child = a.station.received[0].connection;
  if (GetParam() == Death::kLeavingIt) {
    a.driver->disconnect(of_child);
    child.go_on();
    EXPECT_EQ(child.wait(), SIGSEGV) << "it did not die inside of the send";
  } else {
    EXPECT_EQ(child.wait(), GetParam() == Death::kInside ? SIGSEGV : SIGKILL);
    ASSERT_TRUE(pump(all, [&] { return a.station.disconnected.count(of_child) == 1; }));
    EXPECT_EQ(a.station.disconnected[of_child].code(), StatusCode::kPeerFailed);
    EXPECT_EQ(a.station.received.size(), 1u) << "what it sent before is all that came";
    a.driver->disconnect(of_child);
  }
  // Over shared memory the engine speaks with whoever is there or comes.
  UcxEngine c;
  const std::vector<UcxEngine*> more{&a, &b, &c};
  const ConnectionId from_b = b.connect(a), from_c = c.connect(a);
  ASSERT_TRUE(pump(more, [&] { return c.station.connected.count(from_c) == 1; }));
  for (std::size_t i = 1; i <= 3 * UcxLane::kPlaces; ++i) {
    Bytes bytes = pattern(3000, static_cast<unsigned>(i));
    ASSERT_FALSE(send(b, from_b, bytes, more).error());
    ASSERT_FALSE(send(c, from_c, bytes, more).error());
    ASSERT_TRUE(pump(more, [&] { return a.station.received.size() == 1 + 2 * i; }));
    ASSERT_EQ(a.station.received.back().bytes, bytes);
  }
  EXPECT_EQ(c.transport(from_c), UcxTransport::kPosix);
  EXPECT_EQ(a.station.disconnected.count(to_b), 0u);
}

const char* name_of(const ::testing::TestParamInfo<Death>& info) {
  if (info.param == Death::kLeavingIt) return "leaving";
  return info.param == Death::kInside ? "inside" : "between";
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxDeath,
                         ::testing::Values(Death::kBetween, Death::kInside, Death::kLeavingIt),
                         name_of);

}  // namespace
}  // namespace mad
