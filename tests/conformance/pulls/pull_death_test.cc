// Processes that die while one reads the other's memory.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <utility>

#include "gtest/gtest.h"
#include "tests/conformance/pulls/fabrics.h"
#include "tests/support/bytes.h"

namespace mad {
namespace {

constexpr std::size_t kBytes = 200000, kSlots = 16;

/// What the parent tells its child.
struct Orders {
  std::byte address[64];
  std::size_t address_bytes;
  unsigned die_after;  // microseconds from the first write's end on
};

/// A child, forked before this process opens the fabric, that runs `live` with an engine that is
/// connected to the parent's, until it dies.
class Child {
 public:
  using Life = void (*)(Driver&, ConnectionId, const Orders&);
  Child(const PullFabric& fabric, Life live) {
    EXPECT_EQ(pipe(pipes_), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Orders orders;
    if (read(pipes_[0], &orders, sizeof(orders)) != sizeof(orders)) _exit(1);
    const std::unique_ptr<Driver> driver = fabric.open();
    const auto to = driver->connect(orders.address, orders.address_bytes);
    if (!to.ok()) _exit(3);
    live(*driver, *to, orders);
    _exit(4);
  }
  ~Child() {
    if (pid_ > 0) die();
    close(pipes_[0]);
    close(pipes_[1]);
  }
  void meet(const PullEngine& engine, unsigned die_after) {
    Orders orders{};
    const auto& address = engine.driver->address();
    ASSERT_LE(address.size(), sizeof(orders.address));
    orders.address_bytes = address.size();
    std::copy(address.begin(), address.end(), orders.address);
    orders.die_after = die_after;
    ASSERT_EQ(write(pipes_[1], &orders, sizeof(orders)), static_cast<ssize_t>(sizeof(orders)));
  }
  /// Kills it; true: that, or its own alarm, was its end.
  bool die() {
    kill(pid_, SIGKILL);
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFSIGNALED(status);
  }

 private:
  int pipes_[2];
  pid_t pid_ = -1;
};

/// Polls until a packet comes, and returns its first bytes.
template <typename Value>
Value await(Driver& driver) {
  for (;;) {
    Completion news;
    if (driver.poll(&news, 1) == 0 || news.buffer == nullptr) continue;
    Value value{};
    if (news.bytes.size == sizeof(value)) std::memcpy(&value, news.bytes.data, sizeof(value));
    driver.release(news.buffer);
    return value;
  }
}

void post(Driver& driver, ConnectionId to, const void* bytes, std::size_t size) {
  const Segment segment{const_cast<void*>(bytes), size};
  Completion news;
  while (driver.post_send(to, {&segment, 1}, nullptr).again()) (void)driver.poll(&news, 1);
}

/// Writes to one slot after the other and says so, until it dies.
void write_until_death(Driver& driver, ConnectionId to, const Orders& orders) {
  const std::uint64_t hello = 0;
  post(driver, to, &hello, sizeof(hello));
  const auto token = await<ExposureToken>(driver);
  const itimerval soon{{0, 0}, {0, static_cast<suseconds_t>(orders.die_after)}};
  bool armed = false;
  std::vector<Bytes> sources;
  for (unsigned i = 0; i < kSlots; ++i) sources.push_back(pattern(kBytes, i));
  for (std::uint64_t i = 0;; ++i) {
    const Segment segment{sources[i % kSlots].data(), kBytes};
    Completion news;
    while (driver.post_write(to, {&segment, 1}, token, i % kSlots * kBytes, nullptr).again()) {
      if (driver.poll(&news, 1) == 0 || news.kind != Completion::Kind::kWritten) continue;
      if (!std::exchange(armed, true)) setitimer(ITIMER_REAL, &soon, nullptr);
    }
    post(driver, to, &i, sizeof(i));
  }
}

/// Exposes memory and reads what is written there, until it is killed.
void read_until_death(Driver& driver, ConnectionId to, const Orders&) {
  std::vector<std::byte> memory(kSlots * kBytes);
  const auto token = driver.expose(to, {memory.data(), memory.size()});
  if (!token.ok()) _exit(5);
  post(driver, to, &*token, sizeof(*token));
  for (;;) {
    Completion news;
    (void)driver.poll(&news, 1);
  }
}

class PullDeath : public ::testing::TestWithParam<PullFabric> {};

// The bytes of every packet that comes are there before it, whenever the sender died.
TEST_P(PullDeath, OfTheSender) {
  std::mt19937 random(4711);
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 20; ++i)
    children.push_back(std::make_unique<Child>(GetParam(), write_until_death));
  PullEngine a(GetParam());
  std::vector<Bytes> expected;
  for (unsigned i = 0; i < kSlots; ++i) expected.push_back(pattern(kBytes, i));
  std::size_t received = 0;
  for (auto& child : children) {
    child->meet(a, 1 + random() % 3000);
    a.station.received.clear();
    ASSERT_TRUE(pump({&a}, [&] { return a.station.received.size() == 1; }));
    const ConnectionId from = a.station.received[0].connection;
    a.station.received.clear();
    Bytes memory(kSlots * kBytes);
    const auto token = a.driver->expose(from, {memory.data(), memory.size()});
    ASSERT_TRUE(token.ok());
    Bytes words(sizeof(*token));
    std::memcpy(words.data(), &*token, sizeof(*token));
    ASSERT_FALSE(post_polling(a, from, words, {&a}).error());
    std::uint64_t next = 0;
    ASSERT_TRUE(pump({&a}, [&] {
      for (const auto& packet : a.station.received) {
        std::uint64_t number = 0;
        std::memcpy(&number, packet.bytes.data(), sizeof(number));
        EXPECT_EQ(number, next++);
        const std::byte* const place = &memory[number % kSlots * kBytes];
        EXPECT_TRUE(std::equal(place, place + kBytes, expected[number % kSlots].begin()));
      }
      a.station.received.clear();
      return a.station.disconnected.count(from) == 1;
    }));
    EXPECT_EQ(a.station.disconnected[from].code(), StatusCode::kPeerFailed)
        << a.station.disconnected[from].message();
    received += next;
    a.driver->withdraw(from, *token);
    a.driver->disconnect(from);
    EXPECT_TRUE(child->die());
  }
  EXPECT_GT(received, 0u);
}

// Every write has one completion, whenever the receiver died.
TEST_P(PullDeath, OfTheReceiver) {
  std::mt19937 random(4711);
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 20; ++i)
    children.push_back(std::make_unique<Child>(GetParam(), read_until_death));
  PullEngine a(GetParam());
  Bytes source = pattern(kBytes, 1);
  std::size_t failed = 0;
  for (auto& child : children) {
    child->meet(a, 0);
    a.station.received.clear();
    ASSERT_TRUE(pump({&a}, [&] { return a.station.received.size() == 1; }));
    const ConnectionId to = a.station.received[0].connection;
    ExposureToken token;
    ASSERT_EQ(a.station.received[0].bytes.size(), sizeof(token));
    std::memcpy(&token, a.station.received[0].bytes.data(), sizeof(token));
    a.station.finished_count = 0;
    a.station.finished.clear();
    a.station.finished_status.clear();
    const Segment segment{source.data(), source.size()};
    std::vector<int> contexts(10000);
    std::size_t posted = 0;
    const std::size_t last = random() % 200;
    ASSERT_TRUE(pump({&a}, [&] {
      for (bool taken = true; taken && posted < contexts.size();) {
        taken = a.driver->post_write(to, {&segment, 1}, token, 0, &contexts[posted]).in_progress();
        if (taken) ++posted;
        if (taken && posted == last + 1) {
          EXPECT_TRUE(child->die());
        }
      }
      return a.station.disconnected.count(to) == 1;
    }));
    EXPECT_EQ(a.station.disconnected[to].code(), StatusCode::kPeerFailed);
    EXPECT_EQ(a.station.finished_count, posted);
    for (std::size_t i = 0; i < posted; ++i) EXPECT_EQ(a.station.finished[&contexts[i]], 1);
    for (const auto& each : a.station.finished_status) failed += each.second.error();
    a.driver->disconnect(to);
  }
  EXPECT_GT(failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, PullDeath, ::testing::ValuesIn(pull_fabrics()), pull_fabric_name);

}  // namespace
}  // namespace mad
