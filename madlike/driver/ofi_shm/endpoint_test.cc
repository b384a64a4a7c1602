#include "madlike/driver/ofi_shm/endpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::size_t kPacket = 65 * 1024;

std::string path(const std::string& name) { return "/dev/shm/" + name; }
std::string new_name() {
  static int number = 0;
  return "mad-endpoint-test-" + std::to_string(getpid()) + "-" + std::to_string(number++);
}

class Endpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = OfiShmFabric::open();
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    fabric_ = std::move(*opened);
  }
  std::shared_ptr<OfiShmFabric> fabric_;
};

TEST_F(Endpoint, TakesWhatOnePacketAndTheQueueNeed) {
  const std::string name = new_name();
  const auto endpoint = OfiShmEndpoint::open(fabric_, name, kPacket);
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().message();
  struct stat file {};
  ASSERT_EQ(stat(path(name).c_str(), &file), 0);
  EXPECT_GE(file.st_blocks * 512, 370 * 1024) << "not reserved";
  EXPECT_LE(file.st_blocks * 512, 500 * 1024);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(Endpoint, ReachesWhatIsThereAndNothingElse) {
  const std::string names[] = {new_name(), new_name()};
  auto a = OfiShmEndpoint::open(fabric_, names[0], kPacket);
  auto b = OfiShmEndpoint::open(fabric_, names[1], kPacket);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_TRUE((*a)->reach(names[1]).ok());
  EXPECT_EQ((*b)->reach(names[1]).code(), StatusCode::kUnreachable) << "itself";
  EXPECT_EQ((*b)->reach("mad-nobody").code(), StatusCode::kUnreachable);
  (*a)->name().remove();
  EXPECT_NE(access(path(names[0]).c_str(), F_OK), 0);
  EXPECT_EQ((*b)->reach(names[0]).code(), StatusCode::kUnreachable);
}

TEST_F(Endpoint, OneIsMadeAtATimeAndNobodyBlocks) {
  const int directory = open("/dev/shm", O_RDONLY);
  ASSERT_EQ(flock(directory, LOCK_EX), 0);
  EXPECT_TRUE(OfiShmEndpoint::open(fabric_, new_name(), kPacket).status().again());
  const auto impatient = OfiShmEndpoint::open(fabric_, new_name(), kPacket, /*in_turn=*/false);
  EXPECT_TRUE(impatient.ok()) << impatient.status().message();
  close(directory);
  const auto endpoint = OfiShmEndpoint::open(fabric_, new_name(), kPacket);
  EXPECT_TRUE(endpoint.ok()) << endpoint.status().message();
}

// As when /dev/shm is full.
TEST_F(Endpoint, WithoutRoomThereIsNone) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{128 * 1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const std::string name = new_name();
  const auto endpoint = OfiShmEndpoint::open(fabric_, name, kPacket);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(endpoint.ok());
  EXPECT_EQ(endpoint.status().code(), StatusCode::kNoMemory) << endpoint.status().message();
  EXPECT_NE(access(path(name).c_str(), F_OK), 0) << "its name is left";
}

}  // namespace
}  // namespace mad
