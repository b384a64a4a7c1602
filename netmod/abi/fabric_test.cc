#include "netmod/abi/fabric.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "madlike/driver/rdma/obstacles.h"
#include "tests/support/made_up_devices.h"

namespace mad {
namespace {

TEST(Fabric, LoopbackIsShared) {
  auto a = open_fabric("loopback", {});
  auto b = open_fabric("loopback", {});
  ASSERT_TRUE(a.ok() && b.ok());
  Driver& from = **a;
  const auto& to = b.value()->address();
  const auto connection = from.connect(to.data(), to.size());
  ASSERT_TRUE(connection.ok());
  Completion news;
  for (int i = 0; i < 10 && news.kind != Completion::Kind::kConnected; ++i) {
    b.value()->poll(&news, 1);
    from.poll(&news, 1);
  }
  EXPECT_EQ(news.kind, Completion::Kind::kConnected) << news.status.message();
}

TEST(Fabric, SelfFabricsAreApart) {
  const auto a = open_self_fabric();
  const auto b = open_self_fabric();
  EXPECT_NE(a->address(), b->address());
}

TEST(Fabric, OfiIsTcpUnlessAProviderIsNamed) {
  for (const char* name : {"ofi", "ofi:tcp"}) {
    const auto opened = open_fabric(name, {"lo"});
    ASSERT_TRUE(opened.ok()) << name << ": " << opened.status().message();
    EXPECT_EQ(opened.value()->caps().name, "ofi:tcp");
  }
}

TEST(Fabric, TcpIsOurOwn) {
  const auto opened = open_fabric("tcp", {"lo"});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened.value()->caps().name, "tcp");
}

TEST(Fabric, ACommonSecretIsTheFirstHalf) {
  const auto one = open_fabrics("tcp;shm", {"lo", {}, 0x1122334455667788});
  const auto other = open_fabrics("tcp;shm", {"lo", {}, 0x1122334455667788});
  ASSERT_TRUE(one.ok() && other.ok());
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& mine = (*one)[i]->address();
    const auto& theirs = (*other)[i]->address();
    ASSERT_EQ(mine.size(), theirs.size());
    std::size_t differ = 0;
    for (std::size_t k = 0; k < mine.size(); ++k) differ += mine[k] != theirs[k] ? 1 : 0;
    EXPECT_GT(differ, 2U);   // 8 random bytes are hardly alike
    EXPECT_LE(differ, 10U);  // and a port, or nothing more of the same process
  }
}

TEST(Fabric, UcxByItsTransports) {
  for (const char* name : {"ucx", "ucx:tcp", "ucx:posix", "ucx:posix,cma", "ucx:posix,cma,tcp"}) {
    const auto opened = open_fabric(name, {"lo"});
    ASSERT_TRUE(opened.ok()) << name << ": " << opened.status().message();
    EXPECT_EQ(opened.value()->caps().name, name);
  }
}

