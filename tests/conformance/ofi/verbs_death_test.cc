// Processes that die, and what the device counted, on an RDMA device.
//
// The test starts itself again as the peer, as a child of fork() alone could not use the device.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/ofi/verbs_host.h"
#include "tests/conformance/polled.h"
#include "tests/support/bytes.h"

namespace mad {
namespace {

constexpr const char* kPeerOf = "MAD_TEST_PEER_OF";  // the address, in hexadecimal digits

const auto* const kHost = ::testing::AddGlobalTestEnvironment(new VerbsHost);

std::string digits(const std::vector<std::byte>& address) {
  std::string text;
  for (const std::byte each : address) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[static_cast<unsigned>(each) >> 4];
    text += kDigits[static_cast<unsigned>(each) & 15];
  }
  return text;
}

std::vector<std::byte> bytes(const std::string& digits) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return out;
}

struct VerbsEngine {
  VerbsEngine() : driver(open_verbs()), station(*driver) {}
  std::unique_ptr<Driver> driver;
  Station station;
};

bool pump(VerbsEngine& engine, const std::function<bool()>& done) {
  return poll_all<VerbsEngine>({&engine}, done, std::chrono::milliseconds(60000));
}

/// The peer: connects, says a word, takes what comes, until it is killed.
[[noreturn]] void be_the_peer(const char* address) {
  VerbsEngine engine;
  const std::vector<std::byte> to = bytes(address);
  const auto id = engine.driver->connect(to.data(), to.size());
  if (!id.ok()) _exit(2);
  std::uint64_t word = 7;
  const Segment segment{&word, sizeof(word)};
  while (engine.driver->post_send(*id, {&segment, 1}, nullptr).again()) engine.station.poll();
  for (;;) engine.station.poll();
}

/// Another process of this program.
class Peer {
 public:
  explicit Peer(const std::vector<std::byte>& of) {
    setenv(kPeerOf, digits(of).c_str(), 1);
    char name[] = "/proc/self/exe";
    char* const arguments[] = {name, nullptr};
    EXPECT_EQ(posix_spawn(&pid_, name, nullptr, nullptr, arguments, environ), 0);
    unsetenv(kPeerOf);
  }
  ~Peer() { kill(); }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    (void)waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

/// How often a packet found no receive buffer, as the devices of this host count it.
std::uint64_t times_not_ready() {
  std::uint64_t sum = 0;
  for (const auto& device : std::filesystem::directory_iterator("/sys/class/infiniband")) {
    const std::filesystem::path counters = device.path() / "ports/1/hw_counters";
    if (!std::filesystem::exists(counters)) continue;
    for (const auto& counter : std::filesystem::directory_iterator(counters)) {
      if (counter.path().filename().string().find("rnr") == std::string::npos) continue;
      std::ifstream file(counter.path());
      std::uint64_t value = 0;
      if (file >> value) sum += value;
    }
  }
  return sum;
}

class VerbsDeath : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(pump(engine_, [&] { return engine_.station.received.size() == 1; }));
    id_ = engine_.station.received[0].connection;
  }
  Status post(Bytes& bytes) {
    const Segment segment{bytes.data(), bytes.size()};
    return engine_.driver->post_send(id_, {&segment, 1}, &bytes);
  }

  VerbsEngine engine_;
  Peer peer_{engine_.driver->address()};
  ConnectionId id_ = 0;
};

TEST_F(VerbsDeath, AKilledProcessIsNoticed) {
  peer_.kill();
  ASSERT_TRUE(pump(engine_, [&] { return engine_.station.disconnected.count(id_) == 1; }));
  EXPECT_EQ(engine_.station.disconnected[id_].code(), StatusCode::kPeerFailed);
  Bytes word(8);
  EXPECT_TRUE(post(word).error());
}

TEST_F(VerbsDeath, AProcessKilledWhileItIsSentToIsNoticed) {
  Bytes packet(engine_.driver->caps().nearest().max_packet_bytes, std::byte{1});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(post(packet).error());
    engine_.station.poll();
  }
  peer_.signal(SIGSTOP);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(post(packet).error());
    engine_.station.poll();
  }
  peer_.kill();
  ASSERT_TRUE(pump(engine_, [&] { return engine_.station.disconnected.count(id_) == 1; }));
  EXPECT_EQ(engine_.station.disconnected[id_].code(), StatusCode::kPeerFailed);
}

// A peer that does not look for a while costs its device and ours nothing.
TEST_F(VerbsDeath, NoPacketFindsAReceiverNotReady) {
  const std::uint64_t before = times_not_ready();
  Bytes packet(engine_.driver->caps().nearest().max_packet_bytes, std::byte{1});
  std::size_t posted = 0;
  for (int round = 0; round < 5; ++round) {
    peer_.signal(SIGSTOP);
    for (int i = 0; i < 2000; ++i) {
      const Status status = post(packet);
      ASSERT_FALSE(status.error());
      if (!status.again()) ++posted;
      engine_.station.poll();
    }
    EXPECT_TRUE(post(packet).again()) << "nothing bounds what a peer is sent that does not look";
    peer_.signal(SIGCONT);
    const std::size_t goal = posted + 500;
    ASSERT_TRUE(pump(engine_, [&] {
      if (!post(packet).again()) ++posted;
      return posted >= goal;
    }));
  }
  EXPECT_EQ(times_not_ready(), before);
}

}  // namespace

int run(int count, char** arguments) {
  if (const char* const address = getenv(kPeerOf)) be_the_peer(address);
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}

}  // namespace mad

int main(int count, char** arguments) { return mad::run(count, arguments); }
