#include "madlike/driver/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/support/lack.h"

namespace mad {
namespace {

ShmSegment segment() {
  auto opened = ShmSegment::open();
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  return std::move(*opened);
}

TEST(ShmSegment, WhatOneWritesTheOtherReads) {
  ShmSegment own = segment();
  const auto place = own.take_place();
  ASSERT_TRUE(place.ok());
  own.lane(*place).session.store(4711);
  auto peer = ShmPeerLane::open(own.fd(), *place);
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  EXPECT_EQ(peer->lane().session.load(), 4711u);
  peer->lane().tail.store(64);
  EXPECT_EQ(own.lane(*place).tail.load(), 64u);
  peer->front().bells[*place].store(1);
  EXPECT_EQ(own.front().bells[*place].load(), 1u);
}

TEST(ShmSegment, PlacesAreNewWhenTakenAgain) {
  ShmSegment own = segment();
  const std::size_t first = *own.take_place(), second = *own.take_place();
  EXPECT_NE(first, second);
  std::memset(static_cast<void*>(&own.lane(first)), 0xEE, kShmPlaceBytes);
  own.return_place(first);
  EXPECT_EQ(*own.take_place(), first);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&own.lane(first));
  for (std::size_t i = 0; i < kShmPlaceBytes; ++i) ASSERT_EQ(bytes[i], std::byte{0}) << i;
}

/// Whether all shared memory has huge pages, as the system's settings say.
bool shared_memory_is_huge() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string settings;  // that in brackets holds
  std::getline(file, settings);
  return settings.find("[always]") != std::string::npos ||
         settings.find("[force]") != std::string::npos;
}

TEST(ShmSegment, MemoryIsTakenWhenWrittenAndGivenBack) {
  if (shared_memory_is_huge()) GTEST_SKIP() << "shared memory has huge pages (shmem_enabled)";
  ShmSegment own = segment();
  const std::size_t place = *own.take_place();
  const auto blocks = [&own] {
    struct stat facts {};
    EXPECT_EQ(fstat(own.fd(), &facts), 0);
    return static_cast<std::size_t>(facts.st_blocks) * 512;
  };
  EXPECT_LE(blocks(), 2 * kShmPage);
  std::memset(static_cast<void*>(&own.lane(place)), 1, kShmPlaceBytes);
  EXPECT_GE(blocks(), kShmPlaceBytes);
  own.shrink(place, kShmSmallLimit);
  EXPECT_LE(blocks(), kShmSmallLimit + kShmLaneHeadBytes + 2 * kShmPage);
  own.return_place(place);
  EXPECT_LE(blocks(), 2 * kShmPage);
}

TEST(ShmSegment, ManyPeers) {
  ShmSegment own = segment();
  for (std::size_t i = 0; i < 100; ++i) {
    const auto place = own.take_place();
    ASSERT_TRUE(place.ok()) << place.status().message();
    EXPECT_EQ(*place, i);
    own.lane(*place).session.store(i);
  }
  EXPECT_EQ(own.places(), 100u);
}

TEST(ShmSegment, HasAPlaceForEachBell) {
  ShmSegment own = segment();
  for (std::size_t i = 0; i < kShmMostPlaces; ++i) {
    const auto place = own.take_place();
    ASSERT_TRUE(place.ok()) << place.status().message();
    ASSERT_EQ(*place, i);
  }
  EXPECT_EQ(own.take_place().status().code(), StatusCode::kNoMemory);
}

// Beyond it the process would get a signal.
TEST(ShmSegment, GrowsWithinTheLimitOfFileSizes) {
  ShmSegment first = segment(), second = segment(), third = segment();
  ASSERT_TRUE(first.take_place().ok());
  struct stat facts {};
  ASSERT_EQ(fstat(first.fd(), &facts), 0);
  {
    const Lack just_enough(RLIMIT_FSIZE, static_cast<rlim_t>(facts.st_size));
    EXPECT_TRUE(second.take_place().ok());
  }
  const Lack too_little(RLIMIT_FSIZE, static_cast<rlim_t>(facts.st_size) - 1);
  const auto place = third.take_place();
  EXPECT_EQ(place.status().code(), StatusCode::kNoMemory);
  EXPECT_NE(place.status().message().find("ulimit -f"), std::string_view::npos);
}

// As every peer can do that has the descriptor.
TEST(ShmSegment, WhatAPeerSealsGrowsNoMore) {
  for (const int seal : {F_SEAL_GROW, F_SEAL_FUTURE_WRITE}) {
    ShmSegment own = segment();
    ASSERT_EQ(fcntl(own.fd(), F_ADD_SEALS, seal), 0);
    EXPECT_EQ(own.take_place().status().code(), StatusCode::kNoMemory);
  }
}

TEST(ShmSegment, WithoutAFileThereMayBeOneLater) {
  const NoFiles none;
  EXPECT_EQ(ShmSegment::open().status().code(), StatusCode::kNoMemory);
}

