// A process that dies inside a send through shared memory leaves a hole in its peer's queue.
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

TEST(UcxHole, IsNoticedAndTcpGoesOn) {
  Child child(Death::kInside);
  const UcxOptions options = on_lo();
  UcxEngine a(options), b(options), c(on_lo(false, true));
  const std::vector<UcxEngine*> all{&a, &b, &c};
  const ConnectionId to_b = a.connect(b), to_c = a.connect(c);
  ASSERT_TRUE(pump(all, [&] { return a.station.connected.size() == 2; }));
  child.meet(a);
  ASSERT_TRUE(pump(all, [&] { return a.station.received.size() == 1; }));
  ASSERT_EQ(child.wait(), SIGSEGV) << "it did not die inside of the send";
  // The child's death is seen at once, and that b's packets do not come any more, in time.
  ASSERT_TRUE(pump(all, [&] { return a.station.disconnected.size() == 2; }));
  ASSERT_EQ(a.station.disconnected.count(to_b), 1u);
  const Status why = a.station.disconnected[to_b];
  EXPECT_EQ(why.code(), StatusCode::kPeerFailed);
  EXPECT_NE(why.message().find("shared memory"), std::string_view::npos) << why.message();
  ASSERT_TRUE(pump(all, [&] { return b.station.disconnected.size() == 1; }));
  // Over tcp the engine still speaks with whoever is there, b included.
  Bytes bytes = pattern(3000, 1);
  ASSERT_FALSE(send(a, to_c, bytes, all).error());
  const ConnectionId again = a.connect(b);
  ASSERT_FALSE(send(a, again, bytes, all).error());
  ASSERT_TRUE(
      pump(all, [&] { return b.station.received.size() == 1 && c.station.received.size() == 1; }));
  EXPECT_EQ(a.transport(again), UcxTransport::kTcp);
}

// It has said no word of the transports when the hole is found.
TEST(UcxHole, WhoWasOfferedSharedMemoryBeforeIsToldNo) {
  Child child(Death::kInside);
  UcxEngine a;
  DoorOptions options;
  options.fabric = "ucx";
  options.magic = {'M', 'A', 'D', 'U', 'C', 'X'};
  options.interface = "lo";
  auto door = Door::open(options);
  ASSERT_TRUE(door.ok());
  const auto& address = a.driver->address();
  door->call(*door->parse(address.data(), address.size()));
  std::vector<Door::Event> events;
  std::vector<std::uint32_t> ready;
  ASSERT_TRUE(pump({&a}, [&] {
    door->look(&events, &ready);
    return !events.empty();
  }));
  const int socket = events[0].socket.fd();
  DoorReader reader;
  const auto comes = [&](std::size_t bytes) {
    reader.expect(bytes);
    return pump({&a}, [&] { return reader.read(socket) == DoorReader::Outcome::kComplete; });
  };
  ASSERT_TRUE(comes(UcxOffer::kBytes));
  const auto offer = UcxOffer::parse(reader.bytes());
  ASSERT_TRUE(offer && offer->lanes[0].open);
  UcxEngine b;
  const ConnectionId to_b = a.connect(b);
  child.meet(a);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.disconnected.count(to_b) == 1; }));
  const auto own = offer->pack();
  ASSERT_TRUE(tcp_send(socket, own.data(), own.size()));
  ASSERT_TRUE(comes(UcxNote::kBytes));
  const auto note = UcxNote::parse(reader.bytes());
  ASSERT_TRUE(note);
  EXPECT_EQ(note->transport, UcxTransport::kPosix);
  EXPECT_EQ(note->kind, UcxNote::Kind::kNo);
}

// The child's death is the end that a waits for after its last message.
TEST(UcxHole, OfWhomWeLeftIsNoticed) {
  Child child(Death::kLeavingIt);
  UcxEngine a, b;
  const std::vector<UcxEngine*> all{&a, &b};
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump(all, [&] { return a.station.connected.count(to_b) == 1; }));
  child.meet(a);
  ASSERT_TRUE(pump(all, [&] { return a.station.received.size() == 1; }));
  a.driver->disconnect(a.station.received[0].connection);
  child.go_on();
  EXPECT_EQ(child.wait(), SIGSEGV);
  ASSERT_TRUE(pump(all, [&] { return a.station.disconnected.count(to_b) == 1; }));
  const Status why = a.station.disconnected[to_b];
  EXPECT_NE(why.message().find("shared memory"), std::string_view::npos) << why.message();
}

TEST(UcxHole, WhoDiesBetweenSendsLeavesNone) {
  Child child(Death::kBetween);
  const UcxOptions options = on_lo();
  UcxEngine a(options), b(options);
  const std::vector<UcxEngine*> all{&a, &b};
  const ConnectionId to_a = b.connect(a);
  ASSERT_TRUE(pump(all, [&] { return a.station.connected.size() == 1; }));
  child.meet(a);
  ASSERT_TRUE(pump(all, [&] { return a.station.disconnected.size() == 1; }));
  EXPECT_EQ(child.wait(), SIGKILL);
  EXPECT_EQ(a.station.received.size(), 1u) << "what it sent came before its end";
  const auto later = Clock::now() + options.hole_timeout + milliseconds(200);
  ASSERT_TRUE(pump(all, [&] { return Clock::now() > later; }));
  Bytes bytes = pattern(3000, 1);
  ASSERT_FALSE(send(b, to_a, bytes, all).error());
  EXPECT_TRUE(pump(all, [&] { return a.station.received.size() == 2; }));
  EXPECT_EQ(a.station.disconnected.size(), 1u);
}

}  // namespace
}  // namespace mad
