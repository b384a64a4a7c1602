#include "madlike/driver/ucx/fabric.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <memory>
#include <vector>

#include "madlike/driver/door/sockets.h"
#include "madlike/driver/ucx/side.h"
#include "madlike/driver/ucx/uct_double.h"

namespace mad {
namespace {

struct NoEvents : UcxEvents {
  bool on_message(UcxLane&, UcxMessage, Segment, bool) override { return false; }
  void on_failed(uct_ep_h) override {}
};

/// The files that this process has open, and their bytes in /dev/shm.
struct Files {
  Files() {
    const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir("/proc/self/fd"), closedir);
    while (const dirent* const each = readdir(all.get())) {
      const std::string path = std::string("/proc/self/fd/") + each->d_name;
      struct stat status {};
      char target[256] = {};
      if (stat(path.c_str(), &status) != 0) continue;
      ++count;
      if (readlink(path.c_str(), target, sizeof(target) - 1) < 0) continue;
      if (std::string(target).find("/dev/shm/") == 0) shared_bytes += status.st_size;
    }
  }
  std::size_t count = 0, shared_bytes = 0;
};

// Of 64 MiB, as containers have it, many peers are to share.
TEST(UcxFabric, APeerOfThisHostTakesLessThanOneMebibyteUntilItGoes) {
  NoEvents events;
  auto opened = UcxFabric::open(UcxOptions(), "lo", events);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  UcxFabric& fabric = **opened;
  const Files before;
  std::vector<std::shared_ptr<UcxLane>> lanes;
  for (std::size_t i = 1; i <= 10; ++i) {
    auto lane = fabric.lane(UcxTransport::kPosix);
    ASSERT_TRUE(lane.ok()) << lane.status().message();
    lanes.push_back(std::move(*lane));
    const Files now;
    EXPECT_LE(now.count, before.count + 3 * i);
    EXPECT_LE(now.shared_bytes, before.shared_bytes + i * 1024 * 1024);
    EXPECT_GE(now.shared_bytes, before.shared_bytes + i * 512 * 1024) << "it is counted";
  }
  fabric.close_unused();
  EXPECT_EQ(fabric.posix().size(), 10u);
  lanes.resize(4);
  fabric.close_unused();
  EXPECT_EQ(fabric.posix().size(), 4u);
  lanes.clear();
  fabric.close_unused();
  EXPECT_EQ(Files().count, before.count);
  EXPECT_EQ(Files().shared_bytes, before.shared_bytes);
}

TEST(UcxFabric, MessagesThatAreKeptKeepTheirLane) {
  Side a(UcxTransport::kPosix), b(UcxTransport::kPosix);
  a.wire(b);
  b.wire(a);
  b.keep = true;
  std::vector<std::byte> packet(2048, std::byte{1});
  const Segment segment{packet.data(), packet.size()};
  ASSERT_EQ(a.lane->send(a.endpoint.get(), UcxMessage::kPacket, {}, {&segment, 1}, packet.size(),
                         nullptr),
            UCS_OK);
  ASSERT_TRUE(pump(a, b, [&] { return b.kept.size() == 1; }));
  b.endpoint.reset();
  UcxLane* const lane = b.lane.get();
  lane->drop_user();
  b.lane.reset();
  b.fabric->close_unused();
  ASSERT_EQ(b.fabric->posix().size(), 1u);
  EXPECT_EQ(*(static_cast<std::byte*>(b.kept[0]->message) + UcxHeader::kTagBytes), std::byte{1});
  lane->release(b.kept[0]);
  b.fabric->close_unused();
  EXPECT_TRUE(b.fabric->posix().empty());
}

TEST(UcxFabric, TcpIsOneLane) {
  NoEvents events;
  UcxOptions options;
  options.posix = false;
  auto opened = UcxFabric::open(options, "lo", events);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(*(*opened)->lane(UcxTransport::kTcp), *(*opened)->lane(UcxTransport::kTcp));
  EXPECT_EQ((*opened)->limits(UcxTransport::kPosix), nullptr) << "it was not asked for";
  EXPECT_TRUE((*opened)->why_not(UcxTransport::kPosix).ok());
}

TEST(UcxFabric, WithoutSharedMemoryItSaysWhyAndHasTheRest) {
  NoEvents events;
  setenv("MAD_UCX_POSIX_DIR", "/nonexistent", 1);
  const auto opened = UcxFabric::open(UcxOptions(), "lo", events);
  unsetenv("MAD_UCX_POSIX_DIR");
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ((*opened)->limits(UcxTransport::kPosix), nullptr);
  EXPECT_NE((*opened)->limits(UcxTransport::kTcp), nullptr);
  const std::string why((*opened)->why_not(UcxTransport::kPosix).message());
  EXPECT_NE(why.find("/dev/shm"), std::string::npos) << why;
}

// As when others of the process took them all, for a while.
TEST(UcxFabric, AcceptsOnlyWhereFilesAreLeft) {
  Side a(UcxTransport::kTcp), b(UcxTransport::kTcp);
  a.wire(b);
  b.wire(a);
  std::vector<TcpSocket> files;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{200, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  do {
    files.push_back(tcp_spare());
  } while (files.back());
  for (int i = 0; i < 100; ++i) {
    a.progress();
    b.progress();
  }
  files.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(pump(a, b, [&] {
    return a.lane->send(a.endpoint.get(), UcxMessage::kHello, {}, {}, 0, nullptr) == UCS_OK;
  }));
  EXPECT_TRUE(pump(a, b, [&] { return b.messages.size() == 1; }));
}

TEST(UcxFabric, WhatUcxRefusesIsSaid) {
  NoEvents events;
  UctDouble ucx;
  for (const char* function : {"ucs_async_context_create", "uct_worker_create"}) {
    ucx.refused = function;
    const Status why = UcxFabric::open(UcxOptions(), "lo", events).status();
    EXPECT_EQ(why.code(), StatusCode::kNoMemory) << function;
    EXPECT_NE(why.message().find(ucs_status_string(ucx.status)), std::string_view::npos)
        << function;
  }
}

TEST(UcxFabric, WithoutTheInterfaceThereIsNone) {
  NoEvents events;
  UcxOptions options;
  options.posix = false;
  const auto opened = UcxFabric::open(options, "eth4711", events);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace mad
