#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "netmod/abi/ucx_plugin.h"

// All that this program and its libraries say to the C library.
static int settings = 0;
extern "C" int setenv(const char* name, const char* value, int overwrite) noexcept {
  ++settings;
  static const auto real = reinterpret_cast<decltype(&setenv)>(dlsym(RTLD_NEXT, "setenv"));
  return real(name, value, overwrite);
}

namespace mad {
namespace {

void expect_not_found(const std::string& path, const char* why) {
  const auto opened = open_ucx_plugin(UcxOptions(), path);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kNotFound);
  const std::string sentence(opened.status().message());
  EXPECT_NE(sentence.find("ucx"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find(why), std::string::npos) << sentence;
}

// The first bytes of a function of the C library.
std::string code_of(const char* function) {
  std::string code(16, 0);
  std::memcpy(code.data(), dlsym(dlopen("libc.so.6", RTLD_NOW), function), code.size());
  return code;
}

TEST(UcxLoader, FindsTheLibraryAndLeavesTheProcessAsItWas) {
  const std::string munmap_before = code_of("munmap"), madvise_before = code_of("madvise");
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGHUP, nullptr, &before), 0);
  UcxOptions options;
  options.interface = "lo";
  const auto opened = open_ucx_plugin(options);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened.value()->caps().name, "ucx");
  EXPECT_EQ(code_of("munmap"), munmap_before) << "UCX patched it";
  EXPECT_EQ(code_of("madvise"), madvise_before) << "UCX patched it";
  struct sigaction now {};
  ASSERT_EQ(sigaction(SIGHUP, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, before.sa_handler);
  EXPECT_EQ(getenv("UCX_MEM_MMAP_HOOK_MODE"), nullptr);
  // Other threads may read the environment, so a second engine leaves it alone.
  EXPECT_EQ(settings, 1);
  EXPECT_TRUE(open_ucx_plugin(options).ok());
  EXPECT_EQ(settings, 1);
}

TEST(UcxLoader, SaysWhyThereIsNone) {
  expect_not_found("/nonexistent/libmad_ucx.so", "/nonexistent/libmad_ucx.so");
  expect_not_found("libm.so.6", "no library of libmad's");
  const std::string damaged = testing::TempDir() + "/libmad_ucx.so";
  std::ofstream(damaged) << "no library";
  expect_not_found(damaged, "libmad_ucx.so");
  std::remove(damaged.c_str());
}

TEST(UcxLoader, RefusesAnotherBuilds) {
  expect_not_found("netmod/abi/libother_ucx.so", "another build");
}

}  // namespace
}  // namespace mad
