#include <gtest/gtest.h>

#include <string>

#include "netmod/abi/mad.h"

namespace {

TEST(Paths, EveryNameParsesToItsPath) {
  std::string all;
  for (int i = 0; i < MAD_PATH_COUNT; ++i) {
    const char* name = mad_path_name(static_cast<mad_path>(i));
    mad_path path = MAD_PATH_COUNT;
    ASSERT_EQ(mad_path_parse(name, &path), MAD_SUCCESS) << name;
    EXPECT_EQ(path, i);
    all += (i == 0 ? "" : ", ") + std::string(name);
  }
  EXPECT_EQ(all, mad_path_names());
}

TEST(Paths, UnknownNameIsRefusedWithTheList) {
  mad_path path = MAD_PATH_PACK;
  EXPECT_EQ(mad_path_parse("fast", &path), MAD_ERR_ARGUMENT);
  EXPECT_EQ(path, MAD_PATH_PACK);
  EXPECT_NE(std::string(mad_last_error()).find("'fast'"), std::string::npos);
  EXPECT_NE(std::string(mad_last_error()).find(mad_path_names()), std::string::npos);
  EXPECT_EQ(mad_path_parse("", &path), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_path_parse("Gather", &path), MAD_ERR_ARGUMENT);
}

TEST(Paths, NullIsRefused) {
  mad_path path = MAD_PATH_AUTO;
  EXPECT_EQ(mad_path_parse(nullptr, &path), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_path_parse("auto", nullptr), MAD_ERR_ARGUMENT);
}

TEST(Paths, NameOfNoPath) { EXPECT_STREQ(mad_path_name(MAD_PATH_COUNT), "unknown"); }

}  // namespace
