// Processes that are killed, at any instant: nobody else loses a connection, who is left notices at
// once, also asleep, and nothing is left behind.
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>

#include "tests/conformance/shm/engine.h"

namespace mad {
namespace {

/// Names that the files of this process have, as /proc has it, and those of /dev/shm.
std::multiset<std::string> remains() {
  std::multiset<std::string> names;
  for (const std::string directory : {"/proc/self/fd", "/dev/shm"}) {
    DIR* const files = opendir(directory.c_str());
    if (files == nullptr) continue;
    while (const dirent* const entry = readdir(files)) {
      const std::string path = directory + '/' + entry->d_name;
      char target[256] = {};
      const bool is_link = readlink(path.c_str(), target, sizeof(target) - 1) > 0;
      const std::string name = is_link ? target : path;
      if (name.find("mad") != std::string::npos) names.insert(name);
    }
    closedir(files);
  }
  return names;
}

/// Nothing stays that was not there before; what other processes have comes and goes.
bool nothing_stays(const std::multiset<std::string>& before) {
  for (int i = 0; i < 100; ++i) {
    const auto now = remains();
    if (std::includes(before.begin(), before.end(), now.begin(), now.end())) return true;
    std::this_thread::sleep_for(milliseconds(50));
  }
  return false;
}

/// Sends packets of all sizes to these addresses, and reads what comes, until it is killed.
[[noreturn]] void live(const std::vector<std::vector<std::byte>>& addresses) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto opened = open_shm({});
  if (!opened.ok()) _exit(1);
  Driver& driver = **opened;
  std::vector<ConnectionId> peers;
  for (const auto& address : addresses) {
    const auto id = driver.connect(address.data(), address.size());
    if (!id.ok()) _exit(2);
    peers.push_back(*id);
  }
  std::vector<std::byte> bytes(kShmPieceBytes, std::byte{7});
  const std::size_t sizes[] = {8, 300, 5000, kShmPieceBytes};
  const auto deadline = Clock::now() + milliseconds(20000);
  for (std::size_t i = 0; Clock::now() < deadline; ++i) {
    const Segment segment{bytes.data(), sizes[i % 4]};
    (void)driver.post_send(peers[i % peers.size()], {&segment, 1}, nullptr);
    Completion news[4];
    const std::size_t count = driver.poll(news, 4);
    for (std::size_t each = 0; each < count; ++each) {
      if (news[each].buffer != nullptr) driver.release(news[each].buffer);
    }
  }
  _exit(3);
}

pid_t start(const std::vector<std::vector<std::byte>>& addresses) {
  const pid_t child = fork();
  if (child == 0) live(addresses);
  return child;
}

void end(pid_t child) {
  kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
}

bool every_byte_is_right(const Station& station) {
  for (const auto& packet : station.received) {
    for (const std::byte byte : packet.bytes) {
      if (byte != std::byte{7}) return false;
    }
  }
  return true;
}

TEST(ShmDeath, AtAnyInstantHurtsNobodyElse) {
  ShmEngine a, b;
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(to_b) == 1; }));
  std::mt19937 random(4711);
  const auto before = remains();
  for (int round = 0; round < 60; ++round) {
    const pid_t child = start({a.driver->address(), b.driver->address()});
    const auto until = Clock::now() + std::chrono::microseconds(random() % 20000);
    const std::size_t known = a.station.connected.size();
    ASSERT_TRUE(pump({&a, &b}, [&] {
      a.station.received.clear();
      b.station.received.clear();
      const bool met = round % 3 == 0 || a.station.connected.size() > known;
      return met && Clock::now() >= until;
    }));
    end(child);
    int turns = 0;
    ASSERT_TRUE(pump({&a, &b}, [&] {
      ++turns;
      return a.station.disconnected.size() == a.station.connected.size() - 1 &&
             b.station.disconnected.size() == b.station.connected.size() - 1;
    }));
    EXPECT_LT(turns, 10000) << "polls of each engine";
    EXPECT_TRUE(every_byte_is_right(a.station) && every_byte_is_right(b.station));
    a.station.received.clear();
    b.station.received.clear();
    for (ShmEngine* engine : {&a, &b}) {
      for (const auto& [id, why] : engine->station.disconnected) {
        EXPECT_EQ(why.code(), StatusCode::kPeerFailed) << why.message();
        engine->driver->disconnect(id);
      }
    }
    Bytes bytes(1000, std::byte{7});
    ASSERT_FALSE(send(a, to_b, bytes, {&a, &b}).error());
    // Among what the dead one still had to say to b, perhaps.
    const auto is_ours = [](const Station::Received& packet) {
      return packet.bytes.size() == 1000;
    };
    ASSERT_TRUE(pump({&a, &b}, [&] {
      const auto& received = b.station.received;
      return std::any_of(received.begin(), received.end(), is_ours);
    }));
    b.station.received.clear();
  }
  EXPECT_EQ(a.station.disconnected.count(to_b), 0u);
  EXPECT_TRUE(nothing_stays(before));
}

TEST(ShmDeath, OfAllAtOnceLeavesNothing) {
  const auto before = remains();
  {
    ShmEngine a;
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i) children.push_back(start({a.driver->address()}));
    ASSERT_TRUE(pump({&a}, [&] {
      a.station.received.clear();
      return a.station.connected.size() == 8;
    }));
    for (const pid_t child : children) kill(child, SIGKILL);
    ASSERT_TRUE(pump({&a}, [&] { return a.station.disconnected.size() == 8; }));
    for (const pid_t child : children) waitpid(child, nullptr, 0);
  }
  EXPECT_TRUE(nothing_stays(before));
}

TEST(ShmDeath, WhoSleepsIsWoken) {
  ShmEngine a;
  for (int round = 0; round < 5; ++round) {
    a.station.connected.clear();
    const pid_t child = start({a.driver->address()});
    ASSERT_TRUE(pump({&a}, [&] { return a.station.connected.size() == 1; }));
    const ConnectionId id = a.station.connected.begin()->first;
    kill(child, SIGSTOP);
    for (int i = 0; i < 1000; ++i) a.station.poll();
    const auto give_up = Clock::now() + kPollLimit;
    kill(child, SIGKILL);
    while (a.station.disconnected.count(id) == 0 && Clock::now() < give_up) {
      std::vector<pollfd> sleep;
      const Status may = a.driver->watch(&sleep);
      ASSERT_TRUE(may.ok() || may.again());
      if (may.ok()) {
        ASSERT_GT(::poll(sleep.data(), sleep.size(), 5000), 0) << "nothing wakes it";
      }
      a.station.poll();
    }
    EXPECT_EQ(a.station.disconnected[id].code(), StatusCode::kPeerFailed);
    a.driver->disconnect(id);
    waitpid(child, nullptr, 0);
  }
}

}  // namespace
}  // namespace mad
