// Processes that die, and what is left of them.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/ofi/rdm_engine.h"

namespace mad {
namespace {

/// A child that connects to the address it reads from `in`, sends a word, and waits for its end.
[[noreturn]] void be_the_peer(int in, std::size_t address_bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Bytes address(address_bytes);
  if (read(in, address.data(), address.size()) != static_cast<ssize_t>(address.size())) _exit(1);
  auto opened = open_ofi(datagrams_on_lo());
  if (!opened.ok()) _exit(1);
  Driver& driver = **opened;
  const auto to = driver.connect(address.data(), address.size());
  if (!to.ok()) _exit(1);
  std::uint64_t word = 1;
  const Segment segment{&word, sizeof(word)};
  Completion news;
  while (driver.post_send(*to, {&segment, 1}, nullptr).again()) (void)driver.poll(&news, 1);
  for (;;) {
    if (driver.poll(&news, 1) > 0 && news.buffer != nullptr) driver.release(news.buffer);
  }
}

class Child {
 public:
  static constexpr std::size_t kAddressBytes = 32;  // of IPv4
  Child() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();  // before this process opens libfabric
    if (pid_ == 0) {
      close(ends[1]);
      be_the_peer(ends[0], kAddressBytes);
    }
    close(ends[0]);
    out_ = ends[1];
  }
  ~Child() {
    kill();
    close(out_);
  }
  void meet(const RdmEngine& engine) const {
    const Bytes& address = engine.driver->address();
    ASSERT_EQ(address.size(), kAddressBytes);
    EXPECT_EQ(write(out_, address.data(), address.size()), static_cast<ssize_t>(address.size()));
  }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    (void)waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  int out_ = -1;
};

class RdmDeath : public ::testing::Test {
 protected:
  void SetUp() override {
    to_b = a.connect(b);
    child.meet(a);
    ASSERT_TRUE(pump(both, [&] {
      return a.station.received.size() == 1 && a.station.connected.count(to_b) == 1;
    }));
    to_child = a.station.received[0].connection;
  }
  Status post(ConnectionId to, Bytes& bytes) {
    const Segment segment{bytes.data(), bytes.size()};
    return a.driver->post_send(to, {&segment, 1}, &bytes);
  }
  void ends_and_others_go_on() {
    ASSERT_TRUE(pump(both, [&] { return a.station.disconnected.count(to_child) == 1; }));
    EXPECT_EQ(a.station.disconnected[to_child].code(), StatusCode::kPeerFailed);
    a.driver->disconnect(to_child);
    for (int i = 0; i < 100; ++i) {
      Bytes bytes = pattern(8000, static_cast<unsigned>(i));
      ASSERT_FALSE(post_polling(a, to_b, bytes, both).error());
    }
    ASSERT_TRUE(pump(both, [&] { return b.station.received.size() == 100; }));
    // What was sent to the dead comes back, and its address is forgotten.
    EXPECT_TRUE(pump(both, [&] { return a.driver->addresses() == 1; }));
    EXPECT_EQ(a.driver->connections(), 1u);
  }

  Child child;
  RdmEngine a, b;
  const std::vector<RdmEngine*> both{&a, &b};
  ConnectionId to_b = 0, to_child = 0;
};

TEST_F(RdmDeath, AKilledProcessIsNoticed) {
  child.kill();
  ends_and_others_go_on();
}

TEST_F(RdmDeath, AProcessKilledWhileItIsSentToIsNoticed) {
  child.signal(SIGSTOP);
  std::vector<Bytes> sent(CreditPool::kMost + 1u, Bytes(8000, std::byte{1}));
  std::size_t in_progress = 0;
  for (Bytes& each : sent) {
    const Status status = post(to_child, each);
    ASSERT_FALSE(status.error());
    in_progress += status.in_progress() ? 1 : 0;
    a.station.poll();
  }
  EXPECT_GT(in_progress, 0u);
  EXPECT_TRUE(post(to_child, sent[0]).again()) << "nothing bounds what it is sent";
  child.kill();
  ends_and_others_go_on();
  EXPECT_TRUE(pump(both, [&] { return a.station.finished_count == in_progress + 100; }))
      << "each is told of once";
}

}  // namespace
}  // namespace mad
