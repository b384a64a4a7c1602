// Who may not come in.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "madlike/driver/door/handshake.h"
#include "tests/conformance/shm/engine.h"

namespace mad {
namespace {

TEST(ShmStrangers, WithoutTheSecretNobodyIsThere) {
  ShmEngine a, b;
  const ConnectionId id = a.connect(address_of(getpid(), random_secret()));
  EXPECT_EQ(end_of(a, id, {&a, &b}).code(), StatusCode::kUnreachable);
  EXPECT_TRUE(b.station.connected.empty());
}

TEST(ShmStrangers, NorWithoutTheProcess) {
  ShmEngine a;
  const ConnectionId id = a.connect(address_of(0x3fffffff, random_secret()));
  const Status why = end_of(a, id, {&a});
  EXPECT_EQ(why.code(), StatusCode::kUnreachable);
  EXPECT_NE(why.message().find("process"), std::string_view::npos) << why.message();
}

TEST(ShmStrangers, AnEngineDoesNotConnectToItself) {
  ShmEngine a;
  const auto& own = a.driver->address();
  EXPECT_EQ(a.driver->connect(own.data(), own.size()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(ShmStrangers, LettersOfNobodyAreNotRead) {
  Met met;
  DoorSecret secret;
  std::memcpy(secret.data(), met.a.driver->address().data() + 8, secret.size());
  auto box = ShmPostbox::open(random_secret());
  ASSERT_TRUE(box.ok());
  const auto post = [&](const auto& letter, std::size_t size, int file) {
    return pump({&met.a}, [&] { return box->send(secret, letter.data(), size, file).ok(); });
  };
  std::mt19937 random(4711);
  for (int i = 0; i < 200; ++i) {
    std::array<std::byte, 200> letter;
    for (std::byte& byte : letter) byte = static_cast<std::byte>(random());
    EXPECT_TRUE(post(letter, 1 + random() % letter.size(), random() % 2 == 0 ? 0 : -1));
  }
  // And of one who knows the secret, but has no memory that is safe.
  ShmGreeting greeting;
  greeting.sender = {static_cast<std::uint32_t>(getpid()), random_secret()};
  greeting.session = 1;
  greeting.place_bytes = kShmPlaceBytes;
  greeting.piece_bytes = kShmPieceBytes;
  for (const int file : {-1, 0, 2}) {
    const auto letter = greeting.seal(secret);
    EXPECT_TRUE(post(letter, letter.size(), file));
  }
  greeting.sender.pid = 1;
  const auto letter = greeting.seal(secret);
  EXPECT_TRUE(post(letter, letter.size(), -1));
  Bytes bytes(100, std::byte{1});
  ASSERT_FALSE(send(met.b, met.to_a, bytes, {&met.a, &met.b}).error());
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return met.a.station.received.size() == 1; }));
  for (int i = 0; i < 20000; ++i) met.a.station.poll();
  EXPECT_EQ(met.a.station.connected.size(), 1u);
  EXPECT_TRUE(met.a.station.disconnected.empty());
}

/// How a connection of another process ended.
struct ToldEnd {
  StatusCode code;
  char message[256];
};

/// Runs `prepare` in a child, which then opens an engine and connects to `a`; how its connection
/// ended, if `prepare` was allowed.
std::optional<ToldEnd> end_of_child(ShmEngine& a, const std::function<bool()>& prepare,
                                    bool forks) {
  int pipes[2];
  EXPECT_EQ(pipe(pipes), 0);
  const auto address = a.driver->address();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!prepare()) _exit(1);
    if (forks) {
      const pid_t inner = fork();
      if (inner > 0) {
        int status = 0;
        waitpid(inner, &status, 0);
        _exit(WEXITSTATUS(status));
      }
    }
    auto opened = open_shm({});
    if (!opened.ok()) _exit(2);
    const auto id = (*opened)->connect(address.data(), address.size());
    if (!id.ok()) _exit(3);
    const auto deadline = Clock::now() + milliseconds(10000);
    while (Clock::now() < deadline) {
      Completion news;
      if ((*opened)->poll(&news, 1) == 0) continue;
      if (news.kind != Completion::Kind::kDisconnected) _exit(4);
      ToldEnd end{news.status.code(), {}};
      news.status.message().copy(end.message, sizeof(end.message) - 1);
      (void)!write(pipes[1], &end, sizeof(end));
      _exit(0);
    }
    _exit(5);
  }
  int status = 0;
  EXPECT_TRUE(pump({&a}, [&] { return waitpid(child, &status, WNOHANG) == child; }));
  close(pipes[1]);
  ToldEnd end{};
  const bool told = read(pipes[0], &end, sizeof(end)) == sizeof(end);
  close(pipes[0]);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1) return std::nullopt;
  EXPECT_TRUE(told) << status;
  return end;
}

bool become_another_user() { return setgid(65534) == 0 && setuid(65534) == 0; }

TEST(ShmContainers, AnotherUserIsFoundOut) {
  ShmEngine a;
  const auto end = end_of_child(a, become_another_user, false);
  if (!end) GTEST_SKIP() << "may not become another user here";
  EXPECT_EQ(end->code, StatusCode::kUnreachable);
  EXPECT_NE(std::strstr(end->message, "another user"), nullptr) << end->message;
  EXPECT_TRUE(a.station.connected.empty());
}

TEST(ShmContainers, AnotherUserThatIsCalledIsFoundOut) {
  ShmEngine a;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!become_another_user()) _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // forgotten with the user
    ShmEngine engine;
    (void)!write(pipes[1], engine.driver->address().data(), ShmAddress::kBytes);
    for (;;) engine.station.poll();
  }
  close(pipes[1]);
  std::vector<std::byte> address(ShmAddress::kBytes);
  const bool opened = read(pipes[0], address.data(), address.size()) == ShmAddress::kBytes;
  close(pipes[0]);
  if (opened) {
    const Status end = end_of(a, a.connect(address), {&a});
    EXPECT_EQ(end.code(), StatusCode::kUnreachable);
    EXPECT_NE(end.message().find("another user"), std::string_view::npos) << end.message();
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (!opened) GTEST_SKIP() << "may not become another user here";
}

TEST(ShmContainers, OtherProcessIdsAreFoundOut) {
  ShmEngine a;
  const auto end = end_of_child(
      a, [] { return unshare(CLONE_NEWPID) == 0; }, true);
  if (!end) GTEST_SKIP() << "may not have other process ids here";
  EXPECT_EQ(end->code, StatusCode::kUnreachable);
  EXPECT_TRUE(a.station.connected.empty());
}

TEST(ShmContainers, AnotherNetworkIsFoundOut) {
  ShmEngine a;
  const auto end = end_of_child(
      a, [] { return unshare(CLONE_NEWNET) == 0; }, false);
  if (!end) GTEST_SKIP() << "may not have another network here";
  EXPECT_EQ(end->code, StatusCode::kUnreachable);
  EXPECT_NE(std::strstr(end->message, "network"), nullptr) << end->message;
  EXPECT_TRUE(a.station.connected.empty());
}

}  // namespace
}  // namespace mad
