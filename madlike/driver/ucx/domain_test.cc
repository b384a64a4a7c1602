#include "madlike/driver/ucx/domain.h"

#include <stdlib.h>

#include "gtest/gtest.h"
#include "madlike/driver/ucx/uct_double.h"

namespace mad {
namespace {

constexpr std::size_t kSegment = 4096;

Status refused(const UcxDomain::Options& options) { return UcxDomain::open(options).status(); }

TEST(UcxDomain, AnotherDeviceIsNotFoundAndThoseThatAreThereAreNamed) {
  for (const char* device :
       {"eth4711", "zz4711", "a4711"}) {  // by their names among those, and around
    const Status why = refused({UcxTransport::kTcp, device, 0});
    EXPECT_EQ(why.code(), StatusCode::kNotFound);
    EXPECT_NE(why.message().find(device), std::string_view::npos) << why.message();
    EXPECT_NE(why.message().find(" lo"), std::string_view::npos) << why.message();
  }
}

TEST(UcxDomain, WhatUcxRefusesIsSaid) {
  const struct {
    const char* function;
    StatusCode code;
  } refusals[] = {{"uct_query_components", StatusCode::kInternal},
                  {"uct_md_open", StatusCode::kNotFound},
                  {"uct_md_query_tl_resources", StatusCode::kInternal}};
  UctDouble ucx;
  for (const auto& each : refusals) {
    ucx.refused = each.function;
    const Status why = refused({UcxTransport::kTcp, "lo", 0});
    EXPECT_EQ(why.code(), each.code) << each.function;
    EXPECT_NE(why.message().find(ucs_status_string(ucx.status)), std::string_view::npos)
        << why.message();
  }
}

// One is of UCX's shared memory itself, the other of how it is used.
TEST(UcxDomain, WhatUcxDoesNotUnderstandInTheEnvironmentIsInvalid) {
  for (const char* variable : {"UCX_POSIX_HUGETLB_MODE", "UCX_MM_FIFO_SIZE"}) {
    setenv(variable, "perhaps", 1);
    const Status why = refused({UcxTransport::kPosix, "", kSegment});
    unsetenv(variable);
    EXPECT_EQ(why.code(), StatusCode::kInvalidArgument) << variable;
    EXPECT_NE(why.message().find("UCX_ options"), std::string_view::npos) << why.message();
  }
}

// The length of a message has 16 bits.
TEST(UcxDomain, SegmentsThatUcxCouldNotFillAreInvalid) {
  EXPECT_EQ(refused({UcxTransport::kPosix, "", 64 * 1024}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({UcxTransport::kPosix, "", 1023}).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(refused({UcxTransport::kPosix, "", 1024}).ok());
  EXPECT_TRUE(refused({UcxTransport::kPosix, "", 61440}).ok());
}

TEST(UcxDomain, OnlySharedMemoryTakesMemory) {
  const auto posix = UcxDomain::open({UcxTransport::kPosix, "", kSegment});
  ASSERT_TRUE(posix.ok()) << posix.status().message();
  EXPECT_GE((*posix)->shared_bytes(), 16 * kSegment);
  EXPECT_LE((*posix)->shared_bytes(), 32 * kSegment);
  const auto tcp = UcxDomain::open({UcxTransport::kTcp, "lo", 0});
  ASSERT_TRUE(tcp.ok()) << tcp.status().message();
  EXPECT_EQ((*tcp)->shared_bytes(), 0u);
}

// Both sides must have it alike.
TEST(UcxDomain, OurOptionsGoBeforeThoseOfTheEnvironment) {
  setenv("UCX_MM_SEG_SIZE", "8192", 1);
  setenv("MAD_UCX_MM_SEG_SIZE", "16384", 1);
  const auto domain = UcxDomain::open({UcxTransport::kPosix, "", kSegment});
  unsetenv("UCX_MM_SEG_SIZE");
  unsetenv("MAD_UCX_MM_SEG_SIZE");
  ASSERT_TRUE(domain.ok()) << domain.status().message();
  ucs_async_context_t* async = nullptr;
  ASSERT_EQ(ucs_async_context_create(UCS_ASYNC_MODE_POLL, &async), UCS_OK);
  uct_worker_h worker = nullptr;
  ASSERT_EQ(uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker), UCS_OK);
  {
    const UctPtr<uct_worker_h> closed(worker);
    const auto interface = (*domain)->open_interface(worker, {});
    ASSERT_TRUE(interface.ok()) << interface.status().message();
    uct_iface_attr_t attributes{};
    ASSERT_EQ(uct_iface_query(interface->get(), &attributes), UCS_OK);
    EXPECT_EQ(attributes.cap.am.max_bcopy, kSegment);
  }
  ucs_async_context_destroy(async);
}

}  // namespace
}  // namespace mad
