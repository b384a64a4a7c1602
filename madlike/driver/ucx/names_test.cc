#include "madlike/driver/ucx/names.h"

#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(UcxNames, OfThisDriver) {
  for (const char* name : {"ucx", "ucx:", "ucx:posix", "ucx:pigeon"}) EXPECT_TRUE(is_ucx(name));
  for (const char* name : {"", "uc", "ucxx", "tcp", "ofi:ucx:tcp"}) EXPECT_FALSE(is_ucx(name));
}

TEST(UcxNames, EqualSetsHaveEqualNames) {
  const struct {
    const char *name, *same;
  } names[] = {{"ucx", "ucx"},
               {"ucx:posix,tcp", "ucx"},
               {"ucx:tcp,posix", "ucx"},
               {"ucx:tcp", "ucx:tcp"},
               {"ucx:posix", "ucx:posix"},
               {"ucx:posix,posix", "ucx:posix"},
               {"ucx:posix,cma", "ucx:posix,cma"},
               {"ucx:cma,posix", "ucx:posix,cma"},
               {"ucx:tcp,cma,posix", "ucx:posix,cma,tcp"},
               {"ucx:cma,posix,tcp", "ucx:posix,cma,tcp"},
               {"ucx:tcp,rc,posix", "ucx"},
               {"ucx:rc", "ucx:rc"},
               {"ucx:ud,rc", "ucx:rc,ud"},
               {"ucx:posix,ud,tcp", "ucx:posix,ud,tcp"},
               {"ucx:posix,rc_mlx5,tcp", "ucx:posix,rc_mlx5,tcp"},
               {"ucx:dc_mlx5", "ucx:dc_mlx5"},
               {"ucx:ud_mlx5", "ucx:ud_mlx5"}};
  for (const auto& each : names) {
    const auto options = ucx_options(each.name, "lo");
    ASSERT_TRUE(options.ok()) << options.status().message();
    EXPECT_EQ(ucx_name(*options), each.same) << each.name;
    EXPECT_EQ(options->interface, "lo");
  }
}

TEST(UcxNames, EachTransportByItself) {
  const auto posix = ucx_options("ucx:posix", ""), tcp = ucx_options("ucx:tcp", ""),
             cma = ucx_options("ucx:posix,cma", "");
  ASSERT_TRUE(posix.ok() && tcp.ok() && cma.ok());
  EXPECT_TRUE(posix->posix && !posix->tcp && !posix->cma);
  EXPECT_TRUE(!tcp->posix && tcp->tcp && !tcp->cma);
  EXPECT_TRUE(cma->posix && !cma->tcp && cma->cma);
}

TEST(UcxNames, TransportsOfDevices) {
  const auto all = ucx_options("ucx", ""), without = ucx_options("ucx:posix,tcp", ""),
             rc = ucx_options("ucx:rc", ""), ud = ucx_options("ucx:ud", "");
  ASSERT_TRUE(all.ok() && without.ok() && rc.ok() && ud.ok());
  EXPECT_TRUE(all->posix && all->tcp && all->rc == "rc_verbs" && all->ud.empty());
  EXPECT_TRUE(without->posix && without->tcp && without->rc.empty() && without->ud.empty());
  EXPECT_TRUE(!rc->posix && !rc->tcp && rc->rc == "rc_verbs" && rc->ud.empty());
  EXPECT_TRUE(!ud->posix && !ud->tcp && ud->rc.empty() && ud->ud == "ud_verbs");
}

TEST(UcxNames, WhatIsNoTransportIsNamedBesideThoseThereAre) {
  const struct {
    const char *name, *transport;
  } names[] = {{"ucx:", "''"},       {"ucx:pigeon", "'pigeon'"},
               {"ucx:posix,", "''"}, {"ucx:posix,dc", "'dc'"},
               {"ucx:TCP", "'TCP'"}, {"ucx:posix;tcp", "'posix;tcp'"},
               {"ucx:,tcp", "''"},   {"ucx:udp", "'udp'"}};
  for (const auto& each : names) {
    const auto options = ucx_options(each.name, "");
    ASSERT_FALSE(options.ok()) << each.name;
    EXPECT_EQ(options.status().code(), StatusCode::kNotFound);
    const std::string why(options.status().message());
    for (const char* part : {each.name, each.transport, "posix", "cma", "tcp"}) {
      EXPECT_NE(why.find(part), std::string::npos) << why;
    }
  }
}

TEST(UcxNames, CmaNeedsPosix) {
  for (const char* name : {"ucx:cma", "ucx:cma,tcp"}) {
    const auto options = ucx_options(name, "");
    ASSERT_FALSE(options.ok()) << name;
    EXPECT_EQ(options.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(options.status().message().find("needs posix"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace mad
