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
               {"ucx:cma,posix,tcp", "ucx:posix,cma,tcp"}};
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

TEST(UcxNames, WhatIsNoTransportIsNamedBesideThoseThereAre) {
  const struct {
    const char *name, *transport;
  } names[] = {{"ucx:", "''"},       {"ucx:pigeon", "'pigeon'"},
               {"ucx:posix,", "''"}, {"ucx:posix,rc", "'rc'"},
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
