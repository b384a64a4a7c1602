// What is made of what libfabric says of itself, which is changed on the way.
#include "madlike/driver/ofi/fabric.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <rdma/fi_errno.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace {

struct Lacks {
  bool memory_for_hints = false;
  bool memory_for_copies = false;
  bool own_addresses = false;
  int listen = 0;   // an error of fi_listen()
  int trywait = 0;  // and one of fi_trywait()
} lacks;

/// What a provider was asked for.
struct Asked {
  std::uint64_t mode = 0;
  int registers = 0;
  std::size_t data_bytes = 0;
} asked;

template <typename Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <typename Calls>
Calls* changed(Calls*& place, Calls* copy) {
  *copy = *place;
  return place = copy;
}

}  // namespace

// In place of libfabric's.

extern "C" fi_info* fi_dupinfo(const fi_info* info) {
  if (info == nullptr ? lacks.memory_for_hints : lacks.memory_for_copies) return nullptr;
  return real(&fi_dupinfo, "fi_dupinfo")(info);
}

extern "C" int fi_getinfo(std::uint32_t version, const char* node, const char* service,
                          std::uint64_t flags, const fi_info* hints, fi_info** list) {
  if (hints != nullptr) {
    asked = {hints->mode, hints->domain_attr->mr_mode, hints->domain_attr->cq_data_size};
  }
  const Lacks ours = std::exchange(lacks, {});  // what libfabric calls itself lacks nothing
  const int error = real(&fi_getinfo, "fi_getinfo")(version, node, service, flags, hints, list);
  lacks = ours;
  if (error != 0 || !lacks.own_addresses) return error;
  for (fi_info* each = *list; each != nullptr; each = each->next) {
    std::free(each->src_addr);
    each->src_addr = nullptr;
    each->src_addrlen = 0;
  }
  return 0;
}

extern "C" int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  const int error = real(&fi_fabric, "fi_fabric")(attributes, fabric, context);
  if (error != 0) return error;
  static fi_ops_fabric calls;
  static fi_ops_fabric* real_calls;
  static fi_ops_cm listeners;
  real_calls = (*fabric)->ops;
  changed((*fabric)->ops, &calls);
  if (lacks.trywait != 0) {
    calls.trywait = [](fid_fabric*, fid**, int) { return lacks.trywait; };
  }
  calls.passive_ep = [](fid_fabric* self, fi_info* info, fid_pep** listener, void* of) {
    const int failed = real_calls->passive_ep(self, info, listener, of);
    if (failed == 0 && lacks.listen != 0) {
      changed((*listener)->cm, &listeners)->listen = [](fid_pep*) { return lacks.listen; };
    }
    return failed;
  };
  return 0;
}

namespace mad {
namespace {

class OfiFabricTest : public ::testing::Test {
 protected:
  void TearDown() override { lacks = {}; }
  static Result<std::unique_ptr<OfiFabric>> open(const char* provider = "tcp") {
    OfiOptions options;
    options.provider = provider;
    options.interface = "lo";
    return OfiFabric::open(options);
  }
  static StatusCode code() {
    const auto opened = open();
    return opened.ok() ? StatusCode::kOk : opened.status().code();
  }
};

TEST_F(OfiFabricTest, WithoutMemoryThereIsNone) {
  lacks.memory_for_hints = true;
  EXPECT_EQ(code(), StatusCode::kNoMemory);
  lacks = {};
  lacks.memory_for_copies = true;
  EXPECT_EQ(code(), StatusCode::kNoMemory);
}

// verbs takes none but who can do without completion data, and registers what is sent and received.
TEST_F(OfiFabricTest, WhatDevicesWantIsOffered) {
  EXPECT_EQ(code(), StatusCode::kOk);
  EXPECT_EQ(asked.data_bytes, 0u);
  EXPECT_EQ(asked.mode, FI_RX_CQ_DATA);
  EXPECT_EQ(asked.registers, FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
}

TEST_F(OfiFabricTest, AProviderWithoutAnAddressIsNone) {
  lacks.own_addresses = true;
  EXPECT_EQ(code(), StatusCode::kNotFound);
}

TEST_F(OfiFabricTest, WhoCannotListenIsNotOpen) {
  lacks.listen = -FI_EADDRINUSE;
  EXPECT_EQ(code(), StatusCode::kInternal);
}

TEST_F(OfiFabricTest, OnlyOnTcpEnginesSleep) {
  for (const char* const provider : {"tcp", "sockets"}) {
    const bool tcp = provider == std::string("tcp");
    lacks.trywait = tcp ? 0 : -FI_EAGAIN;  // which would have its caller try for ever
    const auto opened = open(provider);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    std::vector<pollfd> descriptors;
    std::vector<int> sets;
    EXPECT_EQ((*opened)->watch(&descriptors).code(), tcp ? StatusCode::kOk : StatusCode::kNotFound);
    (*opened)->watched_by(&sets);
    EXPECT_EQ(descriptors.size(), tcp ? 2u : 0u);
    for (const pollfd& descriptor : descriptors) {
      EXPECT_GE(fcntl(descriptor.fd, F_GETFD), 0) << "nothing to sleep on";
    }
    EXPECT_EQ(sets.size(), tcp ? 2u : 0u);
  }
}

TEST_F(OfiFabricTest, WhoMayNotSleepPolls) {
  for (const int error : {-FI_EAGAIN, -FI_EIO, -FI_ENOSYS}) {
    lacks.trywait = error;
    const auto opened = open();
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    std::vector<pollfd> descriptors;
    EXPECT_EQ((*opened)->watch(&descriptors).code(),
              error == -FI_EAGAIN ? StatusCode::kAgain : StatusCode::kNotFound);
    EXPECT_TRUE(descriptors.empty());
  }
}

}  // namespace
}  // namespace mad