TEST(ShmSegment, WithoutAddressesForItThereMayBeSomeLater) {
  StatusCode of_segment = StatusCode::kOk, of_front = of_segment, of_lane = of_segment;
  for (int round = 0; round < 2; ++round) {  // the first one has the allocator's memory ready
    ShmSegment own = segment();
    const std::size_t place = *own.take_place();
    const rlim_t mapped = mapped_bytes();
    const auto code = [&](rlim_t spare, bool of_peer) {
      const Lack none(RLIMIT_AS, mapped + spare);
      return of_peer ? ShmPeerLane::open(own.fd(), place).status().code()
                     : ShmSegment::open().status().code();
    };
    of_segment = code(0, false);
    of_front = code(0, true);
    of_lane = code(16 * kShmPage, true);
  }
  EXPECT_EQ(of_segment, StatusCode::kNoMemory);
  EXPECT_EQ(of_front, StatusCode::kNoMemory);
  EXPECT_EQ(of_lane, StatusCode::kNoMemory);
}

/// A file that says it is a segment.
ShmFile pretender(int flags, int seals, mode_t mode, std::size_t bytes) {
  ShmFile file(memfd_create("pretender", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  EXPECT_TRUE(file);
  EXPECT_EQ(fchmod(file.fd(), mode), 0);
  EXPECT_EQ(ftruncate(file.fd(), static_cast<off_t>(bytes)), 0);
  const std::uint64_t magic = kShmMagic;
  EXPECT_EQ(pwrite(file.fd(), &magic, sizeof(magic), 0), static_cast<ssize_t>(sizeof(magic)));
  if (seals != 0) {
    EXPECT_EQ(fcntl(file.fd(), F_ADD_SEALS, seals), 0);
  }
  return file;
}

void expect_refused(const ShmFile& file, std::size_t place, const char* why) {
  const auto opened = ShmPeerLane::open(file.fd(), place);
  ASSERT_FALSE(opened.ok()) << why;
  EXPECT_EQ(opened.status().code(), StatusCode::kUnreachable);
  EXPECT_NE(opened.status().message().find(why), std::string_view::npos)
      << opened.status().message();
}

TEST(ShmPeerLane, OnlySafeMemoryIsMapped) {
  const std::size_t enough = shm_place_offset(1);
  EXPECT_TRUE(ShmPeerLane::open(pretender(0, F_SEAL_SHRINK, 0600, enough).fd(), 0).ok());
  expect_refused(pretender(0, 0, 0600, enough), 0, "cut");
  expect_refused(pretender(0, F_SEAL_SHRINK, 0660, enough), 0, "open to others");
  expect_refused(pretender(0, F_SEAL_SHRINK, 0600, enough - 1), 0, "too short");
  expect_refused(pretender(0, F_SEAL_SHRINK, 0600, enough), 1, "too short");
  expect_refused(pretender(0, F_SEAL_SHRINK, 0600, enough), ~std::size_t{0}, "too short");
  expect_refused(ShmFile(open("/dev/zero", O_RDWR | O_CLOEXEC)), 0, "another kind");
  expect_refused(ShmFile(), 0, "none");
  for (const std::uint64_t word :
       {std::uint64_t{1}, kShmMagic - 1, kShmMagic + 1, ~std::uint64_t{0}}) {
    ShmFile other = pretender(0, F_SEAL_SHRINK, 0600, enough);
    ASSERT_EQ(pwrite(other.fd(), &word, sizeof(word), 0), static_cast<ssize_t>(sizeof(word)));
    expect_refused(other, 0, "version");
  }
}

TEST(ShmPeerLane, WithoutABellThereIsNoPlace) {
  const ShmFile file = pretender(0, F_SEAL_SHRINK, 0600, shm_place_offset(kShmMostPlaces + 1));
  EXPECT_TRUE(ShmPeerLane::open(file.fd(), kShmMostPlaces - 1).ok());
  expect_refused(file, kShmMostPlaces, "too short");
}

// Its owner could cut it, or it has pages of another size.
TEST(ShmPeerLane, FilesOfOtherSystemsAreNotMapped) {
  expect_refused(ShmFile(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)), 0, "another kind");
  const ShmFile huge(memfd_create("pretender", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (!huge) GTEST_SKIP() << "this system has no huge pages";
  ASSERT_EQ(fchmod(huge.fd(), 0600), 0);
  ASSERT_EQ(ftruncate(huge.fd(), std::int64_t{1} << 30), 0);
  ASSERT_EQ(fcntl(huge.fd(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  expect_refused(huge, 0, "another kind");
}

TEST(ShmPeerLane, WhatIsAnotherUsersIsNotMapped) {
  constexpr uid_t kOther = 65534;
  const ShmFile ours = pretender(0, F_SEAL_SHRINK, 0600, shm_place_offset(1));
  const ShmFile theirs = pretender(0, F_SEAL_SHRINK, 0600, shm_place_offset(1));
  EXPECT_TRUE(ShmPeerLane::open(ours.fd(), 0).ok());
  const uid_t self = geteuid();
  if (fchown(theirs.fd(), kOther, static_cast<gid_t>(-1)) != 0 || seteuid(kOther) != 0) {
    GTEST_SKIP() << "may not be another user here";
  }
  expect_refused(ours, 0, "another user's");
  ASSERT_EQ(seteuid(self), 0);
  expect_refused(theirs, 0, "another user's");
}

}  // namespace
}  // namespace mad
