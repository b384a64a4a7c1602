#include "madlike/driver/shm/gate.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::uint64_t kSecret = 4711;

std::string new_name() {
  static int number = 0;
  return "mad-gate-test-" + std::to_string(getpid()) + "-" + std::to_string(number++);
}

// Both sides of a gate.
struct Sides {
  Sides() : name(new_name()), a(ShmGate::make(name, kSecret)), b(ShmGate::join(name, kSecret)) {
    EXPECT_TRUE(a.ok()) << a.status().message();
    EXPECT_TRUE(b.ok()) << b.status().message();
  }
  std::string name;
  Result<ShmGate> a, b;
};

TEST(ShmGate, OneAtATime) {
  Sides sides;
  {
    const ShmGate::Visit first(*sides.a);
    EXPECT_TRUE(first.inside());
    const ShmGate::Visit second(*sides.b);
    EXPECT_FALSE(second.inside());
    EXPECT_FALSE(second.broken());
  }
  const ShmGate::Visit third(*sides.b);
  EXPECT_TRUE(third.inside());
}

TEST(ShmGate, ItsNameGoesWithItsMaker) {
  const std::string name = new_name();
  {
    auto made = ShmGate::make(name, kSecret);
    ASSERT_TRUE(made.ok());
    EXPECT_FALSE(ShmGate::make(name, kSecret).ok());
    EXPECT_TRUE(ShmGate::join(name, kSecret).ok());
    EXPECT_TRUE(ShmGate::join(name, kSecret).ok()) << "who joins does not remove it";
    EXPECT_EQ(ShmGate::join(name, kSecret + 1).status().code(), StatusCode::kUnreachable);
    made->name().remove();
    EXPECT_EQ(ShmGate::join(name, kSecret).status().code(), StatusCode::kUnreachable);
  }
  const auto again = ShmGate::make(name, kSecret);
  EXPECT_TRUE(again.ok()) << again.status().message();
}

// They could write there what a mutex must never hold.
TEST(ShmGate, NobodyJoinsWhatOthersMayWriteTo) {
  const std::string name = new_name();
  const auto made = ShmGate::make(name, kSecret);
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(chmod(("/dev/shm/" + name).c_str(), 0622), 0);
  EXPECT_EQ(ShmGate::join(name, kSecret).status().code(), StatusCode::kUnreachable);
  ASSERT_EQ(chmod(("/dev/shm/" + name).c_str(), 0600), 0);
  EXPECT_TRUE(ShmGate::join(name, kSecret).ok());
}

TEST(ShmGate, CallsAreHeededOnce) {
  Sides sides;
  EXPECT_FALSE(sides.b->called());
  EXPECT_FALSE(sides.a->call()) << "nobody sleeps";
  EXPECT_TRUE(sides.b->called());
  EXPECT_FALSE(sides.a->called());
  sides.b->heed();
  EXPECT_FALSE(sides.b->called());
  sides.b->remember();
  EXPECT_TRUE(sides.b->called());
}

TEST(ShmGate, WhoSleepsIsToBeWokenOnce) {
  Sides sides;
  EXPECT_TRUE(sides.b->fall_asleep());
  EXPECT_TRUE(sides.a->call());
  EXPECT_FALSE(sides.a->call());
  EXPECT_FALSE(sides.b->fall_asleep()) << "it was called";
  sides.b->wake_up();
  EXPECT_FALSE(sides.a->call());
}

TEST(ShmGate, RoomIsWantedUntilItIsSaid) {
  Sides sides;
  EXPECT_FALSE(sides.b->room_is_wanted());
  sides.a->want_room();
  EXPECT_FALSE(sides.a->room_is_wanted());
  EXPECT_TRUE(sides.b->room_is_wanted());
  EXPECT_FALSE(sides.b->room_is_wanted());
}

TEST(ShmGate, KnowsWhetherBothSidesAreOfOneProcess) {
  const std::string name = new_name();
  auto gate = ShmGate::make(name, kSecret);
  ASSERT_TRUE(gate.ok());
  EXPECT_EQ(gate->secret(), kSecret);
  EXPECT_FALSE(gate->in_one_process()) << "nobody has joined";
  const pid_t child = fork();
  if (child == 0) _exit(ShmGate::join(name, kSecret).ok() ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_FALSE(gate->in_one_process());
  ASSERT_TRUE(ShmGate::join(name, kSecret).ok());
  EXPECT_TRUE(gate->in_one_process());
}

TEST(ShmGate, WhoDiesInsideBreaksIt) {
  const std::string name = new_name();
  auto gate = ShmGate::make(name, kSecret);
  ASSERT_TRUE(gate.ok());
  const pid_t child = fork();
  if (child == 0) {
    auto theirs = ShmGate::join(name, kSecret);
    if (!theirs.ok()) _exit(1);
    const ShmGate::Visit visit(*theirs);
    if (!visit.inside()) _exit(1);
    raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  for (int i = 0; i < 3; ++i) {
    const ShmGate::Visit visit(*gate);
    EXPECT_FALSE(visit.inside());
    EXPECT_TRUE(visit.broken());
  }
}

}  // namespace
}  // namespace mad