TEST(Fabric, AutoIsNotOne) {
  const auto refused = open_fabric("auto", {"lo"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
}

TEST(Fabric, UnknownNamesAreAnsweredWithTheList) {
  for (const char* name : {"", "tcp:lo", "loop", "loopback:x", "ofi:", "OFI:tcp"}) {
    const auto opened = open_fabric(name, {});
    ASSERT_FALSE(opened.ok()) << name;
    EXPECT_EQ(opened.status().code(), StatusCode::kNotFound) << name;
    const std::string sentence(opened.status().message());
    EXPECT_NE(sentence.find("'" + std::string(name) + "'"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(fabric_names()), std::string::npos) << sentence;
  }
}

TEST(Fabric, CostsThatCannotBeReadAreNotIgnored) {
  FabricOptions options{"lo"};
  options.costs_file = "/nowhere/costs.json";
  for (const char* name : {"ofi:tcp", "ucx:tcp"}) {
    const auto opened = open_fabric(name, options);
    ASSERT_FALSE(opened.ok()) << name;
    EXPECT_NE(opened.status().message().find(options.costs_file), std::string_view::npos) << name;
  }
}

TEST(Fabric, UnknownTransportsAreNotFound) {
  const auto opened = open_fabric("ucx:dc", {});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kNotFound);
  EXPECT_NE(opened.status().message().find("ucx:dc"), std::string::npos);
}

TEST(Fabric, UnknownProviderAndInterfaceAreNotFound) {
  const auto provider = open_fabric("ofi:no-such-provider", {});
  ASSERT_FALSE(provider.ok());
  EXPECT_EQ(provider.status().code(), StatusCode::kNotFound);
  EXPECT_NE(provider.status().message().find("no-such-provider"), std::string::npos);
  for (const char* name : {"tcp", "ofi:tcp", "ucx", "ucx:posix"}) {
    const auto interface = open_fabric(name, {"no-such-interface"});
    ASSERT_FALSE(interface.ok()) << name;
    EXPECT_EQ(interface.status().code(), StatusCode::kNotFound) << name;
    EXPECT_NE(interface.status().message().find("no-such-interface"), std::string::npos) << name;
  }
}

std::vector<std::string> names_of(const std::vector<std::unique_ptr<Driver>>& drivers) {
  std::vector<std::string> names;
  for (const auto& driver : drivers) names.push_back(driver->caps().name);
  return names;
}

TEST(Fabrics, AListGivesADriverForEach) {
  auto opened = open_fabrics("ucx:posix;ofi;tcp", {"lo"});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(names_of(*opened), (std::vector<std::string>{"ucx:posix", "ofi:tcp", "tcp"}));
  EXPECT_FALSE(opened.value()[0]->caps().beyond_host);
  EXPECT_TRUE(opened.value()[1]->caps().beyond_host);
  EXPECT_TRUE(opened.value()[2]->caps().beyond_host);
}

// As ';' is between the fabrics of a list.
TEST(Fabrics, LayersOfAProviderStandBehindAPlus) {
  const auto opened = open_fabrics("ofi:tcp+ofi_rxm;tcp", {"lo"});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(names_of(*opened), (std::vector<std::string>{"ofi:tcp+ofi_rxm", "tcp"}));
  const auto refused = open_fabrics("ofi:tcp;ofi_rxm", {"lo"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("ofi:tcp+ofi_rxm"), std::string::npos)
      << refused.status().message();
}

TEST(Fabrics, AutoIsSharedMemoryAndTheNetwork) {
  const std::vector<std::string> both = {"shm", "tcp"};  // lo is of no device
  EXPECT_EQ(fabric_list("auto", {"lo"}), both);
  const auto opened = open_fabrics("auto", {"lo"});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(names_of(*opened), both);
  const auto more = open_fabrics("ofi;auto", {"lo"});
  ASSERT_TRUE(more.ok()) << more.status().message();
  EXPECT_EQ(names_of(*more), (std::vector<std::string>{"ofi:tcp", "shm", "tcp"}));
  const auto refused = open_fabrics("auto", {"no-such-interface"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("no-such-interface"), std::string::npos);
}

// A kernel that is too old, a container's filter, or what says no here: files may not be so long.
TEST(Fabrics, WithoutSharedMemoryAutoIsTheNetworkAndSaysSo) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit less{2048, before.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ::testing::internal::CaptureStderr();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
  const auto opened = open_fabrics("auto", {"lo"});
  const auto asked_for = open_fabrics("shm;tcp", {"lo"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  const std::string said = ::testing::internal::GetCapturedStderr();
  signal(SIGXFSZ, handler);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(names_of(*opened), std::vector<std::string>{"tcp"});
  EXPECT_NE(said.find("no shared memory with processes of this host"), std::string::npos) << said;
  EXPECT_FALSE(asked_for.ok()) << "who names it wants it";
}

// What is opened of auto, and what is said of it to who asks.
struct OfAuto {
  std::vector<std::string> fabrics;
  std::string said;
};

OfAuto open_auto(const std::string& root, const std::string& rdma, const std::string& interface) {
  FabricOptions options;
  options.interface = interface;
  options.rdma.root = root;
  options.rdma.fabric = rdma;
  options.rdma.self_test_limit = std::chrono::seconds(30);
  EXPECT_EQ(setenv("MAD_VERBOSE", "1", 1), 0);
  testing::internal::CaptureStderr();
  const auto opened = open_fabrics("auto", options);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(unsetenv("MAD_VERBOSE"), 0);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  return {opened.ok() ? names_of(*opened) : std::vector<std::string>(), said};
}

const std::vector<std::string> kWithoutRdma = {"shm", "tcp"};

TEST(Fabrics, AutoWithoutADeviceSaysWhatItTakes) {
  const test::MadeUpDevices none;
  const OfAuto opened = open_auto(none.root, "ofi:tcp", "lo");
  EXPECT_EQ(opened.fabrics, kWithoutRdma);
  EXPECT_EQ(opened.said,
            "auto: shm is taken, with processes of this host\n"
            "auto: ofi:tcp is not taken: this host has no RDMA device\n"
            "auto: tcp is taken, with all others\n");
}

// The provider tcp stands for verbs, which no test's host has.
TEST(Fabrics, AutoTakesADeviceThatWorks) {
  const test::MadeUpDevices devices;
  devices.healthy("mlx5_0", "lo");
  if (!rdma_obstacles(rdma_devices(devices.root).at(0), RdmaUser::this_process(), "lo",
                      devices.root)
           .empty()) {
    GTEST_SKIP() << "this process may not lock enough memory";
  }
  const OfAuto opened = open_auto(devices.root, "ofi:tcp", "");
  EXPECT_EQ(opened.fabrics, (std::vector<std::string>{"shm", "ofi:tcp", "tcp"}));
  EXPECT_NE(opened.said.find("\nauto: ofi:tcp is taken, with peers of other hosts that take it, "
                             "too: mlx5_0 port 1 passed a self-test in "),
            std::string::npos)
      << opened.said;
}

TEST(Fabrics, AutoDoesWithoutADeviceThatDoesNotWork) {
  const test::MadeUpDevices devices;
  devices.healthy("mlx5_0", "lo");
  const OfAuto no_provider = open_auto(devices.root, "ofi:pigeon", "lo");
  EXPECT_EQ(no_provider.fabrics, kWithoutRdma);
  EXPECT_NE(no_provider.said.find("\nauto: ofi:pigeon is not taken: "), std::string::npos)
      << no_provider.said;
  devices.port("mlx5_0/ports/1", "1: DOWN");
  const OfAuto down = open_auto(devices.root, "ofi:tcp", "lo");
  EXPECT_EQ(down.fabrics, kWithoutRdma);
  EXPECT_NE(down.said.find("ofi:tcp is not taken: mlx5_0: no port is up: port 1 is DOWN\n"),
            std::string::npos)
      << down.said;
}

TEST(Fabrics, AListIsRightOrWrongWhateverDevicesThereAre) {
  const auto refused = open_fabrics("shm;auto", {"lo"});
  ASSERT_FALSE(refused.ok());
  const auto most = open_fabrics("loopback;ucx:posix;auto", {"lo"});
  ASSERT_FALSE(most.ok());
  EXPECT_NE(most.status().message().find("more than 4"), std::string::npos);
}

TEST(Fabrics, AWrongSettingOfSharedMemoryIsNoReasonForTheNetwork) {
  ASSERT_EQ(setenv("MAD_SHM_LIMIT", "none", 1), 0);
  const auto refused = open_fabrics("auto", {"lo"});
  ASSERT_EQ(unsetenv("MAD_SHM_LIMIT"), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("MAD_SHM_LIMIT"), std::string::npos);
}

TEST(Fabrics, WhatIsNoListIsRefused) {
  const auto refused = [](const char* names) {
    const auto opened = open_fabrics(names, {"lo"});
    EXPECT_FALSE(opened.ok()) << names;
    return opened.ok() ? "" : std::string(opened.status().message());
  };
  EXPECT_NE(refused("tcp;ofi:tcp;ofi").find("names ofi:tcp twice"), std::string::npos);
  EXPECT_NE(refused("tcp;auto").find("names tcp twice"), std::string::npos);
  EXPECT_NE(refused("tcp;pigeon").find("no fabric 'pigeon'"), std::string::npos);
  for (const char* names : {"", ";", "tcp;", ";tcp", "tcp; ucx", "tcp,ucx"}) {
    EXPECT_NE(refused(names).find("no fabric '"), std::string::npos) << names;
  }
  EXPECT_NE(refused("loopback;tcp;ofi:tcp;shm;ucx").find("more than 4"), std::string::npos);
}

}  // namespace
}  // namespace mad
