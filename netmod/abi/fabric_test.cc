#include "netmod/abi/fabric.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(Fabric, UcxByItsTransports) {
  for (const char* name : {"ucx", "ucx:tcp", "ucx:posix", "ucx:posix,cma", "ucx:posix,cma,tcp"}) {
    const auto opened = open_fabric(name, {"lo"});
    ASSERT_TRUE(opened.ok()) << name << ": " << opened.status().message();
    EXPECT_EQ(opened.value()->caps().name, name);
  }
}

TEST(Fabric, AutoIsTcpWithoutRdmaDevices) {
  for (const char* devices : {"/nonexistent", "/proc/self/task"}) {  // none, and none that work
    const auto opened = open_auto_fabric({"lo"}, devices);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened.value()->caps().name, "tcp");
  }
  const auto refused = open_fabric("auto", {"no-such-interface"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("no-such-interface"), std::string::npos);
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

TEST(Fabric, UnknownTransportsAreNotFound) {
  const auto opened = open_fabric("ucx:rc", {});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kNotFound);
  EXPECT_NE(opened.status().message().find("ucx:rc"), std::string::npos);
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

TEST(Fabrics, AListGivesADriverForEach) {
  auto opened = open_fabrics("ucx:posix;ofi;tcp", {"lo"});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::vector<std::string> names;
  for (const auto& driver : *opened) names.push_back(driver->caps().name);
  EXPECT_EQ(names, (std::vector<std::string>{"ucx:posix", "ofi:tcp", "tcp"}));
  EXPECT_FALSE(opened.value()[0]->caps().beyond_host);
  EXPECT_TRUE(opened.value()[1]->caps().beyond_host);
  EXPECT_TRUE(opened.value()[2]->caps().beyond_host);
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
