#include "madlike/driver/ofi_shm/gate.h"

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
  Sides()
      : name(new_name()), a(OfiShmGate::make(name, kSecret)), b(OfiShmGate::join(name, kSecret)) {
    EXPECT_TRUE(a.ok()) << a.status().message();
    EXPECT_TRUE(b.ok()) << b.status().message();
  }
  std::string name;
  Result<OfiShmGate> a, b;
};

TEST(OfiShmGate, OneAtATime) {
  Sides sides;
  {
    const OfiShmGate::Visit first(*sides.a);
    EXPECT_TRUE(first.inside());
    const OfiShmGate::Visit second(*sides.b);
    EXPECT_FALSE(second.inside());
    EXPECT_FALSE(second.broken());
  }
  const OfiShmGate::Visit third(*sides.b);
  EXPECT_TRUE(third.inside());
}

TEST(OfiShmGate, ItsNameGoesWithItsMaker) {
  const std::string name = new_name();
  {
    auto made = OfiShmGate::make(name, kSecret);
    ASSERT_TRUE(made.ok());
    EXPECT_FALSE(OfiShmGate::make(name, kSecret).ok());
    EXPECT_TRUE(OfiShmGate::join(name, kSecret).ok());
    EXPECT_TRUE(OfiShmGate::join(name, kSecret).ok()) << "who joins does not remove it";
    EXPECT_EQ(OfiShmGate::join(name, kSecret + 1).status().code(), StatusCode::kUnreachable);
    made->name().remove();
    EXPECT_EQ(OfiShmGate::join(name, kSecret).status().code(), StatusCode::kUnreachable);
  }
  const auto again = OfiShmGate::make(name, kSecret);
  EXPECT_TRUE(again.ok()) << again.status().message();
}

// They could write there what a mutex must never hold.
TEST(OfiShmGate, NobodyJoinsWhatOthersMayWriteTo) {
  const std::string name = new_name();
  const auto made = OfiShmGate::make(name, kSecret);
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(chmod(("/dev/shm/" + name).c_str(), 0622), 0);
  EXPECT_EQ(OfiShmGate::join(name, kSecret).status().code(), StatusCode::kUnreachable);
  ASSERT_EQ(chmod(("/dev/shm/" + name).c_str(), 0600), 0);
  EXPECT_TRUE(OfiShmGate::join(name, kSecret).ok());
}

TEST(OfiShmGate, CallsAreHeededOnce) {
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

TEST(OfiShmGate, WhoSleepsIsToBeWokenOnce) {
  Sides sides;
  EXPECT_TRUE(sides.b->fall_asleep());
  EXPECT_TRUE(sides.a->call());
  EXPECT_FALSE(sides.a->call());
  EXPECT_FALSE(sides.b->fall_asleep()) << "it was called";
  sides.b->wake_up();
  EXPECT_FALSE(sides.a->call());
}

TEST(OfiShmGate, RoomIsWantedUntilItIsSaid) {
  Sides sides;
  EXPECT_FALSE(sides.b->room_is_wanted());
  sides.a->want_room();
  EXPECT_FALSE(sides.a->room_is_wanted());
  EXPECT_TRUE(sides.b->room_is_wanted());
  EXPECT_FALSE(sides.b->room_is_wanted());
}

TEST(OfiShmGate, KnowsWhetherBothSidesAreOfOneProcess) {
  const std::string name = new_name();
  auto gate = OfiShmGate::make(name, kSecret);
  ASSERT_TRUE(gate.ok());
  EXPECT_EQ(gate->secret(), kSecret);
  EXPECT_FALSE(gate->in_one_process()) << "nobody has joined";
  const pid_t child = fork();
  if (child == 0) _exit(OfiShmGate::join(name, kSecret).ok() ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_FALSE(gate->in_one_process());
  ASSERT_TRUE(OfiShmGate::join(name, kSecret).ok());
  EXPECT_TRUE(gate->in_one_process());
}

TEST(OfiShmGate, WhoDiesInsideBreaksIt) {
  const std::string name = new_name();
  auto gate = OfiShmGate::make(name, kSecret);
  ASSERT_TRUE(gate.ok());
  const pid_t child = fork();
  if (child == 0) {
    auto theirs = OfiShmGate::join(name, kSecret);
    if (!theirs.ok()) _exit(1);
    const OfiShmGate::Visit visit(*theirs);
    if (!visit.inside()) _exit(1);
    raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  for (int i = 0; i < 3; ++i) {
    const OfiShmGate::Visit visit(*gate);
    EXPECT_FALSE(visit.inside());
    EXPECT_TRUE(visit.broken());
  }
}

}  // namespace
}  // namespace mad
