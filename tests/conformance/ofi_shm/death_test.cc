// A process that dies inside of libfabric leaves spin locks in memory that both sides use: that of
// its own connection, which nobody calls libfabric for any more, so that others go on.
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "tests/conformance/ip/engine.h"

namespace mad {
namespace {

/// How a child dies.
enum class Death {
  kBetween,   // between two sends
  kInside,    // inside of its second send, where it copies memory that it may not read
  kLeavingIt  // there, once its peer has disconnected
};

EngineOptions shm() {
  EngineOptions options;
  options.fabric = "ofi:shm";
  return options;
}

/// A child that connects to the address it reads from `in`, sends a packet, and dies in a send of
/// `bytes`.
[[noreturn]] void die_sending(int in, Death death, std::size_t bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  Bytes address(32);
  if (read(in, address.data(), address.size()) < 0) _exit(1);
  const auto driver = open(shm());
  const auto to = driver->connect(address.data(), address.size());
  if (!to.ok()) _exit(1);
  void* const forbidden = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::uint64_t word = 1;
  const Segment first{&word, sizeof(word)}, second{forbidden, bytes};
  const auto deadline = Clock::now() + milliseconds(20000);
  while (driver->post_send(*to, {&first, 1}, nullptr).again() && Clock::now() < deadline) {
    Completion news;
    driver->poll(&news, 1);
  }
  // What it sent before goes with it, so that its peer takes that first.
  if (read(in, &word, 1) < 0) _exit(1);
  signal(SIGSEGV, SIG_DFL);  // a sanitizer's is there, too
  if (death != Death::kBetween) (void)driver->post_send(*to, {&second, 1}, nullptr);
  raise(SIGKILL);
  _exit(1);
}

struct Child {
  Child(Death death, std::size_t bytes) {
    EXPECT_EQ(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
      close(pipes[1]);
      die_sending(pipes[0], death, bytes);
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
  void meet(const Engine& engine) {
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

/// Names of ours in /dev/shm.
std::set<std::string> names() {
  std::set<std::string> found;
  DIR* const directory = opendir("/dev/shm");
  while (const dirent* const entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name.rfind("mad-shm-", 0) == 0 || name.rfind("mad-gate-", 0) == 0) found.insert(name);
  }
  closedir(directory);
  return found;
}

/// Names that were not there before and stay: those of other processes come and go.
std::set<std::string> left_since(const std::set<std::string>& before) {
  std::set<std::string> left = names();
  for (const std::string& name : before) left.erase(name);
  for (int i = 0; i < 100 && !left.empty(); ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    const std::set<std::string> now = names();
    for (auto name = left.begin(); name != left.end();) {
      name = now.count(*name) == 0 ? left.erase(name) : std::next(name);
    }
  }
  return left;
}

using Scene = std::tuple<Death, std::size_t>;
class OfiShmDeath : public ::testing::TestWithParam<Scene> {};

TEST_P(OfiShmDeath, EndsItsOwnConnectionOnly) {
  const auto [death, size] = GetParam();
  Child child(death, size);
  Engine a(shm()), b(shm());
  const std::vector<Engine*> all{&a, &b};
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump(all, [&] { return a.station.connected.count(to_b) == 1; }));
  child.meet(a);
  ASSERT_TRUE(pump(all, [&] { return a.station.received.size() == 1; }));
  const ConnectionId of_child = a.station.received[0].connection;
  if (death == Death::kLeavingIt) {
    a.driver->disconnect(of_child);
    child.go_on();
    EXPECT_EQ(child.wait(), SIGSEGV) << "it did not die inside of the send";
  } else {
    child.go_on();
    EXPECT_EQ(child.wait(), death == Death::kInside ? SIGSEGV : SIGKILL);
    ASSERT_TRUE(pump(all, [&] { return a.station.disconnected.count(of_child) == 1; }));
    EXPECT_EQ(a.station.disconnected[of_child].code(), StatusCode::kPeerFailed);
    EXPECT_EQ(a.station.received.size(), 1u) << "what it sent before is all that came";
    a.driver->disconnect(of_child);
  }
  // The engine speaks with whoever is there or comes.
  Engine c(shm());
  const std::vector<Engine*> more{&a, &b, &c};
  const ConnectionId from_b = b.connect(a), from_c = c.connect(a);
  ASSERT_TRUE(pump(more, [&] { return c.station.connected.count(from_c) == 1; }));
  for (std::size_t i = 1; i <= 200; ++i) {
    Bytes bytes = pattern(i % 2 == 0 ? 3000 : 30000, static_cast<unsigned>(i));
    ASSERT_FALSE(send(b, from_b, bytes, more).error());
    ASSERT_FALSE(send(c, from_c, bytes, more).error());
    ASSERT_TRUE(pump(more, [&] { return a.station.received.size() == 1 + 2 * i; }));
    ASSERT_EQ(a.station.received.back().bytes, bytes);
  }
  EXPECT_EQ(a.station.disconnected.count(to_b), 0u);
}

std::string name_of(const ::testing::TestParamInfo<Scene>& info) {
  const auto [death, size] = info.param;
  const char* const where = death == Death::kLeavingIt ? "leaving"
                            : death == Death::kInside  ? "inside"
                                                       : "between";
  return where + std::to_string(size);
}

// In the three ways in which libfabric takes a message.
INSTANTIATE_TEST_SUITE_P(OfiShm, OfiShmDeath,
                         ::testing::Combine(::testing::Values(Death::kBetween, Death::kInside,
                                                              Death::kLeavingIt),
                                            ::testing::Values(100, 4000, 30000)),
                         name_of);

// Killed anywhere, in the middle of traffic both ways.
TEST(OfiShmDeaths, NobodyWaitsForTheKilled) {
  constexpr int kRounds = 40;
  Engine a(shm()), b(shm());
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(to_b) == 1; }));
  std::vector<Bytes> sizes;
  for (const std::size_t size : {100, 4000, 30000}) sizes.push_back(pattern(size, 1));
  for (int round = 0; round < kRounds; ++round) {
    const Bytes address = a.driver->address();
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const auto driver = open(shm());
      const auto to = driver->connect(address.data(), address.size());
      const auto deadline = Clock::now() + milliseconds(20000);
      for (std::size_t i = 0; Clock::now() < deadline; ++i) {
        Bytes& bytes = sizes[i % sizes.size()];
        const Segment segment{bytes.data(), bytes.size()};
        (void)driver->post_send(*to, {&segment, 1}, nullptr);
        Completion news;
        if (driver->poll(&news, 1) == 1 && news.buffer != nullptr) driver->release(news.buffer);
      }
      _exit(1);
    }
    a.station.received.clear();
    a.station.disconnected.clear();
    const std::size_t enough = 10 + 7 * static_cast<std::size_t>(round);
    ASSERT_TRUE(pump({&a}, [&] { return a.station.received.size() > enough; }));
    const ConnectionId of_child = a.station.received.back().connection;
    kill(child, SIGKILL);
    ASSERT_TRUE(pump({&a, &b}, [&] {
      const Segment segment{sizes[2].data(), sizes[2].size()};
      (void)a.driver->post_send(of_child, {&segment, 1}, nullptr);
      return a.station.disconnected.count(of_child) == 1;
    }));
    EXPECT_EQ(a.station.disconnected[of_child].code(), StatusCode::kPeerFailed);
    a.driver->disconnect(of_child);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
  Bytes word = number_of(4711);
  b.station.received.clear();
  ASSERT_FALSE(send(a, to_b, word, {&a, &b}).error());
  EXPECT_TRUE(pump({&a, &b}, [&] { return b.station.received.size() == 1; }));
}

TEST(OfiShmDeaths, NothingIsLeftInDevShm) {
  const std::set<std::string> before = names();
  Child child(Death::kInside, 30000);
  Engine a(shm());
  child.meet(a);
  ASSERT_TRUE(pump({&a}, [&] { return a.station.received.size() == 1; }));
  EXPECT_EQ(left_since(before), std::set<std::string>()) << "of a connection that stands";
  child.go_on();
  EXPECT_EQ(child.wait(), SIGSEGV);
  EXPECT_EQ(left_since(before), std::set<std::string>());
}

// Neither waits for the other's end.
TEST(OfiShmEnds, BothSidesMayLeaveAtOnce) {
  Engine a(shm()), b(shm());
  const std::size_t files = open_files();
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return b.station.connected.size() == 1; }));
  const ConnectionId to_a = b.connect(a);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.connected.size() == 1; }));
  a.driver->disconnect(to_b);
  b.driver->disconnect(to_a);
  EXPECT_TRUE(pump(
      {&a, &b}, [&] { return open_files() <= files; }, milliseconds(5000)));
}

// libfabric would remove names of shared memory there, which are removed long before.
TEST(OfiShmManners, SignalsAreTheProgramsOwn) {
  const int signals[] = {SIGBUS, SIGSEGV, SIGTERM, SIGINT};
  struct sigaction before[4], after[4];
  for (int i = 0; i < 4; ++i) sigaction(signals[i], nullptr, &before[i]);
  Engine a(shm()), b(shm());
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(to_b) == 1; }));
  for (int i = 0; i < 4; ++i) {
    sigaction(signals[i], nullptr, &after[i]);
    EXPECT_EQ(after[i].sa_sigaction, before[i].sa_sigaction) << signals[i];
  }
}

}  // namespace
}  // namespace mad
